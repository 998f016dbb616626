package observe

import (
	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
)

// newton is the truth of a problem that does not know it: Newton's method on its exact oracles.
type newton struct {
	f       *implicit.Function
	y, grad []float64 // of Objective
}

// truthOf returns the truth of p, by Newton's method where p has none; with the objective if asked.
func truthOf(p bilevel.Problem, objective bool) (bilevel.Truth, error) {
	if truth, ok := p.(bilevel.Truth); ok {
		return truth, nil
	}
	f := implicit.New(p)
	if objective && !f.HasValue() {
		return nil, option.Bad("observe: New needs a problem that implements bilevel.Truth or bilevel.Values")
	}
	dx, dy := p.Dims()
	return &newton{f, make([]float64, dy), make([]float64, dx)}, nil
}

func (n *newton) Solution(y, x []float64) error { return n.f.Solve(y, x, 0) }

func (n *newton) Objective(grad, x []float64) (float64, error) {
	if err := n.f.Solve(n.y, x, 0); err != nil {
		return 0, err
	}
	if grad == nil {
		grad = n.grad
	}
	return n.f.Gradient(grad, x, n.y)
}
