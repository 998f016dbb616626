package hyperopt

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/mat"
)

// Form is the way in which x regularises: the lower level adds Σ reg_i(x)·y_i² to the mean loss.
type Form int

const (
	Raw Form = iota // reg_i = x_i, as in eq. (hyer-opt) of the paper; x must stay positive
	Exp             // reg_i = exp(x_i)/2, any x
)

// Options says which problem New makes of the data. The zero value is that of the paper on a box.
type Options struct {
	// Loss is Logistic (the default) or Squared.
	Loss Loss

	// Form is Raw (the default) or Exp.
	Form Form

	// Lo and Hi bound every x_i. Both zero, the default: Raw 0.01 and 1, Exp the same weights,
	// log(0.02) and log(2). Finite, Lo ≤ Hi, and Lo > 0 for Raw. The paper has no box; without one,
	// a negative x_i makes the lower level nonconvex, and 0 leaves it without a modulus.
	Lo, Hi float64

	// Workers is the number of goroutines that share a sum over all rows. It does not change the
	// bits. Default 1: no goroutine, and no allocation.
	Workers int
}

// Problem is eq. (hyer-opt) on two data sets. A sample φ names a training row, a sample ξ a
// validation row. See the package comment.
type Problem struct {
	train, val *Data
	opt        Options
	adder      adder
	truth      *truth // scratch of Solution and Objective, made when first needed
	reads      uint64
}

var (
	_ bilevel.Problem  = (*Problem)(nil)
	_ bilevel.Products = (*Problem)(nil)
	_ bilevel.Truth    = (*Problem)(nil)
)

// New returns the problem of tuning on val what is trained on train. It keeps both, and does not
// change them.
//
// Errors: an option out of range; data that Data.Check refuses, without rows or features, of
// different dimensions (Dim of the smaller may be raised) or of different classes; for the logistic
// loss, labels other than −1 and +1, or one class only.
func New(train, val *Data, opt Options) (*Problem, error) {
	if err := opt.setDefaults(); err != nil {
		return nil, err
	}
	for _, d := range []*Data{train, val} {
		if d == nil || d.Rows() == 0 {
			return nil, errors.New("hyperopt: New: no rows")
		}
		if err := d.Check(); err != nil {
			return nil, err
		}
		if err := d.fits(opt.Loss); err != nil {
			return nil, err
		}
	}
	if train.Dim != val.Dim || train.Dim == 0 {
		return nil, fmt.Errorf("hyperopt: New: %d features to train on, %d to validate on: want the same positive number", train.Dim, val.Dim)
	}
	if none := [2]string{}; train.Classes != val.Classes && train.Classes != none && val.Classes != none {
		return nil, fmt.Errorf("hyperopt: New: classes %q in %q, but %q in %q", train.Classes, train.Name, val.Classes, val.Name)
	}
	return &Problem{train: train, val: val, opt: opt, adder: adder{workers: opt.Workers}}, nil
}

func (o *Options) setDefaults() error {
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Lo == 0 && o.Hi == 0 {
		o.Lo, o.Hi = 0.01, 1
		if o.Form == Exp {
			o.Lo, o.Hi = math.Log(2*o.Lo), math.Log(2*o.Hi)
		}
	}
	switch {
	case o.Loss != Logistic && o.Loss != Squared:
		return fmt.Errorf("hyperopt: Options.Loss: unknown loss %d", o.Loss)
	case o.Form != Raw && o.Form != Exp:
		return fmt.Errorf("hyperopt: Options.Form: unknown form %d", o.Form)
	case !finite(o.Lo) || o.Form == Raw && !(o.Lo > 0) || o.Form == Exp && !(math.Exp(o.Lo) > 0):
		return fmt.Errorf("hyperopt: Options.Lo: %v does not make a positive weight", o.Lo)
	case !(o.Hi >= o.Lo) || !finite(o.Hi) || o.Form == Exp && !finite(math.Exp(o.Hi)):
		return fmt.Errorf("hyperopt: Options.Hi: %v is below Lo or makes no finite weight", o.Hi)
	case o.Workers < 0:
		return fmt.Errorf("hyperopt: Options.Workers: %d is negative", o.Workers)
	}
	return nil
}

// fits returns an error if the labels of d do not suit the loss.
func (d *Data) fits(l Loss) error {
	if l != Logistic {
		return nil
	}
	var seen [2]bool
	for i, b := range d.Label {
		if b != 1 && b != -1 {
			return fmt.Errorf("hyperopt: data %q, row %d: label %v, but the logistic loss needs -1 or 1", d.Name, i, b)
		}
		seen[int(b+1)/2] = true
	}
	if !seen[0] || !seen[1] {
		return fmt.Errorf("hyperopt: data %q: all %d rows are of one class", d.Name, d.Rows())
	}
	return nil
}

// Clone returns a problem for another goroutine: it shares the data and nothing else.
func (p *Problem) Clone() *Problem {
	return &Problem{train: p.train, val: p.val, opt: p.opt, adder: adder{workers: p.opt.Workers}}
}

// Train returns the training rows.
func (p *Problem) Train() *Data { return p.train }

// Validation returns the validation rows.
func (p *Problem) Validation() *Data { return p.val }

// Reads returns the number of rows that the sums of p have gone over since New or Clone: what a
// stochastic method and an exact one have in common as a measure of cost. A batch counts with its
// size, and CrossG, which is the same for every sample, with nothing.
func (p *Problem) Reads() uint64 { return p.reads }

// Loss returns the loss of both levels.
func (p *Problem) Loss() Loss { return p.opt.Loss }

// Dims returns d, d for d features.
func (p *Problem) Dims() (dx, dy int) { return p.train.Dim, p.train.Dim }

// Streams returns the number of validation rows and of training rows.
func (p *Problem) Streams() (upper, lower uint64) {
	return uint64(p.val.Rows()), uint64(p.train.Rows())
}

// GradF writes f_x = 0 and f_y = mean of ℓ′(aᵀy)·a over the validation rows xi. Cost: O(entries of
// the rows + d).
func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	p.sizes("hyperopt: GradF: dimension mismatch", fx, fy, x, y)
	clear(fx)
	return p.meanVector(fy, sum{kind: gradient, data: p.val, y: y}, xi)
}

// GradG writes g_y = mean of ℓ′(aᵀy)·a over the training rows phi, plus 2·reg(x)∘y. Cost: O(entries
// of the rows + d).
func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: GradG: dimension mismatch", gy, x, y)
	if err := p.meanVector(gy, sum{kind: gradient, data: p.train, y: y}, phi); err != nil {
		return err
	}
	for i := range gy {
		gy[i] += p.ridge(x[i]) * y[i]
	}
	return nil
}

// CrossG writes g_xy, which is diagonal and the same for every sample: 2·y_i (Raw) or exp(x_i)·y_i
// (Exp). Cost: O(d²), to clear it.
func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: CrossG: dimension mismatch", x, y)
	if gxy.Rows != len(x) || gxy.Cols != len(y) {
		panic("hyperopt: CrossG: dimension mismatch")
	}
	if err := p.known(p.train, phi); err != nil {
		return err
	}
	gxy.Zero()
	for i, yi := range y {
		gxy.Row(i)[i] = p.slope(x[i]) * yi
	}
	return nil
}

// HessG writes g_yy = mean of ℓ″(aᵀy)·a·aᵀ over the training rows phi, plus 2·diag(reg(x)). Cost:
// O(d² + squared entries of the rows).
func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: HessG: dimension mismatch", x, y)
	if gyy.N != len(y) {
		panic("hyperopt: HessG: dimension mismatch")
	}
	if err := p.meanLower(gyy, sum{kind: hessian, data: p.train, y: y}, phi); err != nil {
		return err
	}
	for i := range y {
		gyy.Row(i)[i] += p.ridge(x[i])
	}
	return nil
}

// HessVecG writes g_yy·v without forming g_yy. Cost: O(entries of the rows + d).
func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: HessVecG: dimension mismatch", dst, x, y, v)
	if err := p.meanVector(dst, sum{kind: hessVec, data: p.train, y: y, v: v}, phi); err != nil {
		return err
	}
	for i := range dst {
		dst[i] += p.ridge(x[i]) * v[i]
	}
	return nil
}

// CrossVecG writes g_xy·v without forming g_xy. Cost: O(d).
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("hyperopt: CrossVecG: dimension mismatch", dst, x, y, v)
	if err := p.known(p.train, phi); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = p.slope(x[i]) * y[i] * v[i]
	}
	return nil
}

// ridge returns 2·reg(x_i), the diagonal that regularisation adds to g_yy.
func (p *Problem) ridge(xi float64) float64 {
	if p.opt.Form == Exp {
		return math.Exp(xi)
	}
	return 2 * xi
}

// slope returns the derivative of ridge.
func (p *Problem) slope(xi float64) float64 {
	if p.opt.Form == Exp {
		return math.Exp(xi)
	}
	return 2
}

// bend returns the second derivative of ridge.
func (p *Problem) bend(xi float64) float64 {
	if p.opt.Form == Exp {
		return math.Exp(xi)
	}
	return 0
}

// meanVector sets dst to the mean of s over the batch, or over all rows if it is empty.
func (p *Problem) meanVector(dst []float64, s sum, batch []bilevel.Sample) error {
	if err := p.known(s.data, batch); err != nil {
		return err
	}
	s.loss = p.opt.Loss
	clear(dst)
	n := len(batch)
	if n == 0 {
		n = s.data.Rows()
		p.adder.add(dst, 0, len(dst), s)
	}
	p.reads += uint64(n)
	for _, i := range batch {
		s.row(dst, 0, int(i))
	}
	for i := range dst {
		dst[i] /= float64(n)
	}
	return nil
}

// meanLower is meanVector for a symmetric matrix.
func (p *Problem) meanLower(dst *mat.Sym, s sum, batch []bilevel.Sample) error {
	if err := p.known(s.data, batch); err != nil {
		return err
	}
	s.loss = p.opt.Loss
	dst.Zero()
	n := len(batch)
	if n == 0 {
		n = s.data.Rows()
		p.adder.add(dst.Data, dst.Stride, dst.N, s)
	}
	p.reads += uint64(n)
	for _, i := range batch {
		s.row(dst.Data, dst.Stride, int(i))
	}
	mat.ScaleSym(dst, 1/float64(n), dst)
	return nil
}

// known returns an error if a sample is not the index of a row.
func (p *Problem) known(d *Data, batch []bilevel.Sample) error {
	for _, i := range batch {
		if i >= bilevel.Sample(d.Rows()) {
			return fmt.Errorf("hyperopt: sample %d, but %q has %d rows", i, d.Name, d.Rows())
		}
	}
	return nil
}

// sizes panics unless every vector is of length d.
func (p *Problem) sizes(msg string, vs ...[]float64) {
	for _, v := range vs {
		if len(v) != p.train.Dim {
			panic(msg)
		}
	}
}
