package kit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A ledger keeps the results of finished tasks in a file, one record each, so that an interrupted
// campaign can continue. The first record is the identity of the results. A torn last line, left by
// a process that was killed, is dropped. Any other defect is an error that names the line.
type ledger[R any] struct {
	mu   sync.Mutex
	file *os.File
	done map[string]R
}

// entry is a record of a ledger after the first.
type entry[R any] struct {
	Key    string
	Result R
}

// openLedger opens or begins the ledger at path for results of the given identity.
func openLedger[R any](path string, id Identity) (*ledger[R], error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &ledger[R]{file: f, done: map[string]R{}}
	if err := l.load(id); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// load reads the records in the file, and leaves it ready for the next one.
func (l *ledger[R]) load(id Identity) error {
	good, err := readLedger(l.file, l.file.Name(), id, l.done)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(good); err != nil {
		return err
	}
	if _, err := l.file.Seek(good, io.SeekStart); err != nil || good > 0 {
		return err
	}
	return l.write(id)
}

// readLedger adds the results in r to done, and returns the length of the intact part: all but a
// torn last line.
func readLedger[R any](r io.Reader, name string, id Identity, done map[string]R) (good int64, err error) {
	br := bufio.NewReader(r)
	var found Identity
	n, err := ReadRecord(br, &found)
	for line := 1; ; line++ {
		switch {
		case err == io.EOF:
			return good, nil
		case errors.Is(err, ErrDamaged):
			return 0, fmt.Errorf("%s:%d: %w; use -fresh to start over", name, line, err)
		case err != nil:
			return 0, err
		}
		if line == 1 {
			if err := id.Check(name, found); err != nil {
				return 0, fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
			}
		}
		good += int64(n)
		var e entry[R]
		if n, err = ReadRecord(br, &e); err == nil {
			done[e.Key] = e.Result
		}
	}
}

// has says whether there is a result under key.
func (l *ledger[R]) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.done[key]
	return ok
}

// put keeps a result.
func (l *ledger[R]) put(key string, r R) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(entry[R]{key, r}); err != nil {
		return err
	}
	l.done[key] = r
	return nil
}

// write appends a record. If the disk is full, it removes what was written of the record.
func (l *ledger[R]) write(v any) error {
	at, err := l.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := WriteRecord(l.file, v); err != nil {
		_, err2 := l.file.Seek(at, io.SeekStart)
		return errors.Join(err, l.file.Truncate(at), err2)
	}
	return nil
}

func (l *ledger[R]) close() error { return errors.Join(l.file.Sync(), l.file.Close()) }
