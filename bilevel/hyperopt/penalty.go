package hyperopt

import (
	"math"

	"stable/bilevel"
	"stable/mat"
)

// Penalty says what the entries of x weigh in the lower level.
type Penalty int

const (
	// PerFeature: g = mean ℓ + Σ_i reg(x_i)·y_i², dx the number of features: the paper's.
	PerFeature Penalty = iota

	// PerRow: g = mean x_φ·ℓ(y; φ) + Ridge·‖y‖², dx the number of training rows: data
	// hyper-cleaning (Franceschi et al., ICML 2017).
	PerRow
)

func (p *Problem) perRow() bool { return p.opt.Penalty == PerRow }

// diagonal returns the entry that regularisation adds to g_yy at feature i of each predictor.
func (p *Problem) diagonal(x []float64, i int) float64 {
	switch {
	case p.free > 0 && i == p.train.Dim-1:
		return p.free
	case p.perRow():
		return 2 * p.opt.Ridge
	}
	return p.ridge(x[i])
}

func (p *Problem) setIntercept() {
	last, mean, share := int32(p.train.Dim-1), 0.0, make([]float64, p.outputs)
	for i, b := range p.train.Label {
		col, val := p.train.Row(i)
		if k := len(col) - 1; k < 0 || col[k] != last || val[k] != 1 {
			return
		}
		mean += b / float64(p.train.Rows())
		if p.opt.Loss == Softmax {
			share[int(b)] += 1 / float64(p.train.Rows())
		}
	}
	switch p.opt.Loss {
	case Squared:
		p.free, p.base[0] = lightest, mean
	case Logistic:
		p.free, p.base[0] = lightest*(1-mean*mean)/4, math.Log((1+mean)/(1-mean))
	case Softmax:
		p.free = lightest * (1 - mat.Dot(share, share)) / float64(p.outputs)
		for k, s := range share {
			p.base[k] = math.Log(s)
		}
	}
}

// addRidge adds what regularisation adds to g_yy, times v, to dst.
func (p *Problem) addRidge(dst, x, v []float64) {
	for at := 0; at < len(v); at += p.train.Dim {
		for i := range p.train.Dim {
			dst[at+i] += p.diagonal(x, i) * v[at+i]
		}
	}
}

// crossRows calls add with ∂ℓ/∂t_k/n for each row φ of the batch, or of all, and predictor t_k, whose
// coefficients begin at y[at]: PerRow's g_xy is this times a.
func (p *Problem) crossRows(y []float64, phi []bilevel.Sample,
	add func(row, at int, scale float64, col []int32, val []float64)) error {
	n, err := p.count(p.train, phi)
	if err != nil {
		return err
	}
	s := sum{loss: p.opt.Loss, data: p.train, y: y}
	var firsts [mostClasses]float64
	for i := range bilevel.Each(phi, p.train.Rows()) {
		col, val := p.train.Row(int(i))
		s.terms(firsts[:p.outputs], int(i))
		for k, first := range firsts[:p.outputs] {
			add(int(i), k*p.train.Dim, first/n, col, val)
		}
	}
	return nil
}

// GradXG writes g_x(x, y; φ), of length dx: reg′(x_i)·y_i²; with PerRow, ℓ(y; φ) over the batch's size
// at its rows. Cost O(dx + dy), PerRow O(dx + entries of the rows).
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradXG: dimension mismatch", same(gx, x), len(y))
	n, err := p.count(p.train, phi)
	clear(gx)
	if err != nil || !p.perRow() {
		for i := range gx {
			for j := i; j < len(y); j += p.train.Dim {
				gx[i] += 0.5 * p.slope(x[i]) * y[j] * y[j]
			}
		}
		return err
	}
	s := sum{loss: p.opt.Loss, data: p.train, y: y}
	var firsts [mostClasses]float64
	for i := range bilevel.Each(phi, p.train.Rows()) {
		gx[i] += s.terms(firsts[:p.outputs], int(i)) / n
	}
	return nil
}

// ValueF returns f(x, y; ξ), the mean loss over the validation rows xi. Cost: O(entries of the rows).
func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueF: dimension mismatch", len(x), len(y))
	err := p.mean(p.total[:], sum{kind: value, data: p.val, y: y, flips: p.opt.Flips}, xi)
	return p.total[0], err
}

// ValueG returns g(x, y; φ), regularisation included, over the training rows phi. Cost: O(entries of
// the rows + d).
func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueG: dimension mismatch", len(x), len(y))
	err := p.mean(p.total[:], p.trainSum(sum{kind: value, y: y}, x), phi)
	value := p.total[0]
	for k, b := range p.base {
		for i, yi := range y[k*p.train.Dim : (k+1)*p.train.Dim] {
			if p.free > 0 && i == p.train.Dim-1 {
				yi -= b
			}
			value += 0.5 * p.diagonal(x, i) * yi * yi
		}
	}
	return value, err
}

func (p *Problem) trainSum(s sum, x []float64) sum {
	s.data = p.train
	if p.perRow() {
		s.x = x
	}
	return s
}
