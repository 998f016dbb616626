package auto

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/mat"
)

// Losses describes a problem by its two losses, each for one sample.
type Losses struct {
	// Dx and Dy are the lengths of x and y, ≥ 1.
	Dx, Dy int

	// Upper and Lower are the numbers of samples ξ and φ, which are then 0 … n−1. Zero, the
	// default: an unbounded simulator, whose samples are seeds of 64 bits, not indices.
	Upper, Lower uint64

	// F and G return f(x, y; ξ) and g(x, y; φ). Required. They must be functions of their arguments
	// alone, keep nothing recorded, and start no goroutines.
	F, G func(x, y Vec, s bilevel.Sample) Num

	// MeanF and MeanG return the expectations of f and g, where a simulator knows them or a finite
	// sum has a shorter way. Without them a finite sum evaluates all its terms, and a simulator has
	// no exact value.
	MeanF, MeanG func(x, y Vec) Num

	// Modulus promises an s with g_yy(x, y; φ) ⪰ s·I for every y and every sample, as a penalty
	// ½s‖y‖² does (bilevel.StronglyConvex says what for). Nil, the default, promises nothing.
	// check.Problem tests it.
	Modulus func(x []float64) float64
}

// Problem is the bilevel.Problem of two losses. It has scratch memory: see Clone.
type Problem struct {
	losses Losses
	f, g   loss
	tape   tape
	sum    terms
}

var (
	_ bilevel.Problem        = (*Problem)(nil)
	_ bilevel.Products       = (*Problem)(nil)
	_ bilevel.Values         = (*Problem)(nil)
	_ bilevel.UpperGradient  = (*Problem)(nil)
	_ bilevel.StronglyConvex = (*Problem)(nil)
)

// New returns the problem of l. Errors wrap bilevel.ErrOption and name the field: a length below 1,
// a missing loss.
func New(l Losses) (*Problem, error) {
	switch {
	case l.Dx < 1:
		return nil, fmt.Errorf("%w: auto: Losses.Dx is %d, want ≥ 1", bilevel.ErrOption, l.Dx)
	case l.Dy < 1:
		return nil, fmt.Errorf("%w: auto: Losses.Dy is %d, want ≥ 1", bilevel.ErrOption, l.Dy)
	case l.F == nil:
		return nil, fmt.Errorf("%w: auto: Losses.F is nil", bilevel.ErrOption)
	case l.G == nil:
		return nil, fmt.Errorf("%w: auto: Losses.G is nil", bilevel.ErrOption)
	}
	return &Problem{losses: l, f: loss{"f", l.F, l.MeanF}, g: loss{"g", l.G, l.MeanG}}, nil
}

// Clone returns a problem for another goroutine. Only the losses are shared: they must be safe for
// concurrent use.
func (p *Problem) Clone() *Problem { return &Problem{losses: p.losses, f: p.f, g: p.g} }

func (p *Problem) Dims() (dx, dy int) { return p.losses.Dx, p.losses.Dy }

// Streams returns Losses.Upper and Losses.Lower.
func (p *Problem) Streams() (upper, lower uint64) { return p.losses.Upper, p.losses.Lower }

// ConvexityAt returns Losses.Modulus at x, −Inf where that is nil.
func (p *Problem) ConvexityAt(x []float64) float64 {
	if p.losses.Modulus == nil {
		return math.Inf(-1)
	}
	return p.losses.Modulus(x)
}

func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.value("ValueF", &p.f, x, y, p.losses.Upper, xi)
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return p.value("ValueG", &p.g, x, y, p.losses.Lower, phi)
}

func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	p.sizes("GradF", x, y)
	p.length("GradF", fx, p.losses.Dx)
	p.length("GradF", fy, p.losses.Dy)
	return p.gradient(&p.f, &gradXY, fx, fy, x, y, p.losses.Upper, xi)
}

func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("GradG", x, y)
	p.length("GradG", gy, p.losses.Dy)
	return p.gradient(&p.g, &gradY, nil, gy, x, y, p.losses.Lower, phi)
}

func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("GradXG", x, y)
	p.length("GradXG", gx, p.losses.Dx)
	return p.gradient(&p.g, &gradX, gx, nil, x, y, p.losses.Lower, phi)
}

func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("HessVecG", x, y)
	p.length("HessVecG", dst, p.losses.Dy)
	p.length("HessVecG", v, p.losses.Dy)
	return p.product(dst, leafY, &hessVec, x, y, v, phi)
}

// CrossVecG writes g_xy·v, at the cost of HessVecG.
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("CrossVecG", x, y)
	p.length("CrossVecG", dst, p.losses.Dx)
	p.length("CrossVecG", v, p.losses.Dy)
	return p.product(dst, leafX, &crossVec, x, y, v, phi)
}

func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("HessG", x, y)
	if gyy.N != p.losses.Dy {
		panic("auto: HessG: dimension mismatch")
	}
	gyy.Zero()
	return p.matrix(gyy, nil, &hess, x, y, phi)
}

func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("CrossG", x, y)
	if gxy.Rows != p.losses.Dx || gxy.Cols != p.losses.Dy {
		panic("auto: CrossG: dimension mismatch")
	}
	gxy.Zero()
	return p.matrix(nil, gxy, &cross, x, y, phi)
}

// matrix adds second derivatives to gyy or to gxy; the other is nil.
func (p *Problem) matrix(gyy *mat.Sym, gxy *mat.Dense, m *mode, x, y []float64, batch []bilevel.Sample) error {
	t := &p.tape
	if err := p.terms(&p.g, p.losses.Lower, batch); err != nil {
		return err
	}
	for k := range p.sum.n {
		t.begin(x, y, m)
		id, err := t.record(&p.g, p.sum.at(k), p.sum.mean)
		if err != nil {
			return t.explain(err, &p.g, p.sum.at(k), p.sum.mean)
		}
		t.addSecond(gyy, gxy, id, p.sum.weight)
	}
	return nil
}

func (p *Problem) value(name string, l *loss, x, y []float64, size uint64, batch []bilevel.Sample) (float64, error) {
	p.sizes(name, x, y)
	t, sum := &p.tape, 0.0
	if err := p.terms(l, size, batch); err != nil {
		return 0, err
	}
	for k := range p.sum.n {
		t.begin(x, y, &values)
		id, err := t.record(l, p.sum.at(k), p.sum.mean)
		if err != nil {
			return 0, t.explain(err, l, p.sum.at(k), p.sum.mean)
		}
		sum += p.sum.weight * t.nodes[id].val
	}
	return sum, nil
}

// gradient writes the gradient in x and in y, of which nil is left out.
func (p *Problem) gradient(l *loss, m *mode, gx, gy, x, y []float64, size uint64, batch []bilevel.Sample) error {
	clear(gx)
	clear(gy)
	t := &p.tape
	if err := p.terms(l, size, batch); err != nil {
		return err
	}
	for k := range p.sum.n {
		t.begin(x, y, m)
		t.vecs[leafX].adj, t.vecs[leafY].adj = gx, gy
		id, err := t.record(l, p.sum.at(k), p.sum.mean)
		if err != nil {
			return t.explain(err, l, p.sum.at(k), p.sum.mean)
		}
		if id != 0 {
			t.nodes[id].adj = p.sum.weight
			t.reverse(id)
		}
	}
	return nil
}

// product writes the derivative, along v in y, of the gradient in one leaf.
func (p *Problem) product(dst []float64, leaf int, m *mode, x, y, v []float64, batch []bilevel.Sample) error {
	clear(dst)
	t := &p.tape
	if err := p.terms(&p.g, p.losses.Lower, batch); err != nil {
		return err
	}
	t.weight = p.sum.weight
	for k := range p.sum.n {
		t.begin(x, y, m)
		t.vecs[leafY].tan, t.vecs[leaf].adjt = v, dst
		id, err := t.record(&p.g, p.sum.at(k), p.sum.mean)
		if err != nil {
			return t.explain(err, &p.g, p.sum.at(k), p.sum.mean)
		}
		if t.nodes[id].flags&live != 0 {
			t.follow(id)
		}
	}
	if !finite(dst) {
		return p.firstNonFinite()
	}
	return nil
}

// firstNonFinite names the operation that made a product not finite, evaluating all; nil if none
// did, as where v is not finite.
func (p *Problem) firstNonFinite() error {
	for k := range p.sum.n {
		if err := p.tape.recordEager(&p.g, p.sum.at(k), p.sum.mean); err != nil {
			return err
		}
	}
	return nil
}

// terms are the samples, or the mean of a loss, that an oracle sums with weights.
type terms struct {
	n      int
	mean   bool
	batch  []bilevel.Sample // nil for all
	weight float64
}

func (t *terms) at(k int) bilevel.Sample {
	if t.batch == nil {
		return bilevel.Sample(k)
	}
	return t.batch[k]
}

// terms sets p.sum to the samples of a batch, or for the exact value to the loss's mean or all
// terms of a finite sum; to nothing where it fails.
func (p *Problem) terms(l *loss, size uint64, batch []bilevel.Sample) error {
	if p.tape.running {
		return errNested
	}
	sum := &p.sum
	sum.n, sum.mean, sum.batch, sum.weight = len(batch), false, batch, 1
	switch {
	case len(batch) > 0:
		for _, s := range batch {
			if size > 0 && uint64(s) >= size {
				sum.n = 0
				return fmt.Errorf("auto: %s: sample %d, but there are %d", l.name, s, size)
			}
		}
	case l.mean != nil:
		sum.n, sum.mean, sum.batch = 1, true, nil
	case size == 0:
		return bilevel.ErrNoExact
	default:
		sum.n, sum.batch = int(size), nil
	}
	if sum.n > 1 {
		sum.weight = 1 / float64(sum.n)
	}
	return nil
}

func (p *Problem) sizes(name string, x, y []float64) {
	p.length(name, x, p.losses.Dx)
	p.length(name, y, p.losses.Dy)
}

func (p *Problem) length(name string, v []float64, n int) {
	if len(v) != n {
		panic("auto: " + name + ": dimension mismatch")
	}
}

var errNested = errors.New("auto: an oracle was called by a loss of the same problem")
