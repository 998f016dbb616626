package hyperopt

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

// Penalty says what the entries of x weigh in the lower level.
type Penalty int

const (
	// PerFeature: g = mean ℓ + Σ_i reg(x_i)·y_i², dx the number of features. The default, and the
	// paper's.
	PerFeature Penalty = iota

	// PerRow: g = mean x_φ·ℓ(y; φ) + Ridge·‖y‖², dx the number of training rows: data
	// hyper-cleaning (Franceschi et al., ICML 2017).
	PerRow
)

func (p *Problem) perRow() bool { return p.opt.Penalty == PerRow }

// diagonal returns the entry that regularisation adds to g_yy at feature i.
func (p *Problem) diagonal(x []float64, i int) float64 {
	switch {
	case p.free > 0 && i == p.train.Dim-1:
		return p.free
	case p.perRow():
		return 2 * p.opt.Ridge
	}
	return p.ridge(x[i])
}

// setIntercept notes whether the last feature is an intercept that x does not weigh.
func (p *Problem) setIntercept() {
	last, mean := int32(p.train.Dim-1), 0.0
	for i, b := range p.train.Label {
		col, val := p.train.Row(i)
		if k := len(col) - 1; k < 0 || col[k] != last || val[k] != 1 {
			return
		}
		mean += b / float64(p.train.Rows())
	}
	p.free, p.base = lightest, mean
	if p.opt.Loss == Logistic {
		p.free, p.base = lightest*(1-mean*mean)/4, math.Log((1+mean)/(1-mean))
	}
}

// centre returns b where v_i is a free intercept, else 0.
func (p *Problem) centre(i int) float64 {
	if p.free > 0 && i == p.train.Dim-1 {
		return p.base
	}
	return 0
}

// addRidge adds what regularisation adds to g_yy, times v, to dst: diagonal(x, i)·v_i.
func (p *Problem) addRidge(dst, x, v []float64) {
	for i := range dst {
		dst[i] += p.diagonal(x, i) * v[i]
	}
}

// crossRows calls add for each row φ of the batch, or of all, with ℓ′(aᵀy)/n: PerRow's g_xy is this
// times a.
func (p *Problem) crossRows(x, y []float64, phi []bilevel.Sample,
	add func(row int, scale float64, col []int32, val []float64)) {
	n := p.count(p.train, phi)
	for i := range bilevel.Each(phi, p.train.Rows()) {
		col, val := p.train.Row(int(i))
		first := p.opt.Loss.first(dot(col, val, y), p.train.Label[i])
		add(int(i), first/n, col, val)
	}
}

func (p *Problem) crossVec(dst, x, y, v []float64, phi []bilevel.Sample) {
	clear(dst)
	if p.perRow() {
		p.crossRows(x, y, phi, func(row int, scale float64, col []int32, val []float64) {
			dst[row] += scale * dot(col, val, v)
		})
		return
	}
	for i := range dst {
		dst[i] = p.slope(x[i]) * y[i] * v[i]
	}
}

// GradXG writes g_x(x, y; φ), of length dx: reg′(x_i)·y_i²; with
// PerRow, ℓ(y; φ) over the batch's size at its rows. Cost O(dx + dy), PerRow O(dx + entries of the
// rows).
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradXG: dimension mismatch", p.dx, gx, x)
	p.sizes("hyperopt: GradXG: dimension mismatch", p.train.Dim, y)
	if err := p.known(p.train, phi); err != nil {
		return err
	}
	clear(gx)
	if !p.perRow() {
		for i := range gx {
			gx[i] = 0.5 * p.slope(x[i]) * y[i] * y[i]
		}
		return nil
	}
	n := p.count(p.train, phi)
	for i := range bilevel.Each(phi, p.train.Rows()) {
		col, val := p.train.Row(int(i))
		value, _ := p.opt.Loss.valueFirst(dot(col, val, y), p.train.Label[i])
		gx[i] += value / n
	}
	return nil
}

// ValueF returns f(x, y; ξ), the mean loss over the validation rows xi. Cost: O(entries of the
// rows).
func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueF: dimension mismatch", p.dx, x)
	p.sizes("hyperopt: ValueF: dimension mismatch", p.train.Dim, y)
	return p.meanValue(sum{data: p.val, y: y}, xi)
}

// ValueG returns g(x, y; φ), regularisation included, over the training rows phi. Cost: O(entries
// of the rows + d).
func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueG: dimension mismatch", p.dx, x)
	p.sizes("hyperopt: ValueG: dimension mismatch", p.train.Dim, y)
	value, err := p.meanValue(p.trainSum(sum{y: y}, x), phi)
	for i, yi := range y {
		yi -= p.centre(i)
		value += 0.5 * p.diagonal(x, i) * yi * yi
	}
	return value, err
}

func (p *Problem) meanValue(s sum, batch []bilevel.Sample) (float64, error) {
	if err := p.known(s.data, batch); err != nil {
		return 0, err
	}
	s.kind, s.loss = value, p.opt.Loss
	n := p.count(s.data, batch)
	p.total[0] = 0
	if len(batch) == 0 {
		p.adder.add(p.total[:], 0, 1, s)
	}
	for _, i := range batch {
		s.row(p.total[:], 0, int(i))
	}
	return p.total[0] / n, nil
}

// count adds the rows of the batch, or all, to those read, and returns their number.
func (p *Problem) count(d *data.Data, batch []bilevel.Sample) float64 {
	n := len(batch)
	if n == 0 {
		n = d.Rows()
	}
	p.reads += uint64(n)
	return float64(n)
}

// trainSum makes s a sum over training rows, weighted with PerRow.
func (p *Problem) trainSum(s sum, x []float64) sum {
	s.data = p.train
	if p.perRow() {
		s.x = x
	}
	return s
}

func (p *Problem) clearCross(gxy *mat.Dense) {
	if gxy.Rows != p.dx || gxy.Cols != p.train.Dim {
		panic("hyperopt: CrossG: dimension mismatch")
	}
	gxy.Zero()
}
