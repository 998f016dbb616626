package saa

import (
	"math"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// told is what Health needs of the last block; a checkpoint has it.
type told struct{ lower, gradient, stdErr, gap, below, clipped float64 }

// tell notes it at the end of a block.
func (m *newton) tell() {
	p, c, h := m.now, m.curve, told{}
	h.lower = mat.Norm(p.u)
	if g := p.groups[1]; g > 1 {
		scatter := max(0, p.tt-mat.Dot(p.t, p.t)/p.n[1]) / (g - 1)
		h.lower = math.Sqrt(h.lower*h.lower + m.sides[1].left()*scatter/p.n[1])
	}
	for _, i := range c.free {
		h.gradient += p.h[i] * p.h[i]
		h.stdErr += p.covariance(&m.sides, i, i)
	}
	h.gradient, h.stdErr = math.Sqrt(h.gradient), math.Sqrt(h.stdErr)
	slope := c.normInv(p.h, p.unit)
	if h.gap, h.below = (slope*slope+m.stat())/2, c.below; c.below < -0x1p-20 || c.partial {
		h.gap = math.Inf(1)
	}
	if p.clip > 0 {
		h.clipped = 1
	}
	m.told = h
}

// Health is about the last iterate at which a block ended. Gap is ½(hᵀM⁻¹h + tr M⁻¹cov h), over the
// entries that may move; +Inf where ∇²F has a negative eigenvalue there or is not known, and before the first block.
// Lower adds to the Newton step of y the standard error of y*(x) that the samples leave.
func (m *newton) Health() bilevel.Health {
	t := m.told
	h := bilevel.Health{Lower: t.lower, LowerBound: math.NaN(), Gradient: t.gradient, StdErr: t.stdErr, Gap: t.gap,
		Clipped: t.clipped, Least: math.NaN(), LeastErr: math.NaN()}
	if !m.started {
		h.Gap = math.Inf(1)
		return h
	}
	h.Saddle = t.below < -0x1p-20 && (m.done || t.gradient <= 2*t.stdErr)
	var e eig.Symmetric
	mean := mat.NewSym(len(m.now.y))
	if mat.ScaleSym(mean, 1/m.now.n[1], m.now.yy); e.FactorValues(mean) == nil {
		h.Least = e.Values()[0]
	}
	h.LeastErr = max(m.leastErr(), tiny*mat.NormFrobSym(mean))
	h.NotConvex = t.clipped > 0 && m.whole() && h.Least < 0
	h.Slow = !m.done && h.Gradient > 30*h.StdErr && m.radius < 0x1p-20
	return h
}

// leastErr is the standard error of vᵀHv/vᵀv, in the units of y.
func (m *newton) leastErr() float64 {
	p := m.now
	if p.bow[0] == 0 || p.groups[1] < 2 {
		return 0
	}
	mean := p.bow[0] / p.n[1]
	scatter := max(0, p.bow[1]/p.n[1]-mean*mean) * m.sides[1].left() / (p.groups[1] - 1)
	vv, scaled := 0.0, 0.0
	for j, v := range p.v {
		vv += v * v
		scaled += v / p.d[j] * (v / p.d[j])
	}
	if vv == 0 {
		return 0
	}
	return math.Sqrt(scatter) * scaled / vv
}
