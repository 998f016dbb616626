package hyperopt

import (
	"math"

	"stable/bilevel/hyperopt/data"
)

// Loss is the loss of a prediction t = aᵀy for a row a with label b.
type Loss int

const (
	Logistic Loss = iota // log(1 + exp(−b·t)), for labels −1 and +1
	Squared              // ½(t − b)², for real labels: ridge regression
)

// first is ℓ′(t); logistic: −b/(1 + exp(b·t)).
func (l Loss) first(t, b float64) float64 {
	if l == Squared {
		return t - b
	}
	return -b / (1 + math.Exp(b*t))
}

// valueFirst is ℓ(t) and ℓ′(t); logistic: log(1 + e) + max(−bt, 0) with e = exp(−|bt|).
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

// second is ℓ″(t); logistic: σ(t)·σ(−t) = e/(1+e)² with e = exp(−|t|).
func (l Loss) second(t float64) float64 {
	if l == Squared {
		return 1
	}
	e := math.Exp(-math.Abs(t))
	return e / ((1 + e) * (1 + e))
}

func (l Loss) curvature() float64 {
	if l == Squared {
		return 1
	}
	return 0.25
}

func (l Loss) steepness() float64 {
	if l == Squared {
		return math.Inf(1)
	}
	return 1
}

// Mean returns the mean loss of the model y over the rows of d. It panics if len(y) is not d.Dim.
func (l Loss) Mean(d *data.Data, y []float64) float64 {
	if len(y) != d.Dim {
		panic("hyperopt: Loss.Mean: dimension mismatch")
	}
	sum := 0.0
	for i, b := range d.Label {
		col, val := d.Row(i)
		v, _ := l.valueFirst(dot(col, val, y), b)
		sum += v
	}
	return sum / float64(d.Rows())
}

// Accuracy returns the share of rows of d, labelled ±1, that y classifies rightly: +1 if aᵀy > 0,
// else −1. It panics if len(y) is not d.Dim.
func Accuracy(d *data.Data, y []float64) float64 {
	if len(y) != d.Dim {
		panic("hyperopt: Accuracy: dimension mismatch")
	}
	right := 0
	for i, b := range d.Label {
		col, val := d.Row(i)
		if (dot(col, val, y) > 0) == (b > 0) {
			right++
		}
	}
	return float64(right) / float64(d.Rows())
}
