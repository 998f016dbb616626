// Package atomicfile, which makes no promise to others, replaces a file in one step: a reader sees
// the old content or the new, never a part of it.
package atomicfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path by what fill writes, through a temporary file in the same folder
// that is synced and renamed. The permissions of an existing file are kept; a new file gets 0644. A
// symbolic link at path is replaced, not followed.
//
// Errors: that of fill, or the first one of the file system, also where fill ignores it, wrapped
// with the path. The file at path is then as it was, and the temporary file is removed, also when
// fill panics. The content is durable after a crash, the name as far as the system syncs folders.
func Write(path string, fill func(io.Writer) error) error { return Replace(path, "", fill) }

// Replace is Write that keeps a copy of the previous file at backup, if that is not empty. There is a
// file at path at all times. A process that is killed leaves its temporary file behind; see Sweep.
func Replace(path, backup string, fill func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("atomicfile: write %s: %w", path, err)
		}
	}()

	dir, base := filepath.Dir(path), filepath.Base(path)
	mode := os.FileMode(0o644)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	} else if err == nil && info.Mode()&os.ModeSymlink == 0 {
		return errors.New("what is there is no file")
	}
	f, err := os.CreateTemp(dir, prefix(base)+"*"+suffix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // not there any more once it is renamed
	defer f.Close()           // closed already on most paths

	if err := cmp.Or(buffered(f, fill), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if backup != "" {
		if err := keep(path, backup); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// Sweep tries to remove all that killed writers of path left beside it. Nothing may write to path.
func Sweep(path string) error {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, prefix(base)) && strings.HasSuffix(name, suffix) {
			err = cmp.Or(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}

// Temporary files are .NAME.*.tmp.
const suffix = ".tmp"

func prefix(base string) string { return "." + base + "." }

// keep makes backup a copy of the file at path, if there is one.
func keep(path, backup string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return Write(backup, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// buffered runs fill on a buffer before w, which remembers the first write error.
func buffered(w io.Writer, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fill(b); err != nil {
		return err
	}
	return b.Flush()
}

// syncDir makes the rename durable where folders can be synced: not on Windows and some networks.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_, _ = d.Sync(), d.Close()
	}
}
