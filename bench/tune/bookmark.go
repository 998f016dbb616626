package tune

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
)

// bookmark is what the main job needs besides a checkpoint of its Solver to continue. Its file is
// one record, followed by the Solver's checkpoint.
type bookmark struct {
	Run     kit.Identity // what the result depends on
	Samples []float64    // the curve so far
	F       []float64
	Y       []float64 // where the exact solver starts
	Elapsed time.Duration
}

func (t *tuning) bookmarkPath() string { return filepath.Join(t.out, "tuning.checkpoint") }

// identity distinguishes runs whose results differ.
func (t *tuning) identity() kit.Identity {
	return kit.Identity{
		Options: fmt.Sprintf("-label %q -seed %d -steps %d -lo %v -hi %v -bias=%t", t.label, t.seed, t.steps, t.lo, t.hi, t.bias),
		Data:    []kit.Source{t.origin},
		Build:   kit.Build(),
	}
}

// save writes the bookmark. The previous one stays beside it.
func (t *tuning) save() error {
	e := t.engine
	return atomicfile.Replace(t.bookmarkPath(), t.bookmarkPath()+".old", func(w io.Writer) error {
		if err := kit.WriteRecord(w, bookmark{t.identity(), e.samples, e.f, e.y, e.result.Elapsed}); err != nil {
			return err
		}
		return e.solver.Save(w)
	})
}

// resume continues from the bookmark of an interrupted run of the same command, if there is one; if
// it is damaged, from the previous one.
func (t *tuning) resume(out kit.Terminal) error {
	if err := t.sweep(); err != nil {
		return err
	}
	if t.fresh {
		return t.forget()
	}
	err := t.open(t.bookmarkPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(err, kit.ErrDamaged) || errors.Is(err, bilevel.ErrDamaged) {
		fmt.Fprintf(out.Stderr, "bench: %v; trying the one before\n", err)
		err = t.open(t.bookmarkPath() + ".old")
	}
	if err != nil {
		return fmt.Errorf("%w\n-fresh begins again, and another -out leaves it alone", err)
	}
	fmt.Fprintf(out.Stdout, "goes on at step %d of %d, where it was interrupted\n\n", t.engine.solver.K(), t.steps)
	return nil
}

// open reads the bookmark at path. On an error nothing has changed.
func (t *tuning) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var b bookmark
	if _, err := kit.ReadRecord(r, &b); err == io.EOF {
		return fmt.Errorf("%s: %w: it ends too early", path, kit.ErrDamaged)
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.identity().Check(path, b.Run); err != nil {
		return err
	}
	if len(b.F) != len(b.Samples) || len(b.Y) != t.train.Dim {
		return fmt.Errorf("%s: %w: it has %d samples, %d values and %d weights", path, kit.ErrDamaged, len(b.Samples), len(b.F), len(b.Y))
	}
	if err := t.engine.solver.Load(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.engine.samples, t.engine.f, t.engine.y, t.engine.result.Elapsed = b.Samples, b.F, b.Y, b.Elapsed
	return nil
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

// sweep removes temporary files that a killed process left behind.
func (t *tuning) sweep() error {
	for _, name := range []string{t.bookmarkPath(), filepath.Join(t.out, "tuning.svg"), filepath.Join(t.out, "tuning.csv")} {
		if err := atomicfile.Sweep(name); err != nil {
			return err
		}
	}
	return nil
}
