package bilevel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"stable/bilevel/option"
)

// Solver runs a method on a problem, for one goroutine at a time.
type Solver struct {
	method  Method
	stepper Stepper
	it      *Iteration
	mean    []float64 // of the iterates x
	cut     bool      // the last step was cut off, and is to be done again
	err     error
}

// New returns a Solver at its starting point. It calls no oracle. The error for an invalid option,
// problem or parameter wraps ErrOption.
func New(p Problem, m Method, opt Options) (*Solver, error) {
	if p == nil || m == nil {
		return nil, option.Bad("New needs a problem and a method, and one of them is nil")
	}
	it, err := newIteration(p, m.Name(), opt)
	if err != nil {
		return nil, err
	}
	stepper, err := m.Start(it)
	if err != nil {
		return nil, err
	}
	if stepper == nil {
		return nil, option.Bad("%s: Start returns neither a Stepper nor an error", it.name)
	}
	it.vectors = stepper.Vectors
	return &Solver{method: m, stepper: stepper, it: it, mean: slices.Clone(it.x)}, nil
}

// Step does one iteration. On an error X and Y stay, and every later Step returns the same error:
// an *OracleError (of the problem), a *DivergedError, one that wraps ErrOption (a step size outside
// its range), or a *StepError (any other, and a panic in the step).
func (s *Solver) Step() (err error) {
	if s.err != nil {
		return s.err
	}
	it, before, returned := s.it, s.it.activity, false
	it.oracle.step, it.oracle.inside, it.oracle.shown, it.strayed = it.k, "", false, nil
	it.alpha, it.beta, it.longest, it.arrived, s.cut = 0, 0, 0, false, false
	copy(it.xNext, it.x)
	copy(it.yNext, it.y)
	defer func() {
		if !returned {
			err = s.wrapPanic(recover())
		}
		if err != nil {
			it.activity = before
		}
		if s.err = err; err != nil && it.ctx.Err() != nil && errors.Is(err, it.ctx.Err()) && !ofOracle(err) {
			s.cut, s.err, err = true, nil, context.Cause(it.ctx)
		}
	}()
	if err = s.wrapError(s.stepper.Step(it)); err == nil {
		err = it.checkNext()
	}
	if returned = true; err != nil {
		return err
	}
	weight, mean := cubicWeight(it.k), s.mean[:len(it.xNext)]
	for i, x := range it.xNext {
		mean[i] += weight * (x - mean[i])
	}
	it.x, it.xNext = it.xNext, it.x
	it.y, it.yNext = it.yNext, it.y
	it.k++
	return nil
}

// wrapPanic wraps what recover gave: nil if the goroutine ends without a panic.
func (s *Solver) wrapPanic(v any) error {
	if v == nil {
		return nil
	}
	err := &PanicError{Value: v, Stack: debug.Stack()}
	if o := s.it.oracle; o.inside != "" {
		err.Endless = o.endless()
		return o.end(err)
	}
	return &StepError{Step: s.it.k, Method: s.it.name, Err: err}
}

// ofOracle says that an oracle ended the step, in the middle of a rule, whose state is changed in part.
func ofOracle(err error) bool {
	var oracle *OracleError
	return errors.As(err, &oracle)
}

func (s *Solver) wrapError(err error) error {
	if err == nil {
		return nil
	}
	var diverged *DivergedError
	if ofOracle(err) || errors.As(err, &diverged) || errors.Is(err, ErrOption) {
		return err
	}
	return &StepError{Step: s.it.k, Method: s.it.name, Err: err}
}

// X and Y return the iterate x^k, y^k, to be read only, valid until the next Step.
func (s *Solver) X() []float64 { return s.it.x }
func (s *Solver) Y() []float64 { return s.it.y }

// Mean returns a weighted mean x̄ of x^1 … x^k, as X does: x̄ ← x̄ + 4/(j+4)·(x^{j+1} − x̄) after
// step j ≥ 0. With noise it is often closer to the solution than x^k. Before any step it is x⁰.
func (s *Solver) Mean() []float64 { return s.mean }

// K returns the number of steps done.
func (s *Solver) K() int { return s.it.k }

// StepSizes returns the sums that the last step reported by UseSteps.
func (s *Solver) StepSizes() (alpha, beta float64) { return s.it.alpha, s.it.beta }

// Counts returns what the run has used.
func (s *Solver) Counts() Counts { return s.it.oracle.counts }

// Activity returns how often projections and safeguards acted.
func (s *Solver) Activity() Activity { return s.it.activity }

// Health returns what the method tells of the present iterate, if its Stepper is a HealthReporter.
// It may cost as much as a step, asks no oracle, and changes nothing.
func (s *Solver) Health() (h Health, ok bool) {
	r, ok := s.stepper.(HealthReporter)
	if !ok || s.it.k == 0 {
		return Health{}, false
	}
	return r.Health(), true
}

func (s *Solver) Method() Method { return s.method }

// Stepper returns the running method, to be read only, valid until Load.
func (s *Solver) Stepper() Stepper { return s.stepper }

// String tells method, steps and samples, for logs.
func (s *Solver) String() string {
	c := s.Counts()
	return fmt.Sprintf("%s at step %d, after %d samples of ξ and %d of φ", s.it.name, s.it.k, c.Xi, c.Phi)
}
