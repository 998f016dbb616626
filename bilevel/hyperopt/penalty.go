package hyperopt

import (
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/kernel"
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

// diagonal returns what regularisation adds to the diagonal of g_yy for each predictor, valid until
// the next call; that of the last x is kept.
func (p *Problem) diagonal(x []float64) []float64 {
	if p.reg == nil {
		p.at, p.reg = slices.Repeat([]float64{math.NaN()}, p.dx), slices.Repeat([]float64{2 * p.opt.Ridge}, p.train.Dim)
		if p.free > 0 {
			p.reg[p.train.Dim-1] = p.free
		}
	}
	if p.perRow() {
		return p.reg
	}
	if !slices.Equal(p.at, x) {
		copy(p.at, x)
		if p.opt.Form == Exp {
			kernel.Exp(p.reg[:p.dx], x)
		} else {
			kernel.Scale(p.reg[:p.dx], 2, x)
		}
	}
	return p.reg
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

func (p *Problem) addRidge(dst, x, v []float64) {
	reg := p.diagonal(x)
	for at := 0; at < len(v); at += p.train.Dim {
		dst, v := dst[at:][:len(reg)], v[at:][:len(reg)]
		for i, r := range reg {
			dst[i] += float64(r * v[i])
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
	if err != nil {
		return err
	}
	if !p.perRow() {
		err := p.CrossVecG(gx, x, y, y, phi)
		kernel.Scale(gx, 0.5, gx)
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
	err := p.mean(p.total[:], &sum{kind: value, data: p.val, y: y}, xi)
	return p.total[0], err
}

// ValueG returns g(x, y; φ), penalty included, over training rows phi. Cost: O(entries there + d).
func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueG: dimension mismatch", len(x), len(y))
	err := p.mean(p.total[:], p.trainSum(&sum{kind: value, y: y}, x), phi)
	value, reg := p.total[0], p.diagonal(x)
	for k, b := range p.base {
		for i, yi := range y[k*p.train.Dim : (k+1)*p.train.Dim] {
			if p.free > 0 && i == p.train.Dim-1 {
				yi -= b
			}
			value += 0.5 * reg[i] * yi * yi
		}
	}
	return value, err
}

func (p *Problem) trainSum(s *sum, x []float64) *sum {
	s.data = p.train
	if p.perRow() {
		s.x = x
	}
	return s
}
