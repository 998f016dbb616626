// Package observe measures a bilevel run against the truth (bilevel.Truth, or Newton's method on
// exact oracles): errors of x and y, near-stationarity by the Moreau envelope, and [LocalLimit], how
// small the error could be by the samples seen.
//
//	o, err := observe.New(problem, observe.Options{Best: fStar})
//	run.Progress = o.Progress(func(s *bilevel.Solver, m observe.State) bool { …; return true })
//
// The run, of any method, is the same, bit for bit, with an observer and without; its problem may be
// that of the observer. An Observer is for one goroutine at a time.
package observe

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/mat"
)

// Options says what is measured.
type Options struct {
	Best float64 // F*, which is subtracted from F. Default 0
}

// State is what is measured at a point (x, y).
type State struct {
	Gap   float64 // F(x) − F*
	Grad  float64 // ‖∇F(x)‖
	Lower float64 // ‖y − y*(x)‖
}

// Observer measures runs on a problem. New makes one.
type Observer struct {
	truth    bilevel.Truth
	best     float64
	grad, ys []float64
	err      error
}

// New returns an observer. p must implement bilevel.Truth, or bilevel.Values and have exact
// oracles, for Newton's method on these. The error wraps bilevel.ErrOption.
func New(p bilevel.Problem, o Options) (*Observer, error) {
	switch p.(type) {
	case bilevel.Truth, bilevel.Values:
	default:
		return nil, option.Bad("observe: New needs a problem that implements bilevel.Truth or bilevel.Values")
	}
	if math.IsNaN(o.Best) || math.IsInf(o.Best, 0) {
		return nil, option.Bad("observe: Options.Best is %v, want a finite F*", o.Best)
	}
	dx, dy := p.Dims()
	return &Observer{truth: truthOf(p), best: o.Best, grad: make([]float64, dx), ys: make([]float64, dy)}, nil
}

// At measures a point, by one Objective and one Solution, whose errors it returns.
func (o *Observer) At(x, y []float64) (State, error) {
	f, err := o.truth.Objective(o.grad, x)
	if err != nil {
		return State{}, err
	}
	copy(o.ys, y)
	if err := o.truth.Solution(o.ys, x); err != nil {
		return State{}, err
	}
	mat.Axpy(o.ys, -1, y)
	return State{Gap: f - o.best, Grad: mat.Norm(o.grad), Lower: mat.Norm(o.ys)}, nil
}

// Progress returns a function for Run.Progress that measures the iterate and calls visit, which
// stops the run by returning false. So does a measurement that fails, see Err.
func (o *Observer) Progress(visit func(*bilevel.Solver, State) bool) func(*bilevel.Solver) bool {
	return func(s *bilevel.Solver) bool {
		m, err := o.At(s.X(), s.Y())
		if err != nil {
			o.err = fmt.Errorf("observe: step %d: %w", s.K(), err)
			return false
		}
		return visit(s, m)
	}
}

// Err returns the error that has stopped a run, or nil.
func (o *Observer) Err() error { return o.err }

// truthOf returns the truth of p, by Newton's method where p has none.
func truthOf(p bilevel.Problem) bilevel.Truth {
	if truth, ok := p.(bilevel.Truth); ok {
		return truth
	}
	return implicit.NewTruth(p)
}
