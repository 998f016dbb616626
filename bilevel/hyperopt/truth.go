package hyperopt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/chol"
	"stable/mat"
)

// ErrNoSolution is wrapped where y*(x) cannot be computed: x is not finite or makes g_yy
// indefinite, or Newton's method ends at its cap.
var ErrNoSolution = errors.New("hyperopt: no solution of the lower level")

const (
	maxNewton   = 100  // Newton iterations
	maxHalvings = 60   // of one Newton step
	maxDense    = 4096 // features for which Solution and Objective form g_yy
)

// truth is the scratch of Newton's method; h is the factor of g_yy at (hx, hy).
type truth struct {
	acc, grad, step, trial, v, y []float64
	hx, hy                       []float64
	atZero                       float64 // g(x, 0), which is the same for every x but with PerRow
	hess                         mat.Sym
	h                            chol.Cholesky
}

func (p *Problem) reserve() (*truth, error) {
	d := p.train.Dim
	if d > maxDense {
		return nil, fmt.Errorf("%w: %d features, more than the %d that are supported", ErrNoSolution, d, maxDense)
	}
	if p.truth == nil {
		p.truth = &truth{
			acc: make([]float64, d+1), grad: make([]float64, d), step: make([]float64, d), trial: make([]float64, d),
			v: make([]float64, d), y: make([]float64, d), hx: make([]float64, 0, p.dx), hy: make([]float64, 0, d),
			hess: *mat.NewSym(d),
		}
		p.truth.atZero = p.valueGradient(p.truth.acc, sum{data: p.train, y: p.truth.y})
	}
	return p.truth, nil
}

// Solution writes y*(x), to rounding: ‖g_y‖ is at most about 1e-12 of the mean length of its terms.
// It starts from y if that is finite and better than 0, else from 0. x may lie outside the box as
// long as g_yy stays positive definite.
//
// Errors wrap ErrNoSolution, also for more than 4096 features, since g_yy is formed. It panics if a
// length is not d. No allocation after the first call. Cost: some 5 to 30 passes over the training
// data, 1 to 10 Hessians with their Cholesky factors.
//
// # How it works
//
// Damped Newton (Boyd, Vandenberghe, Convex Optimization, section 9.5) until the squared decrement
// is 1e-26 of g(x, 0), or below 1e-13 of it and no longer falling; then one step more. Once the
// decrement is small, steps reuse the last factor as long as its square falls a thousandfold each
// time.
func (p *Problem) Solution(y, x []float64) error {
	p.sizes("hyperopt: Solution: dimension mismatch", p.dx, x)
	p.sizes("hyperopt: Solution: dimension mismatch", p.train.Dim, y)
	t, err := p.reserve()
	if err != nil {
		return err
	}
	if p.of == nil {
		clear(t.trial)
		t.atZero = p.lower(t.acc, t.grad, x, t.trial)
	}
	value := p.lower(t.acc, t.grad, x, y)
	if !(value <= t.atZero) {
		clear(y)
		value = p.lower(t.acc, t.grad, x, y)
	}
	last, near := math.Inf(1), false
	for range maxNewton {
		if !mat.IsFinite(value) {
			return fmt.Errorf("%w: g is %v", ErrNoSolution, value)
		}
		fresh := !near
		if fresh {
			if err := p.factor(x, y); err != nil {
				return err
			}
		}
		t.h.SolveVec(t.step, t.grad)
		decrement := mat.Dot(t.grad, t.step)
		if decrement <= 1e-26*t.atZero || fresh && decrement <= 1e-13*t.atZero && decrement > 1e-2*last {
			mat.Axpy(y, -1, t.step)
			return nil
		}
		if !fresh && decrement > 1e-3*last { // too slow: the same step with a new factor
			near = false
			continue
		}
		last, near = decrement, decrement <= 1e-4*t.atZero
		if value, err = p.damp(t, x, y, value, decrement); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: Newton's method did not end in %d steps", ErrNoSolution, maxNewton)
}

// factor factors g_yy(x, y), unless h is its factor already.

func (p *Problem) factor(x, y []float64) error {
	t := p.truth
	if slices.Equal(t.hx, x) && slices.Equal(t.hy, y) {
		return nil
	}
	t.hx = t.hx[:0] // h belongs to no point until it is complete
	if err := p.HessG(&t.hess, x, y, nil); err != nil {
		return err
	}
	if err := t.h.Factor(&t.hess); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSolution, err)
	}
	t.hx, t.hy = append(t.hx, x...), append(t.hy[:0], y...)
	return nil
}

// damp halves the Newton step by Armijo's rule, with a margin for rounding, moves y, and returns g
// there, with its gradient in t.grad.
func (p *Problem) damp(t *truth, x, y []float64, value, decrement float64) (float64, error) {
	s := 1.0
	for range maxHalvings {
		for i := range y {
			t.trial[i] = y[i] - s*t.step[i]
		}
		at := p.lower(t.acc, t.grad, x, t.trial)
		if at <= value-1e-4*s*decrement+1e-15*value {
			copy(y, t.trial)
			return at, nil
		}
		s /= 2
	}
	return 0, fmt.Errorf("%w: no step decreases g", ErrNoSolution)
}

// Objective returns F(x), the validation loss of y*(x), and writes ∇F(x) = −g_xy·g_yy⁻¹·f_y into
// grad unless that is nil. Newton's method starts from 0. Errors, panics, allocation and cost as in
// Solution.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	t, err := p.reserve()
	if err != nil {
		return 0, err
	}
	clear(t.y)
	return p.ObjectiveFrom(grad, t.y, x)
}

// ObjectiveFrom is Objective started from y, where it leaves y*(x): cheaper if y is near, equal up
// to rounding.
func (p *Problem) ObjectiveFrom(grad, y, x []float64) (float64, error) {
	if grad != nil {
		p.sizes("hyperopt: Objective: dimension mismatch", p.dx, grad)
	}
	if err := p.Solution(y, x); err != nil {
		return 0, err
	}
	t := p.truth
	value := p.valueGradient(t.acc, sum{data: p.val, y: y})
	if grad != nil {
		if err := p.factor(x, y); err != nil {
			return 0, err
		}
		t.h.SolveVec(t.v, t.acc[:len(y)])
		p.crossVec(grad, x, y, t.v, nil)
		for i := range grad {
			grad[i] = -grad[i]
		}
	}
	return value, nil
}

// valueGradient returns the mean loss over the rows of s, with its gradient in acc, one longer than
// y.
func (p *Problem) valueGradient(acc []float64, s sum) float64 {
	s.kind, s.loss = valueGradient, p.opt.Loss
	clear(acc)
	p.adder.add(acc, 0, len(acc), s)
	n := s.data.Rows()
	p.reads += uint64(n)
	for i := range acc {
		acc[i] /= float64(n)
	}
	return acc[len(s.y)]
}

// lower returns g(x, y) and writes g_y(x, y).
func (p *Problem) lower(acc, grad, x, y []float64) float64 {
	value := p.valueGradient(acc, p.trainSum(sum{y: y}, x))
	copy(grad, acc)
	for i, yi := range y {
		r := p.diagonal(x, i)
		value += 0.5 * r * yi * yi
		grad[i] += r * yi
	}
	return value
}
