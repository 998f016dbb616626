package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// onlyFile checks that dir holds the one named file with this content, hence no temporary one.
func onlyFile(t *testing.T, path, want string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, filepath.Base(path), entries[0].Name())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	long := strings.Repeat("x", 1<<18)
	require.NoError(t, Write(path, text(long)))
	onlyFile(t, path, long)
	require.NoError(t, Write(path, text("new")))
	onlyFile(t, path, "new")
}

func TestWriteRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, Write("a.csv", text("here")))
	onlyFile(t, "./a.csv", "here")
}

func TestWriteKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are those of the folder")
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	for _, mode := range []os.FileMode{0o600, 0o640} {
		require.NoError(t, os.WriteFile(path, []byte("old"), mode))
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, Write(path, text("new")))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm())
	}
}

func TestWriteFailureKeepsOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	require.NoError(t, Write(path, text("good")))
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.Repeat("half", 1<<16)); err != nil {
			return err
		}
		return broken
	})
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, path)
	onlyFile(t, path, "good")

	assert.Panics(t, func() { _ = Write(path, func(io.Writer) error { panic("fill") }) })
	onlyFile(t, path, "good")
}

func TestWriteNoFolder(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "none", "a.csv"), text("x"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// full accepts room bytes, then reports a full disk.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n := f.room
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestWriteErrorIsNotLost(t *testing.T) {
	for _, room := range []int{0, 10, 1 << 16, 1<<17 - 1} {
		err := buffered(&full{room}, func(w io.Writer) error {
			for range 1 << 13 {
				_, _ = w.Write(make([]byte, 16)) // a careless writer
			}
			return nil
		})
		assert.ErrorIs(t, err, errFull, "room for %d bytes", room)
	}
	assert.NoError(t, buffered(&full{4}, text("fits")))
}
