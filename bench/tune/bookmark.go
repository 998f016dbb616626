package tune

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
)

// bookmark is the file from which an interrupted run goes on. It holds a record of what the result
// depends on, and then what the run needs. The one before stays beside it.
type bookmark struct {
	path     string
	identity kit.Identity
}

func (b bookmark) old() string { return b.path + ".old" }

// save replaces the file. rest writes what follows the identity.
func (b bookmark) save(rest func(w io.Writer) error) error {
	return atomicfile.Replace(b.path, b.old(), func(w io.Writer) error {
		return kit.FirstOf(kit.WriteRecord(w, b.identity), rest(w))
	})
}

// resume goes to the bookmark of an interrupted run of the same command, if there is one, and to
// the one before if that is damaged: read takes what follows the identity, and changes nothing where
// it returns an error. A fresh run forgets them instead.
func (b bookmark) resume(out kit.Terminal, fresh bool, read func(r *bufio.Reader) error) (found bool, err error) {
	if err := atomicfile.Sweep(b.path); err != nil { // what a killed process has left
		return false, err
	}
	if fresh {
		return false, b.forget()
	}
	err = b.open(b.path, read)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, kit.ErrDamaged) || errors.Is(err, bilevel.ErrDamaged) {
		fmt.Fprintf(out.Stderr, "bench: %v; trying the one before\n", err)
		err = b.open(b.old(), read)
	}
	if err != nil {
		return false, fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
	}
	return true, nil
}

func (b bookmark) open(path string, read func(r *bufio.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var found kit.Identity
	if err := record(r, &found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := b.identity.Check(path, found); err != nil {
		return err
	}
	if err := read(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// record reads a record that has to be there.
func record(r *bufio.Reader, v any) error {
	_, err := kit.ReadRecord(r, v)
	if err == io.EOF {
		return fmt.Errorf("%w: it is cut short", kit.ErrDamaged)
	}
	return err
}

// forget removes the bookmarks of a run that is over.
func (b bookmark) forget() error {
	for _, path := range []string{b.path, b.old()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// course is where an engine has come to.
type course struct {
	Samples []float64 // the curve so far
	F       []float64
	Y       []float64 // where the exact solver starts
	Elapsed time.Duration
	Reads   uint64
}

// write writes the engine's course and its Solver.
func (e *engine) write(w io.Writer) error {
	if err := kit.WriteRecord(w, course{e.samples, e.f, e.y, e.result.Elapsed, e.reads()}); err != nil {
		return err
	}
	return e.solver.Save(w)
}

// read goes where write was. On an error nothing has changed.
func (e *engine) read(r *bufio.Reader) error {
	var c course
	if err := record(r, &c); err != nil {
		return err
	}
	if len(c.F) != len(c.Samples) || len(c.Y) != e.problem.Train().Dim {
		return fmt.Errorf("%w: it has %d samples, %d values and %d weights",
			kit.ErrDamaged, len(c.Samples), len(c.F), len(c.Y))
	}
	if err := e.solver.Load(r); err != nil {
		return err
	}
	e.samples, e.f, e.y, e.result.Elapsed, e.before = c.Samples, c.F, c.Y, c.Elapsed, c.Reads-e.problem.Reads()
	return nil
}

// reads is the number of rows that the method has read, before an interrupt and after.
func (e *engine) reads() uint64 { return e.before + e.problem.Reads() }
