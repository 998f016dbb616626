package observe

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
)

// newton is the truth of a problem that does not know it: Newton's method on the exact oracles of
// g, with steps halved until ‖g_y‖ falls.
type newton struct {
	p        bilevel.Problem
	values   bilevel.Values // nil where p has none: then there is no Objective
	chol     chol.Cholesky
	gyy      *mat.Sym
	gxy      *mat.Dense
	gy, next []float64 // g_y at y and at the point that is tried
	step, at []float64
	y        []float64 // of Objective
	fx       []float64
}

// truthOf returns the truth of p, by Newton's method where p has none. what needs it.
func truthOf(p bilevel.Problem, what string, objective bool) (bilevel.Truth, error) {
	if truth, ok := p.(bilevel.Truth); ok {
		return truth, nil
	}
	values, ok := p.(bilevel.Values)
	if objective && !ok {
		return nil, option.Bad("observe: %s needs a problem that implements bilevel.Truth or bilevel.Values", what)
	}
	dx, dy := p.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &newton{p: p, values: values, gyy: mat.NewSym(dy), gxy: mat.NewDense(dx, dy),
		gy: vec(dy), next: vec(dy), step: vec(dy), at: vec(dy), y: vec(dy), fx: vec(dx)}, nil
}

// Solution writes y*(x), from y on.
func (n *newton) Solution(y, x []float64) error {
	const most = 200
	if err := n.p.GradG(n.gy, x, y, nil); err != nil {
		return err
	}
	for range most {
		if err := n.factor(x, y); err != nil {
			return err
		}
		n.chol.SolveVec(n.step, n.gy)
		length, size := mat.Norm(n.step), mat.Norm(y)
		if length <= 0x1p-50*size {
			return nil
		}
		if !n.move(y, x) {
			if length <= 1e-6*size { // g_y is all rounding
				return nil
			}
			break
		}
	}
	return fmt.Errorf("observe: no minimiser of g in y is found: ‖g_y‖ is %g", mat.Norm(n.gy))
}

// move takes the longest of the steps 1, ½, … that makes ‖g_y‖ fall; it says whether there is one.
func (n *newton) move(y, x []float64) bool {
	before := mat.Norm(n.gy)
	for t := 1.0; t > 1e-9; t /= 2 {
		copy(n.at, y)
		mat.Axpy(n.at, -t, n.step)
		if err := n.p.GradG(n.next, x, n.at, nil); err != nil { // outside of the domain of g
			continue
		}
		if mat.Norm(n.next) <= (1-1e-4*t)*before {
			copy(y, n.at)
			n.gy, n.next = n.next, n.gy
			return true
		}
	}
	return false
}

// factor factors g_yy(x, y).
func (n *newton) factor(x, y []float64) error {
	if err := n.p.HessG(n.gyy, x, y, nil); err != nil {
		return err
	}
	if err := n.chol.Factor(n.gyy); err != nil {
		return fmt.Errorf("observe: g_yy on the way to y*(x): %w", err)
	}
	return nil
}

// Objective returns F(x) = f(x, y*(x)), and ∇F(x) = f_x − g_xy g_yy⁻¹ f_y.
func (n *newton) Objective(grad, x []float64) (float64, error) {
	if err := n.Solution(n.y, x); err != nil {
		return math.NaN(), err
	}
	value, err := n.values.ValueF(x, n.y, nil)
	if err != nil || grad == nil {
		return value, err
	}
	if err := n.p.GradF(n.fx, n.next, x, n.y, nil); err != nil {
		return value, err
	}
	if err := n.p.CrossG(n.gxy, x, n.y, nil); err != nil {
		return value, err
	}
	if err := n.factor(x, n.y); err != nil {
		return value, err
	}
	n.chol.SolveVec(n.step, n.next)
	mat.MulVec(grad, n.gxy, n.step)
	for i, fx := range n.fx {
		grad[i] = fx - grad[i]
	}
	return value, nil
}
