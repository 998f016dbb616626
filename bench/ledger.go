package main

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
)

// A ledger keeps the results of finished units of an experiment in a file, one line each, so that
// an interrupted run goes on where it was. A line is the CRC-32 of its JSON, a blank and the JSON;
// the first one is the identity of the results. A torn last line, of a process that was killed, is
// dropped; anything else that is wrong is an error that names the line.
type ledger struct {
	mu   sync.Mutex
	file *os.File
	done map[string]trial
}

// openLedger opens or begins the ledger at path for results of the given identity.
func openLedger(path string, id identity) (*ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &ledger{file: f, done: map[string]trial{}}
	if err := l.load(id); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// load reads what there is and leaves the file ready for the next line.
func (l *ledger) load(id identity) error {
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

// readLedger adds the trials in r to done, and returns the length of the part that is good: all but
// a torn last line.
func readLedger(r io.Reader, name string, id identity, done map[string]trial) (good int64, err error) {
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if err == io.EOF {
			return good, nil // what has no newline was torn
		}
		if err != nil {
			return 0, err
		}
		var crc uint32
		body := []byte(nil)
		if i := bytes.IndexByte(line, ' '); i == 8 {
			body = line[i+1 : len(line)-1]
			_, err = fmt.Sscanf(string(line[:i]), "%08x", &crc)
		}
		if body == nil || err != nil || crc != crc32.ChecksumIEEE(body) {
			return 0, fmt.Errorf("%s:%d: damaged line; remove the file to begin again", name, n)
		}
		if n == 1 {
			var found identity
			if err := json.Unmarshal(body, &found); err != nil {
				return 0, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if err := id.check(name, found); err != nil {
				return 0, fmt.Errorf("%w: choose another -out, or remove the file", err)
			}
		} else {
			var t trial
			if err := json.Unmarshal(body, &t); err != nil {
				return 0, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			done[t.Key] = t
		}
		good += int64(len(line))
	}
}

// get returns a finished trial.
func (l *ledger) get(key string) (trial, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.done[key]
	return t, ok
}

// put keeps a finished trial.
func (l *ledger) put(t trial) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(t); err != nil {
		return err
	}
	l.done[t.Key] = t
	return nil
}

// write appends a line. If the disk is full, what was written of it is taken back.
func (l *ledger) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	at, err := l.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body), body)
	if _, err := l.file.Write(line); err != nil {
		_, err2 := l.file.Seek(at, io.SeekStart)
		return errors.Join(err, l.file.Truncate(at), err2)
	}
	return nil
}

func (l *ledger) close() error { return errors.Join(l.file.Sync(), l.file.Close()) }
