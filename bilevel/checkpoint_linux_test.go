package bilevel

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const diskEnv = "BILEVEL_TEST_DISK"

// A full disk is an error of SaveFile, and the last checkpoint stays. The disk is a file system of
// a few pages in memory, mounted in a name space of a child process's own, where that is allowed.
func TestSaveFileOnFullDisk(t *testing.T) {
	if dir := os.Getenv(diskEnv); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
			t.Skip("no file system can be mounted: ", err)
		}
		testFullDisk(t, dir)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestSaveFileOnFullDisk$", "-test.v")
	c.Env = append(os.Environ(), diskEnv+"="+t.TempDir())
	id := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: id,
		GidMappings: group}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("no name space can be had: ", err)
	}
	require.NoError(t, err, "%s", out)
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}

func testFullDisk(t *testing.T, dir string) {
	path, filler := filepath.Join(dir, "run"), filepath.Join(dir, "filler")
	s, first := small(t, smallMethods[0])
	require.NoError(t, s.SaveFile(path))
	require.ErrorIs(t, os.WriteFile(filler, make([]byte, 1<<16), 0o644), syscall.ENOSPC)
	steps(t, s, 1)
	for range 3 {
		require.ErrorIs(t, s.SaveFile(path), syscall.ENOSPC)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, first, got)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 2, "the temporary file is to go")
	}
	require.NoError(t, os.Remove(filler))
	require.NoError(t, s.SaveFile(path))
	require.NoError(t, s.LoadFile(path))
	assert.Equal(t, 6, s.K())
}
