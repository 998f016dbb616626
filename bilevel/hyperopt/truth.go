package hyperopt

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel/implicit"
	"stable/chol"
	"stable/mat"
)

const maxDense = 4096 // largest dy for which Solution and Objective form g_yy

// truth is F as a function of x alone, with scratch; see package implicit.
type truth struct {
	f    *implicit.Function
	y    []float64
	unit float64 // of the rounding errors of g_y: the mean length of its terms at y = 0
}

func (p *Problem) exact() (*truth, error) {
	d := p.dy()
	if d > maxDense {
		return nil, fmt.Errorf("%w: %d features, more than the %d that are supported", implicit.ErrNoSolution, d, maxDense)
	}
	if p.truth == nil {
		p.truth = &truth{f: implicit.New(p), y: make([]float64, d)}
		for i, b := range p.train.Label {
			_, val := p.train.Row(i)
			first := math.Sqrt(1 - 1/float64(p.outputs))
			if p.outputs == 1 {
				first = math.Abs(p.opt.Loss.first(0, b))
			}
			p.truth.unit += first * mat.Norm(val) / float64(p.train.Rows())
		}
	}
	return p.truth, nil
}

// Solution writes y*(x), to rounding, by Newton's method from y, or from 0 where that fails. x may
// lie outside the box as long as g_yy stays positive definite. Errors wrap implicit.ErrNoSolution,
// also where dy > 4096. It panics if a length is wrong. No allocation after the first call. Cost: 5 to
// 10 passes over the training data, each with a Hessian and its Cholesky factor.
func (p *Problem) Solution(y, x []float64) error {
	p.sizes("hyperopt: Solution: dimension mismatch", len(x), len(y))
	t, err := p.exact()
	if err != nil {
		return err
	}
	if mat.IsFinite(mat.Norm(y)) && t.f.Solve(y, x, 0) == nil {
		return nil
	}
	clear(y)
	err = t.f.Solve(y, x, 0)
	if left, _ := t.f.Residual(); left <= 1e-14*t.unit && !errors.Is(err, chol.ErrNotPosDef) { // y* is 0, and g_y all rounding
		return nil
	}
	return err
}

// Objective returns F(x), the validation loss of y*(x), and writes ∇F(x) = −g_xy·g_yy⁻¹·f_y into
// grad unless that is nil. Newton's method starts from 0. Errors, panics, cost as in Solution.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	t, err := p.exact()
	if err != nil {
		return 0, err
	}
	clear(t.y)
	return p.ObjectiveFrom(grad, t.y, x)
}

// ObjectiveFrom is Objective from y, where it leaves y*(x): cheaper if near, equal up to rounding.
func (p *Problem) ObjectiveFrom(grad, y, x []float64) (float64, error) {
	if err := p.Solution(y, x); err != nil {
		return 0, err
	}
	if grad == nil {
		return p.ValueF(x, y, nil)
	}
	p.sizes("hyperopt: Objective: dimension mismatch", len(grad), p.dy())
	return p.truth.f.Gradient(grad, x, y)
}
