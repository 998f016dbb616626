package saa

import (
	"cmp"
	"errors"

	"stable/bilevel"
	"stable/mat"
)

// Dims and those below make m the problem whose exact means are those of all samples so far.
func (m *longX) Dims() (dx, dy int)             { return m.it.Dims() }
func (m *longX) Streams() (upper, lower uint64) { return 0, 0 }

func (m *longX) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	clear(m.f2)
	return m.mean(0, fx, fy, func(g []bilevel.Sample) error {
		err := m.it.Oracle().GradF(fx, fy, x, y, g)
		for i, v := range fx {
			v *= float64(len(g))
			m.f2[i] += v * v
		}
		return err
	})
}

func (m *longX) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	err := m.mean(1, gy, nil, func(g []bilevel.Sample) error { return m.it.Oracle().GradG(gy, x, y, g) })
	copy(m.gy, gy)
	return err
}

func (m *longX) HessG(yy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	err := m.mean(1, yy.Data, nil, func(g []bilevel.Sample) error { return m.it.Oracle().HessG(yy, x, y, g) })
	mat.CopySym(m.yy, yy)
	return err
}

func (m *longX) HessVecG(dst, x, y, v []float64, _ []bilevel.Sample) error {
	return m.mean(1, dst, nil, func(g []bilevel.Sample) error { return m.it.Oracle().HessVecG(dst, x, y, v, g) })
}

func (m *longX) CrossVecG(dst, x, y, v []float64, _ []bilevel.Sample) error {
	return m.mean(1, dst, nil, func(g []bilevel.Sample) error { return m.it.Oracle().CrossVecG(dst, x, y, v, g) })
}

// mean calls ask with groups of all samples of side k, and writes the means of what it wrote to a and b.
func (m *longX) mean(k int, a, b []float64, ask func(group []bilevel.Sample) error) error {
	s, sum := m.sides[k], m.sum[:len(a)+len(b)]
	to, rest := sum[:len(a)], sum[len(a):]
	err := s.mean(m.asks, to, rest, a, b, func(group []bilevel.Sample) error {
		if err := cmp.Or(ask(group), m.it.Context().Err()); err != nil {
			return err
		}
		if err := m.it.Finite(a, b); err != nil {
			return errors.Join(err, bilevel.ErrDomain)
		}
		return nil
	})
	copy(a, to)
	copy(b, rest)
	m.credit -= float64(min(s.n, m.asks))
	if m.err == nil && !errors.Is(err, bilevel.ErrDomain) {
		m.err = err
	}
	return err
}

// CrossG copies what lengths has asked: f wants it at z alone.
func (m *longX) CrossG(xy *mat.Dense, _, _ []float64, _ []bilevel.Sample) error {
	mat.Copy(xy, m.xy)
	return nil
}
