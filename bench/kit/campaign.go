package kit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Campaign does tasks on all cores and keeps their results in a file, its ledger, after their
// identity. A torn last line is dropped; any other defect is an error with its line. Whole lines are
// appended, so two processes on one campaign waste work and spoil nothing; of two campaigns that
// begin one file at once, the next to read it says so.
type Campaign[R any] struct {
	file *os.File
	done map[string]R
}

// Task is work whose result is a function of its key and the campaign's identity.
type Task[R any] struct {
	Key  string
	Cost float64 // for the estimate of time
	Run  func(ctx context.Context) (R, error)
}

// Play opens or begins a command's campaign, whose ledger is NAME.ledger, has it played, and closes it. It
// begins a new one in place of another that was finished.
func Play[R any](o Common, name string, id Identity, play func(*Campaign[R]) error) (err error) {
	path := filepath.Join(o.Out, name+".ledger")
	if o.fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	c, err := openLedger[R](path, id)
	if err != nil {
		return err
	}
	if err = play(c); err == nil {
		id.Finished = true
		err = c.write(id)
	}
	return errors.Join(err, c.close())
}

// Complete does the missing tasks, named what in the progress, and returns all results by key.
func (c *Campaign[R]) Complete(ctx context.Context, tasks []Task[R], what string, out Terminal) (map[string]R, error) {
	var todo []Task[R]
	var total, spent float64
	for _, t := range tasks {
		if _, there := c.done[t.Key]; !there {
			todo, total = append(todo, t), total+t.Cost
		}
	}
	// The time left is told from tasks of all kinds.
	rand.New(rand.NewPCG(0, 'c')).Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, finished := NewProgress(out), 0
	var mu sync.Mutex
	_ = Parallel(len(todo), func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		t := todo[i]
		r, err := t.Run(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = c.put(t.Key, r)
		}
		if err != nil {
			cancel(err)
			return nil
		}
		finished++
		spent += t.Cost
		p.Update(spent/total, "%s: %d of %d runs, %s", what, finished, len(todo), t.Key)
		return nil
	})
	p.Clear()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(out.Stderr, "%s: %d of %d runs done are kept in %s; the same command goes on from there\n",
			what, finished, len(todo), c.file.Name())
	}
	return c.done, err
}

// Parallel does n pieces of work, on each core one at a time, and returns the first piece's error.
func Parallel(n int, do func(i int) error) error {
	errs, cores := make([]error, n), make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		cores <- struct{}{}
		go func() {
			errs[i] = do(i)
			<-cores
		}()
	}
	for range cap(cores) { // until none is at work
		cores <- struct{}{}
	}
	return cmp.Or(errs...)
}

type entry[R any] struct {
	Key    string
	Result R
}

func openLedger[R any](path string, id Identity) (*Campaign[R], error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	c := &Campaign[R]{done: map[string]R{}}
	empty, err := c.load(path, id)
	if err != nil {
		return nil, err
	}
	if c.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if empty {
		if err := c.write(id); err != nil {
			return nil, errors.Join(err, c.file.Close())
		}
	}
	return c, nil
}

// pause tells a torn line from one that another process is writing.
var pause = func() { time.Sleep(50 * time.Millisecond) }

// load reads the file's records, cuts a torn line off, and says whether nothing is left.
func (c *Campaign[R]) load(path string, id Identity) (empty bool, err error) {
	for torn := -1; ; pause() {
		whole, size, err := readLedger(path, id, c.done)
		if err != nil || whole == size {
			return whole == 0, err
		}
		if size == torn {
			return whole == 0, os.Truncate(path, int64(whole))
		}
		torn = size
	}
}

// readLedger adds the results of a file, if any, to done, and returns the length without a torn last line, and in all.
func readLedger[R any](path string, id Identity, done map[string]R) (whole, size int, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, 0, err
	}
	for line := 1; ; line++ {
		record, _, ended := bytes.Cut(text[whole:], []byte("\n"))
		if !ended {
			return whole, len(text), nil
		}
		var found Identity
		var e entry[R]
		if err := decode(record, &e); err != nil {
			return 0, 0, fmt.Errorf("%s:%d: damaged record: %w; use -fresh to start over", path, line, err)
		}
		if line > 1 && e.Key != "" {
			done[e.Key] = e.Result
		} else if err = decode(record, &found); err == nil { // the first, or that of a process that began it, too
			err = id.check(path, found)
		}
		if err != nil {
			last := bytes.TrimSpace(text)
			if decode(last[bytes.LastIndexByte(last, '\n')+1:], &found) == nil && found.Finished {
				clear(done)
				return 0, len(text), nil // to be cut off
			}
			return 0, 0, fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
		}
		whole += len(record) + 1
	}
}

func (c *Campaign[R]) put(key string, r R) error {
	c.done[key] = r
	return c.write(entry[R]{key, r})
}

// write appends v in one write as a line: the CRC-32 of its JSON in eight hexadecimal digits, a blank,
// the JSON. If the disk is full it removes what was written.
func (c *Campaign[R]) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	before, err := c.file.Stat()
	if err != nil {
		return err
	}
	if _, err := c.file.Write(fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body), body)); err != nil {
		return errors.Join(err, os.Truncate(c.file.Name(), before.Size()))
	}
	return nil
}

func decode(record []byte, v any) error {
	sum, body, ok := bytes.Cut(record, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) {
		return errors.New("its checksum is wrong")
	}
	return json.Unmarshal(body, v)
}

func (c *Campaign[R]) close() error { return errors.Join(c.file.Sync(), c.file.Close()) }

// Identity says what results on disk were made from; only equal ones are reused.
type Identity struct {
	Options string // the command and each of its options that a result depends on
	Data    []Source
	Build   string // the program: see [Build]

	Finished bool `json:",omitempty"` // in the last line: what is there may give way to another run
}

// Source is a data file, of which the content alone counts.
type Source struct{ Name, SHA256 string }

func (id Identity) check(file string, found Identity) error {
	why := ""
	switch {
	case found.Options != id.Options:
		why = fmt.Sprintf("with other options (%s); this one is %s", found.Options, id.Options)
	case !slices.EqualFunc(found.Data, id.Data, func(a, b Source) bool { return a.SHA256 == b.SHA256 }):
		why = fmt.Sprintf("on other data, %s; this one is on %s", sources(found.Data), sources(id.Data))
	case found.Build != id.Build:
		why = "by another build of this program, whose results may differ"
	default:
		return nil
	}
	return fmt.Errorf("%s belongs to another run, %s", file, why)
}

func sources(list []Source) string {
	words := Map(list, func(s Source) string { return fmt.Sprintf("%s (SHA-256 %.12s)", s.Name, s.SHA256) })
	return cmp.Or(strings.Join(words, ", "), "none")
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// Build is the SHA-256 of this program's file; random where the system does not name it.
var Build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if program, bad := os.ReadFile(path); cmp.Or(err, bad) == nil {
		return digest(program)
	}
	return fmt.Sprint("unknown ", rand.Uint64())
})
