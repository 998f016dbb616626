package tune

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
	"stable/bilevel/hyperopt"
)

type engine struct {
	options
	problem *hyperopt.Problem
	method  bilevel.Method
	solver  *bilevel.Solver
	path    string // of the checkpoint; empty: none

	result  bilevel.Result
	from    int       // the step at which this process began
	samples []float64 // ξ and φ together, at the recorded steps
	asked   []float64 // evaluations of single samples
	f       []float64
	y       []float64 // where exact F was last minimised in y, and starts the next time
}

func vectors(p *hyperopt.Problem) (x, y []float64) {
	dx, dy := p.Dims()
	return make([]float64, dx), make([]float64, dy)
}

func (o options) newEngine(p *hyperopt.Problem, m bilevel.Method, x0, y0 []float64) (*engine, error) {
	lo, hi := p.Box()
	s, err := bilevel.New(p, m, bilevel.Options{X0: x0, Y0: y0, Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: o.Seed})
	return &engine{options: o, problem: p, method: m, solver: s}, err
}

// run goes to the last step, from a checkpoint if there is one. It computes F exactly at some steps,
// evenly spaced on a logarithmic axis, outside the measured time.
func (e *engine) run(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	defer p.Clear()
	if err := e.resume(out); err != nil {
		return err
	}
	truth, s := e.problem.Clone(), e.solver
	_, e.y = vectors(e.problem)
	e.from = s.K()
	ratio := math.Pow(float64(e.Steps), 1/either(small(e.problem), 120.0, 40))
	last, next := -1, 1.0
	var failed error
	record := func(s *bilevel.Solver) bool {
		var f float64
		if f, failed = truth.ObjectiveFrom(nil, e.y, s.X()); failed != nil {
			return false
		}
		for last = s.K(); next <= float64(last); {
			next = max(next+1, math.Floor(next*ratio))
		}
		c := s.Counts()
		e.samples, e.asked, e.f = append(e.samples, float64(c.Xi+c.Phi)), append(e.asked, float64(c.Evaluations())), append(e.f, f)
		p.Update(float64(last)/float64(e.Steps), "step %d of %d, F = %.6f", last, e.Steps, f)
		return true
	}
	watch := func(s *bilevel.Solver) bool {
		k := s.K()
		if k == e.Steps || float64(k) >= next {
			return record(s)
		}
		p.Update(float64(k)/float64(e.Steps), "step %d of %d, F = %.6f", k, e.Steps, kit.Last(e.f))
		return true
	}
	if !record(s) || s.K() >= e.Steps { // it was interrupted in what comes next
		e.result = bilevel.Result{X: slices.Clone(s.X()), Y: slices.Clone(s.Y()), Steps: s.K(), Counts: s.Counts(),
			Reason: bilevel.StepLimit}
		return failed
	}
	for {
		r, err := s.Run(ctx, bilevel.Run{Steps: e.Steps - s.K(), Time: e.every, Progress: watch})
		r.Steps, r.Elapsed = s.K(), r.Elapsed+e.result.Elapsed
		e.result = r
		if r.Reason == bilevel.Arrived && last < s.K() {
			record(s)
		}
		goOn, canceled := err == nil && r.Reason == bilevel.TimeLimit, errors.Is(err, context.Canceled)
		if e.path != "" && (goOn || canceled) {
			err = errors.Join(s.SaveFile(e.path), err)
		}
		if canceled {
			fmt.Fprintln(out.Stderr, "bench: interrupted; what there is will be reported, unless a second interrupt comes")
		}
		if !goOn || err != nil {
			return errors.Join(failed, err)
		}
	}
}

func small(p *hyperopt.Problem) bool { return p.Train().Rows() <= kit.ManyRows }

// checkpoint is the file of a run. Other options, data and builds have another.
func (o options) checkpoint(build string, data ...string) string {
	folder := o.out
	o.out, o.every, o.fresh = "", 0, false // what may change when a run goes on
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %q %q", o, build, data))
	return filepath.Join(folder, fmt.Sprintf("%.6x.checkpoint", sum))
}

func (e *engine) resume(out kit.Terminal) error {
	if e.path == "" || e.fresh {
		return e.forget()
	}
	err := cmp.Or(atomicfile.Sweep(e.path), e.solver.LoadFile(e.path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(err, bilevel.ErrDamaged) {
		fmt.Fprintf(out.Stderr, "bench: %v; trying the one before\n", err)
		err = e.solver.LoadFile(e.path + ".old")
	}
	if err != nil {
		return fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
	}
	fmt.Fprintf(out.Stdout, "goes on at step %d of %d, where it was interrupted\n\n", e.solver.K(), e.Steps)
	return nil
}

func (e *engine) forget() error {
	if e.path == "" {
		return nil
	}
	for _, path := range []string{e.path, e.path + ".old"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (o *options) shared(fs *flag.FlagSet) {
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of the split and of the samples")
	fs.StringVar(&o.Label, "label", "", "`COLUMN` of the label in a CSV file (default: the last)")
	fs.DurationVar(&o.every, "save", time.Second, "time between two checkpoints of SAA-Newton in the folder -out; 0: none")
	fs.BoolVar(&o.fresh, "fresh", false, "begin again where an interrupted SAA-Newton could go on")
}

type task interface {
	describe(w io.Writer)
	run(ctx context.Context, out kit.Terminal) error // ready says whether there is anything to report
	ready() bool
	report(w io.Writer) error
	write(w io.Writer) error
	method() *engine // nil where no method runs
}

// drive does a task. It reports and writes an interrupted or diverged run too, as far as it came.
func drive(ctx context.Context, t task, folder string, out kit.Terminal) error {
	if err := cmp.Or(os.MkdirAll(folder, 0o755), writable(folder)); err != nil { // before the work, which would be lost
		return err
	}
	t.describe(out.Stdout)
	runErr := t.run(ctx, out)
	if runErr != nil && !stopped(runErr) || !t.ready() {
		return runErr
	}
	var told bytes.Buffer // files before the report, whose reader may leave
	err := errors.Join(t.write(&told), t.report(out.Stdout), runErr)
	told.WriteTo(out.Stdout)
	if e := t.method(); e != nil && (err == nil || errors.Is(runErr, bilevel.ErrDiverged)) {
		err = errors.Join(err, e.forget())
	}
	return err
}

func writable(folder string) error {
	f, err := os.CreateTemp(folder, ".*.tmp")
	if err != nil {
		return err
	}
	return cmp.Or(f.Close(), os.Remove(f.Name()))
}

func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, bilevel.ErrDiverged)
}

func put(folder string, files map[string]func(io.Writer) error) error {
	for name, fill := range files {
		path := filepath.Join(folder, name)
		if err := cmp.Or(atomicfile.Sweep(path), atomicfile.Write(path, fill)); err != nil {
			return err
		}
	}
	return nil
}
