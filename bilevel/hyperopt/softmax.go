package hyperopt

import (
	"math"
	"slices"

	"stable/bilevel/hyperopt/data"
	"stable/mat"
	"stable/mat/kernel"
)

// mostClasses is the most classes of Softmax: a row's probabilities stand on the stack.
const mostClasses = 64

// Probabilities writes those of the classes for row i of d, by a model y of Softmax: len(p) classes.
// It panics if len(y) is not len(p)·d.Dim.
func Probabilities(p []float64, d *data.Data, y []float64, i int) {
	if len(y) != len(p)*d.Dim {
		panic("hyperopt: Probabilities: dimension mismatch")
	}
	scores(p, d, y, i)
	normalise(p, 0)
}

func scores(t []float64, d *data.Data, y []float64, i int) {
	col, val := d.Row(i)
	for k := range t {
		t[k] = dot(col, val, y[k*d.Dim:(k+1)*d.Dim])
	}
}

// normalise makes scores the probabilities of the classes, and returns −log p_b.
func normalise(t []float64, b int) float64 {
	most, score := slices.Max(t), t[b]
	for k := range t {
		t[k] -= most
	}
	kernel.Exp(t, t)
	own, rest := t[b], others(t, b)
	kernel.Scale(t, 1/(own+rest), t)
	return math.Log1p(rest+(own-1)) + (most - score)
}

func others(t []float64, b int) (sum float64) {
	for k, v := range t {
		if k != b {
			sum += v
		}
	}
	return sum
}

func (s *sum) terms(firsts []float64, i int) (value float64) {
	if s.loss != Softmax {
		col, val := s.data.Row(i)
		value, firsts[0] = s.loss.valueFirst(dot(col, val, s.y), s.data.Label[i])
		return value
	}
	scores(firsts, s.data, s.y, i)
	return s.factors(firsts, nil, i)
}

// factors makes of a row's scores by y, and by v, what its sums take times a: for hessVec
// p_k(u_k − Σ p_l·u_l), else p_k − [k = b]; it returns the loss. All by the row's weight.
func (s *sum) factors(t, u []float64, i int) (loss float64) {
	b, w := int(s.data.Label[i]), s.weight(i)
	loss = w * normalise(t, b)
	if s.kind == hessVec {
		mean := mat.Dot(t, u)
		for k := range t {
			t[k] *= w * (u[k] - mean)
		}
		return loss
	}
	t[b] = -others(t, b)
	kernel.Scale(t, w, t)
	return loss
}

// classesRow is row for Softmax, but for the Hessian.
func (s *sum) classesRow(acc []float64, i int) {
	var first, second [mostClasses]float64
	d := s.data.Dim
	t, u := first[:len(s.y)/d], second[:len(s.y)/d]
	scores(t, s.data, s.y, i)
	if s.kind == hessVec {
		scores(u, s.data, s.v, i)
	}
	loss := s.factors(t, u, i)
	if s.kind == value {
		acc[0] += loss
		return
	}
	col, val := s.data.Row(i)
	for k, f := range t {
		axpy(acc[k*d:(k+1)*d], f, col, val)
	}
}
