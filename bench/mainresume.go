package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"stable/bilevel"
	"stable/bilevel/atomicfile"
)

// bookmark is what the main job needs beside a checkpoint of its Solver to go on where it was. Its
// file is one line, the CRC-32 of the bookmark's JSON, a blank and the JSON, and then the Solver's
// checkpoint.
type bookmark struct {
	Run     identity  // what the result depends on
	Samples []float64 // the curve so far
	F       []float64
	Y       []float64 // where the exact solver starts
	Elapsed time.Duration
}

func (t *tuning) bookmarkPath() string { return filepath.Join(t.out, "tuning.checkpoint") }

// identity tells runs apart whose results differ.
func (t *tuning) identity() identity {
	return identity{
		Options: fmt.Sprintf("-label %q -seed %d -steps %d -lo %v -hi %v -bias=%t", t.label, t.seed, t.steps, t.lo, t.hi, t.bias),
		Data:    []source{t.origin},
		Build:   buildSum(),
	}
}

// save writes the bookmark. The one before stays beside it.
func (t *tuning) save() error {
	return atomicfile.Replace(t.bookmarkPath(), t.bookmarkPath()+".old", func(w io.Writer) error {
		body, err := json.Marshal(bookmark{t.identity(), t.samples, t.f, t.y, t.result.Elapsed})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%08x %s\n", crc32.ChecksumIEEE(body), body); err != nil {
			return err
		}
		return t.solver.Save(w)
	})
}

// resume goes to the bookmark of an interrupted run of the same command, if there is one, and to
// the one before if that is damaged.
func (t *tuning) resume(out terminal) (err error) {
	if err := t.sweep(); err != nil {
		return err
	}
	if t.fresh {
		return t.forget()
	}
	err = t.open(t.bookmarkPath())
	if os.IsNotExist(err) {
		return nil
	}
	if errors.Is(err, errDamaged) || errors.Is(err, bilevel.ErrDamaged) {
		fmt.Fprintf(out.Stderr, "bench: %v; trying the one before\n", err)
		err = t.open(t.bookmarkPath() + ".old")
	}
	if err != nil {
		return fmt.Errorf("%w\n-fresh begins again, and another -out leaves it alone", err)
	}
	fmt.Fprintf(out.Stdout, "goes on at step %d of %d, where it was interrupted\n\n", t.solver.K(), t.steps)
	return nil
}

var errDamaged = errors.New("damaged bookmark")

// open reads the bookmark at path. On an error nothing has changed.
func (t *tuning) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	b, err := readBookmark(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.identity().check(path, b.Run); err != nil {
		return err
	}
	if len(b.F) != len(b.Samples) || len(b.Y) != t.train.Dim {
		return fmt.Errorf("%s: %w: it has %d samples, %d values and %d weights", path, errDamaged, len(b.Samples), len(b.F), len(b.Y))
	}
	if err := t.solver.Load(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.samples, t.f, t.y, t.result.Elapsed = b.Samples, b.F, b.Y, b.Elapsed
	return nil
}

func readBookmark(r *bufio.Reader) (b bookmark, err error) {
	var sum uint32
	line, err := r.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return b, err
	}
	if len(line) < 10 {
		return b, fmt.Errorf("%w: it ends too early", errDamaged)
	}
	body := line[9 : len(line)-1]
	if _, err := fmt.Sscanf(string(line[:9]), "%08x ", &sum); err != nil || sum != crc32.ChecksumIEEE(body) {
		return b, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return b, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return b, nil
}

// forget removes the bookmarks of a run that is over.
func (t *tuning) forget() error {
	for _, path := range []string{t.bookmarkPath(), t.bookmarkPath() + ".old"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sweep removes what a killed process has left of its files.
func (t *tuning) sweep() error {
	for _, name := range []string{t.bookmarkPath(), filepath.Join(t.out, "tuning.svg"), filepath.Join(t.out, "tuning.csv")} {
		if err := atomicfile.Sweep(name); err != nil {
			return err
		}
	}
	return nil
}
