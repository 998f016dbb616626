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
	case p.isFree(i):
		return p.free
	case p.perRow():
		return 2 * p.opt.Ridge
	}
	return p.ridge(x[i%p.train.Dim])
}

// setIntercept notes whether the last feature is an intercept that x does not weigh.
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

// centre returns b where v_i is a free intercept, else 0.
func (p *Problem) centre(i int) float64 {
	if p.isFree(i) {
		return p.base[i/p.train.Dim]
	}
	return 0
}

func (p *Problem) isFree(i int) bool { return p.free > 0 && (i+1)%p.train.Dim == 0 }

// addRidge adds what regularisation adds to g_yy, times v, to dst: diagonal(x, i)·v_i.
func (p *Problem) addRidge(dst, x, v []float64) {
	for i := range dst {
		dst[i] += p.diagonal(x, i) * v[i]
	}
}

// crossRows calls add for each row φ of the batch, or of all, with ℓ′(aᵀy)/n: PerRow's g_xy is this
// times a.
func (p *Problem) crossRows(y []float64, phi []bilevel.Sample,
	add func(row, at int, scale float64, col []int32, val []float64)) {
	n := p.count(p.train, phi)
	s := sum{loss: p.opt.Loss, data: p.train, y: y}
	var firsts [mostClasses]float64
	for i := range bilevel.Each(phi, p.train.Rows()) {
		col, val := p.train.Row(int(i))
		s.terms(firsts[:p.outputs], int(i))
		for k, first := range firsts[:p.outputs] {
			add(int(i), k*p.train.Dim, first/n, col, val)
		}
	}
}

func (p *Problem) crossVec(dst, x, y, v []float64, phi []bilevel.Sample) {
	clear(dst)
	if p.perRow() {
		p.crossRows(y, phi, func(row, at int, scale float64, col []int32, val []float64) {
			dst[row] += scale * dot(col, val, v[at:])
		})
		return
	}
	for i, d := 0, p.train.Dim; i < p.dx; i++ {
		for j := i; j < len(y); j += d {
			dst[i] += y[j] * v[j]
		}
		dst[i] *= p.slope(x[i])
	}
}

// GradXG writes g_x(x, y; φ), of length dx: reg′(x_i)·y_i²; with
// PerRow, ℓ(y; φ) over the batch's size at its rows. Cost O(dx + dy), PerRow O(dx + entries of the
// rows).
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradXG: dimension mismatch", p.dx, gx, x)
	p.sizes("hyperopt: GradXG: dimension mismatch", p.dy(), y)
	if err := p.known(p.train, phi); err != nil {
		return err
	}
	clear(gx)
	if !p.perRow() {
		for i := range gx {
			for j := i; j < len(y); j += p.train.Dim {
				gx[i] += 0.5 * p.slope(x[i]) * y[j] * y[j]
			}
		}
		return nil
	}
	n := p.count(p.train, phi)
	s := sum{loss: p.opt.Loss, data: p.train, y: y}
	var firsts [mostClasses]float64
	for i := range bilevel.Each(phi, p.train.Rows()) {
		gx[i] += s.terms(firsts[:p.outputs], int(i)) / n
	}
	return nil
}

// ValueF returns f(x, y; ξ), the mean loss over the validation rows xi. Cost: O(entries of the
// rows).
func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueF: dimension mismatch", p.dx, x)
	p.sizes("hyperopt: ValueF: dimension mismatch", p.dy(), y)
	return p.meanValue(sum{data: p.val, y: y, flips: p.opt.Flips}, xi)
}

// ValueG returns g(x, y; φ), regularisation included, over the training rows phi. Cost: O(entries
// of the rows + d).
func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	p.sizes("hyperopt: ValueG: dimension mismatch", p.dx, x)
	p.sizes("hyperopt: ValueG: dimension mismatch", p.dy(), y)
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
	if gxy.Rows != p.dx || gxy.Cols != p.dy() {
		panic("hyperopt: CrossG: dimension mismatch")
	}
	gxy.Zero()
}
