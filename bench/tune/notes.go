package tune

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
)

// notes are what the searches of one run have found so far: its bookmark.
type notes struct {
	Pursuits map[string]*pursuit // of the exact solver, by name
	Equal    *equalCost          // of -solver stable: the search before STABLE

	mu   sync.Mutex // for Pursuits, which several goroutines fill
	last time.Time  // of the last bookmark
}

// pursuit is a search of the exact solver: for a single weight, then for a weight each.
type pursuit struct {
	Lambdas, Losses []float64             // single weights that were tried
	SingleReads     uint64                // by then
	SingleTime      time.Duration         //
	At              *hyperopt.SearchState // where the search of a weight each is
	Before          []float64             // the losses of its iterations up to there
	Time            time.Duration
	End             *ending // nil: it goes on
}

// ending is where a search of a weight each ended.
type ending struct {
	Weights []float64
	F       float64
	Steps   int
	Reads   uint64
	Stopped string
}

// equalCost is a result that STABLE starts from.
type equalCost struct {
	Result  result
	F       float64
	Seconds time.Duration
}

// pursuit returns the notes of that name.
func (n *notes) pursuit(name string) *pursuit {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Pursuits[name] == nil {
		if n.Pursuits == nil {
			n.Pursuits = map[string]*pursuit{}
		}
		n.Pursuits[name] = &pursuit{}
	}
	return n.Pursuits[name]
}

// note changes the notes, and writes the bookmark when it is due.
func (t *search) note(change func()) error {
	t.notes.mu.Lock()
	defer t.notes.mu.Unlock()
	change()
	if t.every == 0 || time.Since(t.notes.last) < t.every {
		return nil
	}
	t.notes.last = time.Now()
	return t.mark.save(t.writeNotes)
}

// keep writes the bookmark of a run that ends early, and says so.
func (t *search) keep(out kit.Terminal) error {
	if t.every == 0 || t.Solver == solverStable && t.notes.Equal == nil {
		return nil
	}
	t.notes.mu.Lock()
	defer t.notes.mu.Unlock()
	if err := t.mark.save(t.writeNotes); err != nil {
		return err
	}
	fmt.Fprintf(out.Stderr, "bench: kept in %s, from which the same command goes on\n", t.mark.path)
	return nil
}

// writeNotes writes what follows the identity in a bookmark: the notes, and STABLE where it runs.
func (t *search) writeNotes(w io.Writer) error {
	if err := kit.WriteRecord(w, &t.notes); err != nil || t.engine == nil {
		return err
	}
	return t.engine.write(w)
}

// readNotes goes where writeNotes was.
func (t *search) readNotes(r *bufio.Reader) error {
	var n notes
	if err := record(r, &n); err != nil {
		return err
	}
	dim := t.design.Dim
	for name, p := range n.Pursuits {
		if p == nil || len(p.Lambdas) != len(p.Losses) || p.At != nil && len(p.Lambdas) == 0 || p.End != nil &&
			len(p.End.Weights) != dim {
			return fmt.Errorf("%w: the notes on %q do not fit", kit.ErrDamaged, name)
		}
	}
	if t.engine != nil {
		if n.Equal == nil {
			return fmt.Errorf("%w: there is no start of STABLE", kit.ErrDamaged)
		}
		if err := t.engine.start(n.Equal.Result.Lambda, t.Seed); err != nil {
			return err
		}
		if err := t.engine.read(r); err != nil {
			return err
		}
	}
	t.notes.Pursuits, t.notes.Equal = n.Pursuits, n.Equal
	return nil
}

// bookmark is the file of a run with these options on these files.
func (t *search) bookmark() bookmark {
	id := kit.Identity{
		Options: fmt.Sprintf("tune -seed %d -solver %s -folds %d -steps %d -lo %v -hi %v -form %s -loss %s "+
			"-label %q -class %q -drop %q -categorical=%t -impute %q -headerless=%t",
			t.Seed, t.Solver, t.Folds, t.Steps, t.Lo, t.Hi, t.Form, t.Loss, t.Label, t.Class, t.Drop, t.Categorical,
			t.Impute, t.Headerless),
		Build: kit.Build(),
	}
	for _, f := range t.files {
		id.Data = append(id.Data, kit.Source{Name: f.Path, SHA256: f.SHA256})
	}
	return bookmark{filepath.Join(t.out, "tune.checkpoint"), id}
}

// told says where an interrupted run goes on.
func (t *search) told() string {
	if e := t.engine; e != nil {
		return fmt.Sprintf("at step %d of %d", e.solver.K(), e.steps)
	}
	done, all := 0, 1
	if t.folded() {
		all += t.Folds
	}
	for _, p := range t.notes.Pursuits {
		if p.End != nil {
			done++
		}
	}
	return fmt.Sprintf("with %d of %d searches done, %d begun", done, all, len(t.notes.Pursuits)-done)
}

// pursue goes on with a search from its notes, to the minimum or until ctx ends.
func (t *search) pursue(ctx context.Context, n *pursuit, problems []*hyperopt.Problem,
	progress func(k int, f float64)) (*hyperopt.Minimum, uint64, error) {
	began := time.Now().Add(-n.Time)
	enough := settled{slices.Clone(n.Before)}
	folds := &hyperopt.Folds{Problems: problems}
	var failed error
	folds.Progress = func(at *hyperopt.SearchState) bool {
		progress(at.Iterations, at.F)
		failed = t.note(func() {
			n.At, n.Before, n.Time = at.Clone(), slices.Clone(enough.losses), time.Since(began)
		})
		return failed == nil && ctx.Err() == nil && !enough.at(at.F)
	}
	var m *hyperopt.Minimum
	var err error
	if n.At != nil {
		m, err = folds.Continue(n.At)
	} else {
		lambdas, losses, gridErr := singles(folds, t.Lo, t.Hi)
		if gridErr != nil {
			return nil, 0, gridErr
		}
		t.notes.mu.Lock()
		n.Lambdas, n.Losses, n.SingleReads, n.SingleTime = lambdas, losses, folds.Reads(), time.Since(began)
		t.notes.mu.Unlock()
		x := make([]float64, t.design.Dim)
		problems[0].Uniform(x, n.best())
		m, err = folds.Minimise(x)
	}
	t.notes.mu.Lock()
	n.Time = time.Since(began)
	t.notes.mu.Unlock()
	return m, folds.Reads(), kit.FirstOf(failed, err)
}

// best is the single weight with the least loss.
func (n *pursuit) best() float64 { return n.Lambdas[slices.Index(n.Losses, slices.Min(n.Losses))] }
