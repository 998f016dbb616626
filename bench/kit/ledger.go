package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A ledger keeps results in a file, after their identity. A torn last line is dropped; any other
// defect is an error with its line. Whole lines are appended, so two processes on one campaign waste
// work and spoil nothing.
type ledger[R any] struct {
	mu   sync.Mutex
	file *os.File
	done map[string]R
}

type entry[R any] struct {
	Key    string
	Result R
}

func openLedger[R any](path string, id Identity) (*ledger[R], error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := &ledger[R]{done: map[string]R{}}
	empty, err := l.load(path, id)
	if err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if empty {
		if err := l.write(id); err != nil {
			return nil, errors.Join(err, l.file.Close())
		}
	}
	return l, nil
}

// tornPause tells a torn line from one that another process is writing.
var tornPause = 50 * time.Millisecond

// load reads the file's records, cuts a torn line off, and says whether nothing is left.
func (l *ledger[R]) load(path string, id Identity) (empty bool, err error) {
	for torn := int64(-1); ; time.Sleep(tornPause) {
		good, size, err := l.read(path, id)
		if err != nil || good == size {
			return good == 0, err
		}
		if good == torn {
			return good == 0, os.Truncate(path, good)
		}
		torn = good
	}
}

// read returns the lengths of the intact part, and of all.
func (l *ledger[R]) read(path string, id Identity) (good, size int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return 0, 0, err
	}
	good, err = readLedger(bytes.NewReader(text), path, id, l.done)
	return good, int64(len(text)), err
}

// readLedger adds the results in r to done, and returns the length of all but a torn last line.
func readLedger[R any](r io.Reader, name string, id Identity, done map[string]R) (good int64, err error) {
	br := bufio.NewReader(r)
	var found Identity
	n, err := readRecord(br, &found)
	for line := 1; ; line++ {
		switch {
		case err == io.EOF:
			return good, nil
		case errors.Is(err, errDamaged):
			return 0, fmt.Errorf("%s:%d: %w; use -fresh to start over", name, line, err)
		case err != nil:
			return 0, err
		}
		if line == 1 {
			if err := id.check(name, found); err != nil {
				return 0, fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
			}
		}
		good += int64(n)
		var e entry[R]
		if n, err = readRecord(br, &e); err == nil && e.Key != "" { // "": another process began it, too
			done[e.Key] = e.Result
		}
	}
}

func (l *ledger[R]) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.done[key]
	return ok
}

func (l *ledger[R]) put(key string, r R) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(entry[R]{key, r}); err != nil {
		return err
	}
	l.done[key] = r
	return nil
}

// write appends a record, or removes what was written of it if the disk is full.
func (l *ledger[R]) write(v any) error {
	before, err := l.file.Stat()
	if err != nil {
		return err
	}
	if err := writeRecord(l.file, v); err != nil {
		return errors.Join(err, os.Truncate(l.file.Name(), before.Size()))
	}
	return nil
}

func (l *ledger[R]) close() error { return errors.Join(l.file.Sync(), l.file.Close()) }

var errDamaged = errors.New("damaged record")

// writeRecord writes v in one write as a line: the CRC-32 of its JSON in eight hexadecimal digits,
// a blank, the JSON.
func writeRecord(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body), body))
	return err
}

// readRecord reads one line into v and returns its length; io.EOF where no whole line is left (one
// without a newline is torn). A line that writeRecord did not write is damaged.
func readRecord(r *bufio.Reader, v any) (n int, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return 0, err
	}
	sum, body, ok := bytes.Cut(line[:len(line)-1], []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) {
		return 0, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return 0, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return len(line), nil
}
