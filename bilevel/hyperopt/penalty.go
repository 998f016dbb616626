package hyperopt

import (
	"fmt"

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

	// PerGroup: g = mean ℓ + Σ_i reg(x_{G(i)})·y_i², with G in Options.Groups, dx the number of
	// groups.
	PerGroup

	// OneWeight: g = mean ℓ + reg(x_0)·‖y‖², dx = 1.
	OneWeight

	// PerRow: g = mean x_φ·ℓ(y; φ) + Ridge·‖y‖², dx the number of training rows: data
	// hyper-cleaning (Franceschi et al., ICML 2017).
	PerRow
)

// setPenalty refuses penalties that do not fit the data and notes each feature's weight.
func (p *Problem) setPenalty() error {
	o, d := &p.opt, p.train.Dim
	if o.Groups != nil && o.Penalty != PerGroup {
		return fmt.Errorf("hyperopt: Options.Groups: set, but Options.Penalty is not PerGroup")
	}
	switch o.Penalty {
	case PerFeature:
		p.dx, p.of = d, make([]int, d)
		for i := range p.of {
			p.of[i] = i
		}
	case OneWeight:
		p.dx, p.of = 1, make([]int, d)
	case PerGroup:
		return p.setGroups()
	case PerRow:
		p.dx = p.train.Rows()
	}
	return nil
}

func (p *Problem) setGroups() error {
	groups, d := p.opt.Groups, p.train.Dim
	if len(groups) != d {
		return fmt.Errorf("hyperopt: Options.Groups: %d entries for %d features", len(groups), d)
	}
	seen := make([]bool, d)
	for i, k := range groups {
		if k < 0 || k >= d {
			return fmt.Errorf("hyperopt: Options.Groups: entry %d is %d, want 0 … %d", i, k, d-1)
		}
		seen[k], p.dx = true, max(p.dx, k+1)
	}
	for k := range p.dx {
		if !seen[k] {
			return fmt.Errorf("hyperopt: Options.Groups: no feature is in group %d of %d", k, p.dx)
		}
	}
	p.of = append([]int(nil), groups...)
	return nil
}

// diagonal returns the entry that regularisation adds to g_yy at feature i.
func (p *Problem) diagonal(x []float64, i int) float64 {
	if p.of == nil {
		return 2 * p.opt.Ridge
	}
	return p.ridge(x[p.of[i]])
}

// addRidge adds what regularisation adds to g_yy, times v, to dst: diagonal(x, i)·v_i.
func (p *Problem) addRidge(dst, x, v []float64) {
	v = v[:len(dst)]
	if p.of == nil {
		for i := range dst {
			dst[i] += 2 * p.opt.Ridge * v[i]
		}
		return
	}
	for i, k := range p.of[:len(dst)] {
		dst[i] += p.ridge(x[k]) * v[i]
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
	if p.of == nil {
		p.crossRows(x, y, phi, func(row int, scale float64, col []int32, val []float64) {
			dst[row] += scale * dot(col, val, v)
		})
		return
	}
	for i, k := range p.of {
		dst[k] += p.slope(x[k]) * y[i] * v[i]
	}
}

// GradXG writes g_x(x, y; φ), of length dx: reg′(x_k)·Σ y_i² over the features of weight k; with
// PerRow, ℓ(y; φ) over the batch's size at its rows. Cost O(dx + dy), PerRow O(dx + entries of the
// rows).
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradXG: dimension mismatch", p.dx, gx, x)
	p.sizes("hyperopt: GradXG: dimension mismatch", p.train.Dim, y)
	if err := p.known(p.train, phi); err != nil {
		return err
	}
	clear(gx)
	if p.of != nil {
		for i, k := range p.of {
			gx[k] += 0.5 * p.slope(x[k]) * y[i] * y[i]
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
		value += 0.5 * p.diagonal(x, i) * yi * yi
	}
	return value, err
}

func (p *Problem) meanValue(s sum, batch []bilevel.Sample) (float64, error) {
	if err := p.known(s.data, batch); err != nil {
		return 0, err
	}
	n := p.count(s.data, batch)
	s.loss = p.opt.Loss
	total := 0.0
	for i := range bilevel.Each(batch, s.data.Rows()) {
		col, val := s.data.Row(int(i))
		value, _ := s.loss.valueFirst(dot(col, val, s.y), s.data.Label[i])
		total += s.weight(int(i)) * value
	}
	return total / n, nil
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
	if p.of == nil {
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
