package auto

import (
	"errors"
	"fmt"

	"stable/bilevel"
	"stable/mat"
)

// Losses describes a problem by its two losses, each for one sample.
type Losses struct {
	// Dx and Dy are the lengths of x and y, ≥ 1.
	Dx, Dy int

	// Upper and Lower are the numbers of samples ξ and φ, which are then 0 … n−1. Zero, the
	// default, means an unbounded simulator, where every sample is a name.
	Upper, Lower uint64

	// F and G return f(x, y; ξ) and g(x, y; φ). Required. They must be functions of their arguments
	// alone, must not keep x, y or what is computed of them, and must not start goroutines.
	F, G func(x, y Vec, s bilevel.Sample) Num

	// MeanF and MeanG return the expectations of f and g, for a simulator that knows them, or for
	// a finite sum that has a shorter way. Without them the exact value of a finite sum is that of
	// all its terms, and a simulator has none.
	MeanF, MeanG func(x, y Vec) Num
}

// Problem is the bilevel.Problem of two losses. It has scratch memory: see Clone.
type Problem struct {
	losses Losses
	f, g   loss
	tape   tape
}

var (
	_ bilevel.Problem       = (*Problem)(nil)
	_ bilevel.Products      = (*Problem)(nil)
	_ bilevel.Values        = (*Problem)(nil)
	_ bilevel.UpperGradient = (*Problem)(nil)
)

// New returns the problem of l. Errors, which wrap bilevel.ErrOption and name the field: a length
// below 1, a loss that is missing.
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

// Clone returns a problem for another goroutine: it shares the losses, which then have to be safe
// for concurrent use, and nothing else.
func (p *Problem) Clone() *Problem { return &Problem{losses: p.losses, f: p.f, g: p.g} }

// Dims returns the lengths of x and y.
func (p *Problem) Dims() (dx, dy int) { return p.losses.Dx, p.losses.Dy }

// Streams returns Losses.Upper and Losses.Lower.
func (p *Problem) Streams() (upper, lower uint64) { return p.losses.Upper, p.losses.Lower }

// ValueF returns f(x, y; ξ), the mean over the batch.
func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.value("ValueF", &p.f, x, y, p.losses.Upper, xi)
}

// ValueG returns g(x, y; φ), the mean over the batch.
func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return p.value("ValueG", &p.g, x, y, p.losses.Lower, phi)
}

// GradF writes f_x and f_y, by one sweep back over the record of each sample.
func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	p.sizes("GradF", x, y)
	p.length("GradF", fx, p.losses.Dx)
	p.length("GradF", fy, p.losses.Dy)
	return p.gradient(&p.f, fx, fy, x, y, p.losses.Upper, xi)
}

// GradG writes g_y, by one sweep back over the record of each sample.
func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("GradG", x, y)
	p.length("GradG", gy, p.losses.Dy)
	return p.gradient(&p.g, nil, gy, x, y, p.losses.Lower, phi)
}

// GradXG writes g_x, by one sweep back over the record of each sample.
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("GradXG", x, y)
	p.length("GradXG", gx, p.losses.Dx)
	return p.gradient(&p.g, gx, nil, x, y, p.losses.Lower, phi)
}

// HessVecG writes g_yy·v, by a sweep forward and two back over the record of each sample: a
// constant times the cost of the loss.
func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("HessVecG", x, y)
	p.length("HessVecG", dst, p.losses.Dy)
	p.length("HessVecG", v, p.losses.Dy)
	return p.product(dst, leafY, x, y, v, phi)
}

// CrossVecG writes g_xy·v, at the cost of HessVecG.
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.sizes("CrossVecG", x, y)
	p.length("CrossVecG", dst, p.losses.Dx)
	p.length("CrossVecG", v, p.losses.Dy)
	return p.product(dst, leafX, x, y, v, phi)
}

// HessG writes g_yy. See the package comment for its cost.
func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("HessG", x, y)
	if gyy.N != p.losses.Dy {
		panic("auto: HessG: dimension mismatch")
	}
	gyy.Zero()
	return p.each(&p.g, p.losses.Lower, phi, func(s bilevel.Sample, mean bool, w float64) error {
		p.tape.begin(x, y, mode{order: 2, seed: onY, want: onY, structure: true})
		_, id, err := p.tape.record(&p.g, s, mean)
		if err == nil {
			p.tape.addSecond(gyy, nil, id, w)
		}
		return err
	})
}

// CrossG writes g_xy. See the package comment for its cost.
func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	p.sizes("CrossG", x, y)
	if gxy.Rows != p.losses.Dx || gxy.Cols != p.losses.Dy {
		panic("auto: CrossG: dimension mismatch")
	}
	gxy.Zero()
	return p.each(&p.g, p.losses.Lower, phi, func(s bilevel.Sample, mean bool, w float64) error {
		p.tape.begin(x, y, mode{order: 2, seed: onX | onY, want: onX | onY, structure: true})
		_, id, err := p.tape.record(&p.g, s, mean)
		if err == nil {
			p.tape.addSecond(nil, gxy, id, w)
		}
		return err
	})
}

func (p *Problem) value(name string, l *loss, x, y []float64, size uint64, batch []bilevel.Sample) (float64, error) {
	p.sizes(name, x, y)
	sum := 0.0
	err := p.each(l, size, batch, func(s bilevel.Sample, mean bool, w float64) error {
		p.tape.begin(x, y, mode{})
		v, _, err := p.tape.record(l, s, mean)
		sum += w * v
		return err
	})
	return sum, err
}

// gradient writes the gradient in x and in y, of which nil is left out.
func (p *Problem) gradient(l *loss, gx, gy, x, y []float64, size uint64, batch []bilevel.Sample) error {
	clear(gx)
	clear(gy)
	m := mode{order: 1}
	if gx != nil {
		m.want |= onX
	}
	if gy != nil {
		m.want |= onY
	}
	t := &p.tape
	return p.each(l, size, batch, func(s bilevel.Sample, mean bool, w float64) error {
		t.begin(x, y, m)
		t.vecs[leafX].adj, t.vecs[leafY].adj = gx, gy
		_, id, err := t.record(l, s, mean)
		if err == nil && id != 0 {
			t.nums[id].adj = w
			t.reverse(len(t.ops) - 1)
		}
		return err
	})
}

// product writes the derivative, along v in y, of the gradient in one leaf.
func (p *Problem) product(dst []float64, leaf int, x, y, v []float64, batch []bilevel.Sample) error {
	clear(dst)
	m := mode{order: 2, seed: onY, want: onX << leaf}
	t := &p.tape
	return p.each(&p.g, p.losses.Lower, batch, func(s bilevel.Sample, mean bool, w float64) error {
		t.begin(x, y, m)
		t.vecs[leafY].tan, t.vecs[leaf].adjt = v, dst
		_, id, err := t.record(&p.g, s, mean)
		if err == nil && id != 0 {
			t.nums[id].adj = w
			t.reverse(len(t.ops) - 1)
			t.tangents()
			t.second()
		}
		return err
	})
}

// term works on one sample, or on the mean of the loss, with a weight.
type term func(s bilevel.Sample, mean bool, weight float64) error

// each calls do for every sample of the batch, with its weight in the mean; for the exact value,
// for every term of a finite sum, or, with true for a sample, for the mean of the loss.
func (p *Problem) each(l *loss, size uint64, batch []bilevel.Sample, do term) error {
	if p.tape.running {
		return errNested
	}
	if len(batch) == 0 && l.mean != nil {
		return do(0, true, 1)
	}
	if len(batch) == 0 {
		if size == 0 {
			return bilevel.ErrNoExact
		}
		for s := range size {
			if err := do(bilevel.Sample(s), false, 1/float64(size)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range batch {
		if size > 0 && uint64(s) >= size {
			return fmt.Errorf("auto: %s: sample %d, but there are %d", l.name, s, size)
		}
	}
	for _, s := range batch {
		if err := do(s, false, 1/float64(len(batch))); err != nil {
			return err
		}
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
