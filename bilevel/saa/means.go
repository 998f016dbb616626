package saa

import (
	"errors"

	"stable/bilevel"
	"stable/mat"
)

// samples is the problem whose exact means are those of all samples so far.
type samples struct {
	long *longX
	it   *bilevel.Iteration
	sum  []float64
	err  error // the first
}

func (p *samples) Dims() (dx, dy int) { return p.it.Dims() }

func (p *samples) Streams() (upper, lower uint64) { return 0, 0 }

func (p *samples) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	clear(p.long.f2)
	return p.mean(0, fx, fy, func(g []bilevel.Sample) error {
		err := p.it.Oracle().GradF(fx, fy, x, y, g)
		for i, v := range fx {
			v *= float64(len(g))
			p.long.f2[i] += v * v
		}
		return err
	})
}

func (p *samples) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	err := p.mean(1, gy, nil, func(g []bilevel.Sample) error { return p.it.Oracle().GradG(gy, x, y, g) })
	copy(p.long.gy, gy)
	return err
}

func (p *samples) HessG(yy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	err := p.mean(1, yy.Data, nil, func(g []bilevel.Sample) error { return p.it.Oracle().HessG(yy, x, y, g) })
	mat.CopySym(p.long.yy, yy)
	return err
}

func (p *samples) HessVecG(dst, x, y, v []float64, _ []bilevel.Sample) error {
	return p.mean(1, dst, nil, func(g []bilevel.Sample) error { return p.it.Oracle().HessVecG(dst, x, y, v, g) })
}

func (p *samples) CrossVecG(dst, x, y, v []float64, _ []bilevel.Sample) error {
	return p.mean(1, dst, nil, func(g []bilevel.Sample) error { return p.it.Oracle().CrossVecG(dst, x, y, v, g) })
}

// mean calls ask with groups of all samples of side k, and writes the means of what it wrote to a and b.
func (p *samples) mean(k int, a, b []float64, ask func(group []bilevel.Sample) error) error {
	s, sum := p.long.sides[k], p.sum[:len(a)+len(b)]
	to, rest := sum[:len(a)], sum[len(a):]
	err := s.mean(p.long.asks, to, rest, a, b, func(group []bilevel.Sample) error {
		if err := errors.Join(p.it.Context().Err(), ask(group)); err != nil {
			return err
		}
		if err := p.it.Finite(a, b); err != nil {
			return errors.Join(err, bilevel.ErrDomain)
		}
		return nil
	})
	copy(a, to)
	copy(b, rest)
	p.long.credit -= float64(min(s.n, p.long.asks))
	if p.err == nil && !errors.Is(err, bilevel.ErrDomain) {
		p.err = err
	}
	return err
}

// CrossG copies what lengths has asked: f wants it at z alone.
func (p *samples) CrossG(xy *mat.Dense, _, _ []float64, _ []bilevel.Sample) error {
	mat.Copy(xy, p.long.xy)
	return nil
}
