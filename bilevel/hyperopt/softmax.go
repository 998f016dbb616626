package hyperopt

import (
	"math"

	"stable/bilevel/hyperopt/data"
)

// mostClasses is the most classes of Softmax: a row's probabilities stand on the stack.
const mostClasses = 64

// Probabilities writes those of the classes for row i of d, by a model y of Softmax: len(p) classes.
// It panics if len(y) is not len(p)·d.Dim.
func Probabilities(p []float64, d *data.Data, y []float64, i int) {
	if len(y) != len(p)*d.Dim {
		panic("hyperopt: Probabilities: dimension mismatch")
	}
	softmax(p, d, y, i, 0)
}

// softmax is Probabilities, and returns −log p_b.
func softmax(p []float64, d *data.Data, y []float64, i, b int) float64 {
	col, val := d.Row(i)
	most, total := math.Inf(-1), 0.0
	for k := range p {
		p[k] = dot(col, val, y[k*d.Dim:(k+1)*d.Dim])
		most = max(most, p[k])
	}
	behind := most - p[b]
	for k, t := range p {
		p[k] = math.Exp(t - most)
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	return math.Log(total) + behind
}

// softmax writes the probabilities of the classes for row i, and returns its loss.
func (s *sum) softmax(p []float64, i int) float64 {
	return softmax(p, s.data, s.y, i, int(s.data.Label[i]))
}

func (s *sum) terms(firsts []float64, i int) (value float64) {
	if s.loss != Softmax {
		col, val := s.data.Row(i)
		value, firsts[0] = s.loss.valueFirst(dot(col, val, s.y), s.data.Label[i])
		return value
	}
	value = s.softmax(firsts, i)
	firsts[int(s.data.Label[i])]--
	return value
}

// classesRow is row for Softmax, but for the Hessian.
func (s *sum) classesRow(acc []float64, i int) {
	var buffer [mostClasses]float64
	d, w := s.data.Dim, s.weight(i)
	p := buffer[:len(s.y)/d]
	col, val := s.data.Row(i)
	switch s.kind {
	case value:
		acc[0] += w * s.softmax(p, i)
	case gradient:
		s.terms(p, i)
		for k, first := range p {
			axpy(acc[k*d:(k+1)*d], w*first, col, val)
		}
	case hessVec: // p_k(u_k − Σ p_l·u_l), u_k = aᵀv_k
		s.softmax(p, i)
		mean := 0.0
		for k, pk := range p {
			mean += pk * dot(col, val, s.v[k*d:(k+1)*d])
		}
		for k, pk := range p {
			axpy(acc[k*d:(k+1)*d], w*pk*(dot(col, val, s.v[k*d:(k+1)*d])-mean), col, val)
		}
	}
}
