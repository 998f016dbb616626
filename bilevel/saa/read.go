package saa

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// add asks the samples that wait at the present point.
func (m *newton) add(it *bilevel.Iteration, k int) error {
	p, s := m.now, m.sides[k]
	by := p
	if !m.started {
		by = nil
	}
	for group := range slices.Chunk(s.wait, s.size) {
		n := float64(len(group))
		if err := m.include(it, k, p, by, group, n); err != nil {
			return err
		}
		for i, r := range m.asker.r {
			m.since[k][i] += n * r * r
		}
		m.groups[k]++
	}
	s.wait = s.wait[:0]
	return nil
}

// doubt is the standard error of the change of h from z to p, in M⁻¹, by how groups of the part differ.
func (m *newton) doubt(p *point) float64 {
	mat.AddScaled(p.part.binned, p.part.binned, -1, m.now.part.binned)
	return m.spread(p.part.binned)
}

// spread is the standard error, in M⁻¹, of a mean of the part by sums over its bins, which it changes.
func (m *newton) spread(q *mat.Dense) float64 {
	mean, sum := m.curve.rem, 0.0
	clear(mean)
	for b := range bins {
		mat.Axpy(mean, 1./bins, q.Row(b))
	}
	for b := range bins {
		mat.Axpy(q.Row(b), -1, mean)
		e := m.curve.normInv(q.Row(b), m.now.unit)
		sum += e * e
	}
	return math.Sqrt(sum*bins/(bins-1)) / float64(m.partN)
}

// settle moves y of p to y*(x), until the last step is at most a share of the way that y went.
func (m *newton) settle(it *bilevel.Iteration, p, by *point, way float64) error {
	before := p.normH(p.u)
	for k, last, t := 0, math.Inf(1), 1.0; k < 30 || k < 60 && by == nil && t == 1; k++ { // one where not convex
		step, size := p.normH(p.u), p.normH(p.y)
		rounding := step <= tiny*size || step <= 0x1p-20*size && step > partly*last
		if rounding || k > 0 && !p.convex || step <= partly*min(way, 16*p.norm) || way > 0 && m.endless() && step <= m.sigmaY(p) {
			return nil
		}
		slope := mat.Dot(p.g, p.u)
		copy(m.y0, p.y)
		copy(m.u0, p.u)
		least := 1e-6 * min(1, cmp.Or(size/step, 1)) // H may be next to 0
		for t = 1; ; {
			for j := range p.y {
				p.y[j] = m.y0[j] + t*m.u0[j]
			}
			err := m.read(it, p, by)
			if errors.Is(err, bilevel.ErrDomain) && t > least && (k == 0 || t > 1e-6) {
				t *= 0.1
				continue
			}
			if err != nil {
				return err
			}
			after := mat.Dot(p.g, m.u0)
			if !(after > -slope/2) || t < least {
				break
			}
			t *= max(0.1, slope/(slope-after))
		}
		mat.Axpy(m.y0, -1, p.y)
		last = p.normH(m.y0)
		way = max(way, last)
	}
	if far := p.normH(p.u); !m.whole() && (by == nil && far > 0.9*p.normH(m.y0) || p.clip > 0 && far > 0x1p10*before) {
		return bilevel.ErrDomain
	}
	return nil
}

// sigmaY is about the standard error of y*(x), in H, a tenth of y at most.
func (m *newton) sigmaY(p *point) float64 {
	return min(small*p.norm, math.Sqrt(max(0, p.tt[1])*m.sides[1].left()/max(p.groups[1]-1, 1)/p.n[1]))
}

// read asks all samples at p, or the part, and solves the lower level.
func (m *newton) read(it *bilevel.Iteration, p, by *point) error {
	if m.partN > 0 {
		if err := m.askPart(it, p, p.x, p.y); err != nil {
			return err
		}
		p.shift(m.now)
		return m.lower(it, p)
	}
	clear(m.since[0])
	clear(m.since[1])
	m.groups = [2]float64{}
	p.begin()
	if by != nil && by != p {
		p.before = by.second
	}
	ctx := it.Context() // a context that ends cuts off trial points alone
	for k, s := range m.sides {
		s.wait = s.wait[:0] // is asked with all
		if err := s.each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
			if err := ctx.Err(); err != nil && p != m.now && by != nil {
				return err
			}
			return m.include(it, k, p, by, g, n)
		}); err != nil {
			return err
		}
	}
	m.readN = m.n()
	m.credit -= p.n[0] + 3*p.n[1]
	return m.lower(it, p)
}

// askPart asks the part at (x, y), for p.
func (m *newton) askPart(it *bilevel.Iteration, p *point, x, y []float64) error {
	a, t := &m.asker, &p.part
	t.n = [2]float64{}
	for _, v := range t.vectors() {
		clear(v)
	}
	t.binned.Zero()
	for k, calls := range []float64{1, 3} {
		bin := 0
		if err := m.sides[k].each(m.partN, func(g []bilevel.Sample, n float64) error {
			if err := a.ask(it, k, x, y, g); err != nil {
				return err
			}
			m.credit -= calls * n
			t.add(k, n, a)
			a.influence(k, m.now, m.curve.e)
			mat.Axpy(t.binned.Row(bin), n, a.r)
			bin = (bin + 1) % bins
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// lower solves the lower level at p, where the sums are finite.
func (m *newton) lower(it *bilevel.Iteration, p *point) error {
	if err := it.Finite(p.fx, p.fy, p.gy, p.yy.Data, p.xy.Data); err != nil {
		return err
	}
	return cmp.Or(p.lower(m.sides[1].left()), it.Finite(p.u))
}
