package saa

import (
	"math"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// Health is about the last iterate at which a block ended. Gap is ½(hᵀM⁻¹h + tr M⁻¹cov h), over the
// entries that may move; +Inf where ∇²F has a negative eigenvalue there, and NaN before the first
// block. Lower adds to the Newton step of y the standard error of y*(x) that the samples leave.
func (m *newton) Health() bilevel.Health {
	p, c := m.now, m.curve
	h := bilevel.Health{LowerBound: math.NaN(), Least: math.NaN(), LeastErr: math.NaN()}
	if !m.started {
		return h
	}
	u := mat.Norm(p.u)
	h.Lower = u
	if g := p.groups[1]; g > 1 {
		scatter := max(0, p.tt-mat.Dot(p.t, p.t)/p.n[1]) / (g - 1)
		h.Lower = math.Sqrt(u*u + m.sides[1].left()*scatter/p.n[1])
	}
	for _, i := range c.free {
		h.Gradient += p.h[i] * p.h[i]
		h.StdErr += p.covariance(&m.sides, i, i)
	}
	h.Gradient, h.StdErr = math.Sqrt(h.Gradient), math.Sqrt(h.StdErr)
	slope := c.normInv(p.h, p.unit)
	h.Gap = (slope*slope + m.stat()) / 2
	if c.below < -0x1p-20 {
		h.Gap, h.Saddle = math.Inf(1), m.done || h.Gradient <= 2*h.StdErr
	}
	var e eig.Symmetric
	mean := mat.NewSym(len(p.y))
	if mat.ScaleSym(mean, 1/p.n[1], p.yy); e.FactorValues(mean) == nil {
		h.Least = e.Values()[0]
	}
	if p.clip > 0 {
		h.Clipped = 1
		h.NotConvex = m.whole() && h.Least < 0
	}
	h.LeastErr = max(m.leastErr(), tiny*mat.NormFrobSym(mean))
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
