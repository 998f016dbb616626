package hyperopt

import "math"

// Loss is the loss of a prediction t = aᵀy for a row a with label b.
type Loss int

const (
	Logistic Loss = iota // log(1 + exp(−b·t)), for labels −1 and +1
	Squared              // ½(t − b)², for real labels: ridge regression
	Poisson              // exp(t) − b·t + b·log b − b, half the deviance, for counts b ≥ 0

	// Huber is √(1 + (t − b)²) − 1, for real labels with outliers: the smooth form of Huber's loss
	// (Charbonnier et al., IEEE Trans. Image Process. 6, 1997), because the lower level needs a
	// Lipschitz second derivative. Errors above about 1 count linearly; scale the labels
	// accordingly.
	Huber
)

// first returns the derivative of the loss by t; the logistic one is −b/(1 + exp(b·t)).
func (l Loss) first(t, b float64) float64 {
	switch l {
	case Squared:
		return t - b
	case Poisson:
		return math.Exp(t) - b
	case Huber:
		return (t - b) / math.Hypot(1, t-b)
	}
	return -b / (1 + math.Exp(b*t))
}

// valueFirst returns the loss and its derivative by t. The logistic one is log(1 + e) + max(−bt, 0)
// with e = exp(−|bt|); Huber's is r²/(1 + √(1 + r²)), which does not cancel.
func (l Loss) valueFirst(t, b float64) (value, first float64) {
	switch l {
	case Squared:
		return 0.5 * (t - b) * (t - b), t - b
	case Poisson:
		e := math.Exp(t)
		if b == 0 {
			return e, e
		}
		return e - b*t + b*math.Log(b) - b, e - b
	case Huber:
		r := t - b
		root := math.Hypot(1, r)
		return r / (1 + root) * r, r / root
	}
	m := b * t
	e := math.Exp(-math.Abs(m))
	if m > 0 {
		return math.Log1p(e), -b * e / (1 + e)
	}
	return math.Log1p(e) - m, -b / (1 + e)
}

// second returns the second derivative by t. With e = exp(−|t|) the logistic one, σ(t)·σ(−t), is
// e/(1+e)²; Huber's is (1 + (t−b)²)^(−3/2).
func (l Loss) second(t, b float64) float64 {
	switch l {
	case Squared:
		return 1
	case Poisson:
		return math.Exp(t)
	case Huber:
		root := math.Hypot(1, t-b)
		return 1 / root / root / root
	}
	e := math.Exp(-math.Abs(t))
	return e / ((1 + e) * (1 + e))
}

// third returns the third derivative by t. The logistic one is σ(t)σ(−t)(1 − 2σ(t)) =
// −sign(t)·e(1−e)/(1+e)³, Huber's −3(t−b)·(1 + (t−b)²)^(−5/2).
func (l Loss) third(t, b float64) float64 {
	switch l {
	case Squared:
		return 0
	case Poisson:
		return math.Exp(t)
	case Huber:
		root := math.Hypot(1, t-b)
		return -3 * ((t - b) / root) / root / root / root / root
	}
	e := math.Exp(-math.Abs(t))
	return math.Copysign(e*(1-e)/((1+e)*(1+e)*(1+e)), -t)
}

// curvature returns the largest second derivative.
func (l Loss) curvature() float64 {
	switch l {
	case Squared, Huber:
		return 1
	case Poisson:
		return math.Inf(1)
	}
	return 0.25
}

// steepness returns the largest first derivative.
func (l Loss) steepness() float64 {
	if l == Squared || l == Poisson {
		return math.Inf(1)
	}
	return 1
}

// Mean returns the mean loss of the model y over the rows of d, without regularisation. It panics
// if len(y) is not d.Dim.
func (l Loss) Mean(d *Data, y []float64) float64 {
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

// Accuracy returns the share of the rows of d, with labels −1 and +1, that the model y classifies
// rightly: +1 if aᵀy > 0, else −1. It panics if len(y) is not d.Dim.
func Accuracy(d *Data, y []float64) float64 {
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
