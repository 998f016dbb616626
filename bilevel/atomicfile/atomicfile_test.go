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
	switch runtime.GOOS {
	case "windows":
		t.Skip("permissions are those of the folder")
	case "wasip1":
		t.Skip("no permissions in WASI preview 1")
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

// Replace keeps the file before, and only that; a failure leaves both.
func TestReplaceKeepsTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a"), filepath.Join(dir, "a.old")
	content := func(want map[string]string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		got := map[string]string{}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			got[e.Name()] = string(b)
		}
		assert.Equal(t, want, got)
	}
	require.NoError(t, Replace(path, backup, text("1")))
	content(map[string]string{"a": "1"})
	require.NoError(t, Replace(path, backup, text("2")))
	content(map[string]string{"a": "2", "a.old": "1"})
	require.Error(t, Replace(path, backup, func(io.Writer) error { return errFull }))
	content(map[string]string{"a": "2", "a.old": "1"})

	// As a crash between keeping and renaming leaves it: two names of one file.
	require.NoError(t, os.Remove(backup))
	require.NoError(t, os.Link(path, backup))
	require.NoError(t, Replace(path, backup, text("3")))
	content(map[string]string{"a": "3", "a.old": "2"})
}

// Without hard links, as here because the name for the link is taken, the file is copied.
func TestKeepCopies(t *testing.T) {
	dir := t.TempDir()
	path, backup, taken := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	require.NoError(t, os.WriteFile(path, []byte("1"), 0o644))
	require.NoError(t, os.WriteFile(taken, nil, 0o644))
	require.NoError(t, keep(path, backup, taken))
	got, err := os.ReadFile(backup)
	require.NoError(t, err)
	assert.Equal(t, "1", string(got))
}

// Sweep takes what a killed writer leaves, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".a.123.tmp", ".a.123.tmp.old", "a", "a.old", ".b.123.tmp", ".a.tmp.txt",
		"a.123.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	require.NoError(t, Sweep(filepath.Join(dir, "a")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	assert.Equal(t, []string{".a.tmp.txt", ".b.123.tmp", "a", "a.123.tmp", "a.old"}, left)
	require.ErrorIs(t, Sweep(filepath.Join(dir, "none", "a")), os.ErrNotExist)
}
