package hyperopt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/option"
	"stable/mat"
)

// lightest is the share of the loss's curvature that penalises a free intercept.
const lightest = 1e-3

// Form says how an entry of x becomes a weight.
type Form int

const (
	Raw Form = iota // reg = x_i, as in eq. (hyer-opt) of the paper; x must stay positive
	Exp             // reg = exp(x_i)/2, any x
)

// Options says which problem New makes. The zero value is the paper's problem on a box.
type Options struct {
	// Loss is Logistic (the default), Squared or Softmax.
	Loss Loss

	// Penalty says what x weighs: PerFeature (the default) or PerRow.
	Penalty Penalty

	// Form is Raw (the default) or Exp; with PerRow it is Raw.
	Form Form

	// PenaliseIntercept makes the last feature one like the others. Default: where it is 1 in every
	// training row (data.WithBias), it is an intercept y_b, with ½c·(y_b − b)² in place of reg·y_b²:
	// b the best constant model, c 1e-3 of the mean ℓ″ there.
	PenaliseIntercept bool

	// Ridge, for PerRow: the fixed weight > 0 of ‖y‖². Default 0.01.
	Ridge float64

	// Lo and Hi bound every x_i: finite, Lo ≤ Hi, Lo > 0 for Raw (PerRow Lo ≥ 0). Default, both
	// zero: 0.01 and 1 (Raw), log(0.02) and log(2) (Exp). The paper has no box; without one, x_i <
	// 0 makes the lower level nonconvex.
	Lo, Hi float64

	// Workers is the number of goroutines that share a sum over all rows, without a change of bits.
	// Default 1: no goroutine, no allocation.
	Workers int
}

// Problem is eq. (hyer-opt): a sample φ is the index of a training row, ξ of a validation row.
type Problem struct {
	train, val *data.Data
	opt        Options
	dx         int
	outputs    int       // predictors of a row: the classes of Softmax, else 1; y holds them one by one
	free       float64   // c of a free intercept; 0: there is none
	base       []float64 // b of it, for each output
	at, reg    []float64 // the last x, and what it adds to g_yy's diagonal for each predictor
	workers    []worker
	total      [1]float64 // of a sum of values
	truth      *truth     // scratch of Solution and Objective, made when first needed
}

var (
	_ bilevel.Problem = (*Problem)(nil)
	_ bilevel.Joint   = (*Problem)(nil)
	_ bilevel.Truth   = (*Problem)(nil)
	_ bilevel.Values  = (*Problem)(nil)

	_ bilevel.UpperGradient  = (*Problem)(nil)
	_ bilevel.StronglyConvex = (*Problem)(nil)
)

// New returns the problem of tuning, on val, a model trained on train. It keeps both unchanged.
//
// Errors: bilevel.ErrOption, wrapped, for an option out of range; data that Data.Check refuses, that are empty or differ in
// dimension (raise Dim of the smaller) or classes; logistic labels other than ±1, or of one class.
func New(train, val *data.Data, opt Options) (*Problem, error) {
	if err := opt.setDefaults(); err != nil {
		return nil, err
	}
	for i, d := range [2]*data.Data{train, val} {
		rows := [2]string{"training", "validation"}[i]
		if d == nil || d.Rows() == 0 {
			return nil, fmt.Errorf("hyperopt: New: no %s rows", rows)
		}
		if err := d.Check(); err != nil {
			return nil, err
		}
		if err := opt.Loss.fits(d, rows); err != nil {
			return nil, err
		}
	}
	if train.Dim != val.Dim || train.Dim == 0 {
		return nil, fmt.Errorf("hyperopt: New: %d features to train on, %d to validate on: want the same "+
			"positive number", train.Dim, val.Dim)
	}
	if train.Classes != nil && val.Classes != nil && !slices.Equal(train.Classes, val.Classes) {
		return nil, fmt.Errorf("hyperopt: New: classes %q in %q, but %q in %q", train.Classes, train.Name, val.Classes, val.Name)
	}
	chunks := 1 + max(train.Rows(), val.Rows())/chunkRows
	p := &Problem{train: train, val: val, opt: opt, outputs: 1, workers: make([]worker, min(opt.Workers, chunks))}
	if opt.Loss == Softmax {
		p.outputs = 1 + int(slices.Max(train.Label))
		if most := slices.Max(val.Label); int(most) >= p.outputs {
			return nil, fmt.Errorf("hyperopt: New: no training row of class %v", most)
		}
	}
	p.base = make([]float64, p.outputs)
	if !opt.PenaliseIntercept {
		p.setIntercept()
	}
	switch p.dx = train.Dim; {
	case opt.Penalty == PerRow:
		p.dx = train.Rows()
	case p.free > 0:
		p.dx--
	}
	if p.dx == 0 {
		return nil, errors.New("hyperopt: New: no feature but the intercept")
	}
	return p, nil
}

func (o *Options) setDefaults() error {
	wrong := func(format string, args ...any) error { return option.Bad("hyperopt: Options."+format, args...) }
	if o.Ridge != 0 && o.Penalty != PerRow {
		return wrong("Ridge: %v is for PerRow", o.Ridge)
	}
	o.Workers, o.Ridge = cmp.Or(o.Workers, 1), cmp.Or(o.Ridge, 0.01)
	if o.Lo == 0 && o.Hi == 0 {
		o.Lo, o.Hi = 0.01, 1
		if o.Form == Exp {
			o.Lo, o.Hi = math.Log(2*0.01), math.Log(2*1)
		}
	}
	rows, hi := o.Penalty == PerRow, o.Hi
	lo := o.Lo > 0
	if o.Form == Exp {
		lo, hi = math.Exp(o.Lo) > 0, math.Exp(o.Hi)
	}
	switch {
	case o.Loss < Logistic || o.Loss > Softmax:
		return wrong("Loss: unknown loss %d", o.Loss)
	case o.Penalty < PerFeature || o.Penalty > PerRow:
		return wrong("Penalty: unknown penalty %d", o.Penalty)
	case o.Form < Raw || o.Form > Exp:
		return wrong("Form: unknown form %d", o.Form)
	case rows && o.Form == Exp:
		return wrong("Form: Exp is for weights of features; PerRow takes Raw")
	case !(o.Ridge > 0) || !mat.IsFinite(o.Ridge):
		return wrong("Ridge: %v, want a finite number > 0", o.Ridge)
	case rows && !(mat.IsFinite(o.Lo) && o.Lo >= 0):
		return wrong("Lo: %v does not give a weight ≥ 0", o.Lo)
	case !rows && !(mat.IsFinite(o.Lo) && lo):
		return wrong("Lo: %v does not give a positive weight", o.Lo)
	case !(o.Hi >= o.Lo) || !mat.IsFinite(o.Hi) || !mat.IsFinite(hi):
		return wrong("Hi: %v is below Lo, or does not give a finite weight", o.Hi)
	case o.Workers < 0:
		return wrong("Workers: %d is negative", o.Workers)
	}
	return nil
}

func (l Loss) fits(d *data.Data, rows string) error {
	if l == Squared {
		return nil
	}
	var seen [mostClasses]bool
	most := 1
	for i, b := range d.Label {
		k := b
		if l == Logistic {
			if b != 1 && b != -1 {
				return fmt.Errorf("hyperopt: data %q, %s row %d: label %v, but the logistic loss needs -1 or 1", d.Name, rows, i, b)
			}
			k = (b + 1) / 2
		} else if !(b >= 0 && b < mostClasses) || b != math.Trunc(b) {
			return fmt.Errorf("hyperopt: data %q, %s row %d: label %v, but softmax needs 0 to %d",
				d.Name, rows, i, b, mostClasses-1)
		}
		seen[int(k)] = true
		most = max(most, int(k))
	}
	switch none := slices.Index(seen[:most+1], false); {
	case none < 0, l == Softmax && rows == "validation":
		return nil
	case l == Softmax:
		return fmt.Errorf("hyperopt: data %q: no training row of class %d", d.Name, none)
	}
	return fmt.Errorf("hyperopt: data %q: all %s rows (%d) are of one class", d.Name, rows, d.Rows())
}

// Clone returns a problem for another goroutine; it shares the data alone.
func (p *Problem) Clone() *Problem {
	q := *p
	q.at, q.reg, q.truth, q.workers = nil, nil, nil, make([]worker, len(p.workers))
	return &q
}

func (p *Problem) Train() *data.Data      { return p.train }
func (p *Problem) Validation() *data.Data { return p.val }
func (p *Problem) Loss() Loss             { return p.opt.Loss }

// Dims returns the numbers of weights (see Penalty and PenaliseIntercept) and of features, the intercept among them.
func (p *Problem) Dims() (dx, dy int) { return p.dx, p.dy() }

func (p *Problem) dy() int { return p.outputs * p.train.Dim }

// Streams returns the number of validation rows and of training rows.
func (p *Problem) Streams() (upper, lower uint64) {
	return uint64(p.val.Rows()), uint64(p.train.Rows())
}

// GradF writes f_x = 0 and f_y = mean of ℓ′(aᵀy)·a over the rows xi. Cost: O(their entries + d).
func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	p.sizes("hyperopt: GradF: dimension mismatch", same(fx, x), same(fy, y))
	clear(fx)
	return p.mean(fy, &sum{kind: gradient, data: p.val, y: y}, xi)
}

// GradG writes g_y = mean of ℓ′(aᵀy)·a over training rows phi + 2·reg(x)∘y. Cost: O(entries + d).
func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradG: dimension mismatch", len(x), same(gy, y))
	if err := p.mean(gy, p.trainSum(&sum{kind: gradient, y: y}, x), phi); err != nil {
		return err
	}
	p.addRidge(gy, x, y)
	for k, b := range p.base {
		gy[(k+1)*p.train.Dim-1] -= float64(p.free * b)
	}
	return nil
}

// CrossG writes g_xy: slope(x_i)·y_i on its diagonal, with slope 2 (Raw) or exp(x_i) (Exp), for
// every sample; with PerRow, ℓ′(aᵀy)·a over the batch's size in row φ. Cost O(dx·dy).
func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: CrossG: dimension mismatch", len(x), len(y))
	p.sizes("hyperopt: CrossG: dimension mismatch", gxy.Rows, gxy.Cols)
	gxy.Zero()
	if p.perRow() {
		return p.crossRows(y, phi, func(row, at int, scale float64, col []int32, val []float64) {
			axpy(gxy.Row(row)[at:at+p.train.Dim], scale, col, val)
		})
	}
	for i, reg := range p.diagonal(x)[:p.dx] {
		for j := i; j < len(y); j += p.train.Dim {
			gxy.Row(i)[j] = p.slope(reg) * y[j]
		}
	}
	_, err := p.count(p.train, phi)
	return err
}

// HessG writes g_yy = mean of ℓ″(aᵀy)·a·aᵀ over the training rows phi, plus 2·diag(reg(x)). Cost:
// O(d² + squared entries of the rows).
func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: HessG: dimension mismatch", len(x), len(y))
	p.sizes("hyperopt: HessG: dimension mismatch", p.dx, gyy.N)
	if err := p.meanLower(gyy, p.trainSum(&sum{kind: hessian, y: y}, x), phi); err != nil {
		return err
	}
	reg := p.diagonal(x)
	for i := range y {
		gyy.Row(i)[i] += reg[i%p.train.Dim]
	}
	return nil
}

// HessVecG writes g_yy·v without forming g_yy. Cost: O(entries of the rows + d).
func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: HessVecG: dimension mismatch", len(x), same(dst, y, v))
	if err := p.mean(dst, p.trainSum(&sum{kind: hessVec, y: y, v: v}, x), phi); err != nil {
		return err
	}
	p.addRidge(dst, x, v)
	return nil
}

// CrossVecG writes g_xy·v, unformed. Cost O(dx + dy), PerRow O(dx + entries of the rows).
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: CrossVecG: dimension mismatch", same(dst, x), same(y, v))
	clear(dst)
	if p.perRow() {
		return p.crossRows(y, phi, func(row, at int, scale float64, col []int32, val []float64) {
			dst[row] += scale * dot(col, val, v[at:at+p.train.Dim])
		})
	}
	reg := p.diagonal(x)[:len(dst)]
	for at := 0; at < len(y); at += p.train.Dim {
		y, v := y[at:][:len(dst)], v[at:][:len(dst)]
		for i, r := range reg {
			dst[i] += float64(p.slope(r) * y[i] * v[i])
		}
	}
	_, err := p.count(p.train, phi)
	return err
}

// ridge returns 2·reg(x_i), the diagonal that regularisation adds to g_yy.
func (p *Problem) ridge(xi float64) float64 {
	if p.opt.Form == Exp {
		return math.Exp(xi)
	}
	return 2 * xi
}

// slope returns the derivative of ridge, where that is reg.
func (p *Problem) slope(reg float64) float64 {
	if p.opt.Form == Exp {
		return reg
	}
	return 2
}

func (p *Problem) mean(dst []float64, s *sum, batch []bilevel.Sample) error {
	n, err := p.count(s.data, batch)
	if err != nil {
		return err
	}
	s.loss = p.opt.Loss
	clear(dst)
	p.add(dst, 0, len(dst), s, batch)
	if n == 1 {
		return nil
	}
	for i := range dst {
		dst[i] /= n
	}
	return nil
}

// meanLower is mean of Hessians, whose blocks are symmetric.
func (p *Problem) meanLower(dst *mat.Sym, s *sum, batch []bilevel.Sample) error {
	n, err := p.count(s.data, batch)
	if err != nil {
		return err
	}
	s.loss = p.opt.Loss
	dst.Zero()
	p.add(dst.Data, dst.Stride, dst.N, s, batch)
	d := p.train.Dim
	for row := range dst.N - d {
		for j := range row % d {
			for at := d * (row / d); at >= 0; at -= d { // blocks left of the diagonal's
				dst.Row(d + row - row%d + j)[at+row%d] = dst.Row(d + row)[at+j]
			}
		}
	}
	mat.ScaleSym(dst, 1/n, dst)
	return nil
}

func (p *Problem) add(acc []float64, stride, n int, s *sum, batch []bilevel.Sample) {
	if len(batch) == 0 {
		addAll(p.workers, acc, stride, n, s)
	}
	for ; len(batch) > 3 && s.full(); batch = batch[4:] {
		s.four(acc, int(batch[0]), int(batch[1]), int(batch[2]), int(batch[3]))
	}
	for _, i := range batch {
		s.row(acc, stride, int(i))
	}
}

func (p *Problem) count(d *data.Data, batch []bilevel.Sample) (float64, error) {
	for _, i := range batch {
		if i >= bilevel.Sample(d.Rows()) {
			return 0, fmt.Errorf("hyperopt: sample %d, but %q has %d rows", i, d.Name, d.Rows())
		}
	}
	if len(batch) == 0 {
		return float64(d.Rows()), nil
	}
	return float64(len(batch)), nil
}

func (p *Problem) sizes(msg string, dx, dy int) {
	if dx != p.dx || dy != p.dy() {
		panic(msg)
	}
}

func same(vs ...[]float64) int {
	for _, v := range vs {
		if len(v) != len(vs[0]) {
			return -1
		}
	}
	return len(vs[0])
}
