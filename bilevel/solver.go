package bilevel

import (
	"context"
	"errors"
	"slices"

	"stable/bilevel/option"
)

// Activity counts the steps in which a projection or a safeguard of the method changed something.
type Activity struct {
	Truncated int // eigenvalues of H_yy were raised to μ_g
	Shrunk    int // H_xy was scaled back to ‖H_xy‖_F = C_gxy
	Cut       int // x and y moved less than the step sizes said, by the trust region
	Slowed    int // β was lowered to its bound
}

// Solver runs a method on a problem. Step does one iteration, Run does many. A Solver is for one
// goroutine at a time; two Solvers with separate Problems do not affect each other.
type Solver struct {
	it   *Iteration // what the method sees
	mean []float64  // of the iterates x
	err  error      // of a step that has failed
}

// New returns a Solver at its starting point. It calls no oracle. For an invalid option, problem or
// parameter it returns an error that wraps ErrOption and names the field.
func New(p Problem, m Method, opt Options) (*Solver, error) {
	if p == nil || m == nil {
		return nil, option.Bad("New needs a problem and a method, and one of them is nil")
	}
	it, err := newIteration(p, m, opt)
	if err != nil {
		return nil, err
	}
	if it.stepper, err = m.Start(it); err != nil {
		return nil, err
	}
	if it.stepper == nil {
		return nil, option.Bad("%s: Start returns neither a Stepper nor an error", m.Name())
	}
	return &Solver{it: it, mean: slices.Clone(it.x)}, nil
}

// Step does one iteration. On an error, X and Y stay at the last good iterate, and every later Step
// returns the same error. Errors are an *OracleError (a failure or a panic of the problem), a
// *DivergedError, one that wraps ErrOption (a step size outside its range), or a *StepError (any
// other error of the method, or panic in the step).
func (s *Solver) Step() (err error) {
	if s.err != nil {
		return s.err
	}
	it, before, returned := s.it, s.it.activity, false
	it.oracle.step, it.oracle.inside = it.k, ""
	it.alpha, it.beta, it.longest, it.arrived = 0, 0, 0, false
	copy(it.xNext, it.x)
	copy(it.yNext, it.y)
	defer func() {
		if !returned {
			err = it.caught(recover())
		}
		if err != nil {
			it.activity = before
		}
		if s.err = err; err != nil && it.ctx.Err() != nil && errors.Is(err, it.ctx.Err()) {
			s.err, err = nil, context.Cause(it.ctx) // the step was given up, and can be done again
		}
	}()
	if err = it.failed(it.stepper.Step(it)); err == nil {
		err = it.checkNext()
	}
	if returned = true; err != nil {
		return err
	}
	for i, x := range it.xNext {
		s.mean[i] += newest(it.k) * (x - s.mean[i])
	}
	it.x, it.xNext = it.xNext, it.x
	it.y, it.yNext = it.yNext, it.y
	it.k++
	return nil
}

// newest is the weight of the newest of k+1 terms in a running mean in which term j has a weight of
// order j³: 1 at k = 0, then 4/(k+4).
func newest(k int) float64 { return 4 / (float64(k) + 4) }

// X returns the iterate x^k, in the Solver's own memory: to be read only, and valid until the next
// Step.
func (s *Solver) X() []float64 { return s.it.x }

// Y returns the iterate y^k, as X does.
func (s *Solver) Y() []float64 { return s.it.y }

// Mean returns the weighted mean x̄ of the iterates x^1 … x^k, as X does: x̄ ← x̄ +
// 4/(j+4)·(x^{j+1} − x̄) after step j ≥ 0, which gives x^{j+1} a weight of order j³. The mean lies
// in the feasible set, which is convex. With noisy oracles it is often closer to the solution than
// x^k. Before the first step it is x⁰.
func (s *Solver) Mean() []float64 { return s.mean }

// K returns the number of steps done.
func (s *Solver) K() int { return s.it.k }

// StepSizes returns the sums of the step sizes of x and of y that the method reported in the last
// step by Iteration.UseSteps, which Run.Tol compares the movements with.
func (s *Solver) StepSizes() (alpha, beta float64) { return s.it.alpha, s.it.beta }

// Counts returns what the run has used so far.
func (s *Solver) Counts() Counts { return s.it.oracle.counts }

// Activity returns how often projections and safeguards acted.
func (s *Solver) Activity() Activity { return s.it.activity }

// Method returns the method.
func (s *Solver) Method() Method { return s.it.method }

// Stepper returns the running method, which may have methods of its own that report more than the
// iterate. It is to be read only, and valid until Load.
func (s *Solver) Stepper() Stepper { return s.it.stepper }
