package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
)

// engine is a run of a method on a tuning problem, with its curve of F.
type engine struct {
	problem *hyperopt.Problem
	method  bilevel.Method
	solver  *bilevel.Solver
	steps   int
	saving

	result  bilevel.Result
	from    int       // the step at which this process began
	samples []float64 // ξ and φ together, at the recorded steps
	f       []float64 // F there
	y       []float64 // where exact F was last minimised in y, and starts the next time
}

type saving struct {
	path  string        // empty: nowhere
	every time.Duration // solving between two checkpoints
	fresh bool          // forget what is there
}

func adaptive(p *hyperopt.Problem) bilevel.Method {
	return bilevel.STABLE{MuG: p.StrongConvexity(), CGxy: p.CrossBound()}
}

func vectors(p *hyperopt.Problem) (x, y []float64) {
	dx, dy := p.Dims()
	return make([]float64, dx), make([]float64, dy)
}

func newEngine(p *hyperopt.Problem, m bilevel.Method, steps int, seed uint64) (*engine, error) {
	x0, y0 := vectors(p)
	p.Start(x0, y0)
	e := &engine{problem: p, steps: steps, method: m}
	return e, e.begin(x0, y0, seed)
}

func (e *engine) begin(x0, y0 []float64, seed uint64) (err error) {
	lo, hi := e.problem.Box()
	e.solver, err = bilevel.New(e.problem, e.method,
		bilevel.Options{X0: x0, Y0: y0, Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: seed})
	return err
}

func (e *engine) start(lambda float64, seed uint64) error {
	lo, hi := e.problem.Box()
	x0, y0 := vectors(e.problem)
	e.problem.Uniform(x0, lambda)
	for i, v := range x0 {
		x0[i] = min(max(v, lo[i]), hi[i])
	}
	if _, err := e.problem.Clone().ObjectiveFrom(nil, y0, x0); err != nil {
		return err
	}
	return e.begin(x0, y0, seed)
}

// run goes to the last step, from a checkpoint if there is one. It computes F exactly at some steps,
// outside the measured time.
func (e *engine) run(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	defer p.Clear()
	if err := e.resume(out); err != nil {
		return err
	}
	truth := e.problem.Clone()
	_, y := vectors(e.problem)
	e.from, e.y = e.solver.K(), y
	next, arrived := 0, false // the point of the curve that comes next
	var failed error
	record := func(s *bilevel.Solver) bool {
		if k := s.K(); len(e.f) > 0 && k < e.steps && k < e.mark(next) && !arrived {
			p.Update(float64(k)/float64(e.steps), "step %d of %d, F = %.6f", k, e.steps, e.f[len(e.f)-1])
			return true
		}
		for e.mark(next) <= s.K() {
			next++
		}
		f, err := truth.ObjectiveFrom(nil, e.y, s.X())
		if err != nil {
			failed = err
			return false
		}
		c := s.Counts()
		e.samples = append(e.samples, float64(c.Xi+c.Phi))
		e.f = append(e.f, f)
		p.Update(float64(s.K())/float64(e.steps), "step %d of %d, F = %.6f", s.K(), e.steps, f)
		return true
	}
	record(e.solver)
	if s := e.solver; s.K() >= e.steps { // it was interrupted in what comes next
		e.result = bilevel.Result{X: slices.Clone(s.X()), Y: slices.Clone(s.Y()), Steps: s.K(), Counts: s.Counts(),
			Activity: s.Activity(), Reason: bilevel.StepLimit}
		return failed
	}
	for {
		r, err := e.solver.Run(ctx, bilevel.Run{Steps: e.steps - e.solver.K(), Time: e.every, Progress: record})
		r.Steps, r.Elapsed = e.solver.K(), r.Elapsed+e.result.Elapsed
		e.result = r
		if arrived = r.Reason == bilevel.Arrived; arrived && e.mark(next-1) < e.solver.K() {
			record(e.solver)
		}
		goOn := err == nil && r.Reason == bilevel.TimeLimit
		if e.path != "" && (goOn || errors.Is(err, context.Canceled)) {
			err = errors.Join(e.solver.SaveFile(e.path), err)
		}
		if errors.Is(err, context.Canceled) {
			fmt.Fprintln(out.Stderr, "bench: interrupted; what there is will be reported, unless a second interrupt comes")
		}
		if !goOn || err != nil {
			return errors.Join(failed, err)
		}
	}
}

func (e *engine) away() float64 {
	var diff, size float64
	for i, v := range e.y {
		d := e.result.Y[i] - v
		diff, size = diff+d*d, size+v*v
	}
	return math.Sqrt(diff / size)
}

// mark returns the step of point i of the curve; the points are evenly spaced on a logarithmic
// axis.
func (e *engine) mark(i int) int {
	points := 40.0
	if e.small() {
		points = 120
	}
	k := 1.0
	for ; i > 1; i-- {
		k = max(k+1, math.Floor(k*math.Pow(float64(e.steps), 1/points)))
	}
	return int(k)
}

func (e *engine) small() bool { return e.problem.Train().Rows() <= kit.ManyRows }

func checkSave(every time.Duration) error {
	if every < 0 {
		return fmt.Errorf("%w: -save is %v, want ≥ 0", kit.ErrUsage, every)
	}
	return nil
}

func checkIntercept(how string, known ...string) error {
	if !slices.Contains(known, how) {
		return fmt.Errorf("%w: -intercept is %q, want %s", kit.ErrUsage, how, strings.Join(known, " or "))
	}
	return nil
}

func checkSteps(steps int, lo, hi float64) error {
	switch {
	case steps < 1:
		return fmt.Errorf("%w: -steps is %d, want ≥ 1", kit.ErrUsage, steps)
	case !(lo > 0 && lo < hi) || math.IsInf(hi, 1):
		return fmt.Errorf("%w: -lo %v -hi %v, want 0 < lo < hi", kit.ErrUsage, lo, hi)
	}
	return nil
}
