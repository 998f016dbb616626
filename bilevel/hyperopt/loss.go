package hyperopt

import (
	"math"
	"slices"

	"stable/bilevel/hyperopt/data"
)

// Loss is the loss of a prediction t = aᵀy for a row a with label b.
type Loss int

const (
	Logistic Loss = iota // log(1 + exp(−b·t)), for labels −1 and +1
	Squared              // ½(t − b)², for real labels: ridge regression

	// Softmax is −log p_b, p_k = exp(t_k)/Σ_l exp(t_l), for labels 0 … K−1, K ≤ 64: t_k = aᵀy_k, and y
	// holds y_0, …, y_{K−1}. A weight x_i is that of feature i for all classes.
	Softmax
)

// first is ℓ′(t); logistic: −b/(1 + exp(b·t)).
func (l Loss) first(t, b float64) float64 {
	if l == Squared {
		return t - b
	}
	return -b / (1 + math.Exp(b*t))
}

// valueFirst is ℓ(t) and ℓ′(t), without overflow.
func (l Loss) valueFirst(t, b float64) (value, first float64) {
	if l == Squared {
		return 0.5 * (t - b) * (t - b), t - b
	}
	m := b * t
	e := math.Exp(-math.Abs(m))
	if m > 0 {
		return math.Log1p(e), -b * e / (1 + e)
	}
	return math.Log1p(e) - m, -b / (1 + e)
}

// second is ℓ″(t), without overflow.
func (l Loss) second(t float64) float64 {
	if l == Squared {
		return 1
	}
	e := math.Exp(-math.Abs(t))
	return e / ((1 + e) * (1 + e))
}

// Mean returns the mean loss of the model y over the rows of d. It panics if len(y) is not d.Dim,
// times the classes with Softmax.
func (l Loss) Mean(d *data.Data, y []float64) float64 {
	if len(y) != d.Dim && (l != Softmax || len(y)%d.Dim != 0) {
		panic("hyperopt: Loss.Mean: dimension mismatch")
	}
	s, total := sum{loss: l, data: d, y: y}, 0.0
	var firsts [mostClasses]float64
	for i := range d.Rows() {
		total += s.terms(firsts[:len(y)/d.Dim], i)
	}
	return total / float64(d.Rows())
}

// Accuracy returns the share of rows of d that y classifies rightly: labels ±1, where +1 is aᵀy > 0,
// or of several classes the one of largest aᵀy_k. It panics if len(y) is not a multiple of d.Dim.
func Accuracy(d *data.Data, y []float64) float64 {
	if len(y) == 0 || d.Dim == 0 || len(y)%d.Dim != 0 {
		panic("hyperopt: Accuracy: dimension mismatch")
	}
	t, right := make([]float64, len(y)/d.Dim), 0
	for i, b := range d.Label {
		scores(t, d, y, i)
		best := slices.Index(t, slices.Max(t))
		if len(t) > 1 && float64(best) == b || len(t) == 1 && (t[0] > 0) == (b > 0) {
			right++
		}
	}
	return float64(right) / float64(d.Rows())
}
