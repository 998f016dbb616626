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

func content(t *testing.T, dir string, want map[string]string) {
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

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, want := range []string{strings.Repeat("x", 1<<18), "new"} {
		require.NoError(t, Write("a.csv", text(want)))
		content(t, dir, map[string]string{"a.csv": want})
	}
	require.ErrorIs(t, Write(filepath.Join(dir, "none", "a.csv"), text("x")), os.ErrNotExist)
}

func TestWriteKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "wasip1" {
		t.Skip("no permissions of a file's own")
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
	require.NoError(t, os.Symlink("a.csv", path+".link"))
	require.NoError(t, Write(path+".link", text("not through the link")))
	content(t, filepath.Dir(path), map[string]string{"a.csv": "new", "a.csv.link": "not through the link"})
}

func TestWriteFailureKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	path, want := filepath.Join(dir, "a.csv"), map[string]string{"a.csv": "good"}
	require.NoError(t, Write(path, text("good")))
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		return errors.Join(text(strings.Repeat("half", 1<<16))(w), broken)
	})
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, path)
	content(t, dir, want)

	assert.Panics(t, func() { _ = Write(path, func(io.Writer) error { panic("fill") }) })
	content(t, dir, want)
	assert.ErrorContains(t, Write(dir, text("x")), "no file")
	path = filepath.Join(t.TempDir(), "a.csv")
	assert.ErrorContains(t, Write(path, func(io.Writer) error { return os.Mkdir(path, 0o755) }), "write "+path)
	require.Error(t, keep(path, filepath.Join(dir, "a.csv")), "what cannot be read is no copy")
	content(t, dir, want)
}

func TestWriteErrorIsNotLost(t *testing.T) {
	full := errors.New("no space left")
	r, w := io.Pipe()
	require.NoError(t, r.CloseWithError(full))
	for _, n := range []int{1, 1 << 13} { // within the buffer, and beyond it
		assert.ErrorIs(t, buffered(w, func(w io.Writer) error {
			for range n {
				_, _ = w.Write(make([]byte, 16)) // a careless writer
			}
			return nil
		}), full)
	}
}

func TestReplaceKeepsTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a"), filepath.Join(dir, "a.old")
	require.NoError(t, Replace(path, backup, text("1")))
	content(t, dir, map[string]string{"a": "1"})
	require.NoError(t, Replace(path, backup, text("2")))
	content(t, dir, map[string]string{"a": "2", "a.old": "1"})
	require.Error(t, Replace(path, backup, func(io.Writer) error { return os.ErrInvalid }))
	content(t, dir, map[string]string{"a": "2", "a.old": "1"})
	require.Error(t, Replace(path, filepath.Join(dir, "none", "a"), text("3")))
	content(t, dir, map[string]string{"a": "2", "a.old": "1"})
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".a.123.tmp", "a", "a.old", ".b.123.tmp", ".a.tmp.txt", "a.123.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	require.NoError(t, Sweep(filepath.Join(dir, "a")))
	content(t, dir, map[string]string{".a.tmp.txt": "", ".b.123.tmp": "", "a": "", "a.123.tmp": "", "a.old": ""})
	require.ErrorIs(t, Sweep(filepath.Join(dir, "none", "a")), os.ErrNotExist)
}
