package saa

import (
	"math"
	"slices"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// unknown is what Health tells at first.
func unknown() bilevel.Health {
	return bilevel.Health{LowerBound: math.NaN(), Least: math.NaN(), LeastErr: math.NaN(), Gap: math.Inf(1)}
}

// tell notes the block for Health.
func (m *newton) tell() {
	p, c, h := m.now, m.curve, unknown()
	h.Lower = mat.Norm(p.u)
	if g := p.groups[1]; g > 1 {
		scatter := max(0, p.tt[0]-mat.Dot(p.t, p.t)/p.n[1]) / (g - 1)
		h.Lower = math.Sqrt(h.Lower*h.Lower + m.sides[1].left()*scatter/p.n[1])
	}
	for _, i := range c.free {
		h.Gradient += p.h[i] * p.h[i]
		h.StdErr += max(0, m.covariance(i, i)) // rounding may be below
	}
	h.Gradient, h.StdErr = math.Sqrt(h.Gradient), math.Sqrt(h.StdErr)
	slope := c.normInv(p.h, p.unit)
	left := slope * slope / 2
	if m.step.box == nil && !m.step.pressed { // such a set may hold x along any direction
		left = max(0, min(left, -m.step.pred))
	}
	h.Gap, m.falls = left+m.stat()/2+m.chance(), m.step.falls
	if m.step.box == nil && (m.falls <= -m.step.pred || !m.step.curvesDown(c)) {
		m.falls = 0
	}
	rest := map[bool]float64{false: 0x1p-20, true: small}[m.endless()]        // noise moves y
	if m.falls > 0 || c.partial || h.Gap == 0 && p.normH(p.u) > rest*p.norm { // y is not settled
		h.Gap = math.Inf(1)
	}
	for i, x := range p.x {
		lo, hi := m.step.bounds(i)
		held := x <= lo && p.h[i] >= 0 || x >= hi && p.h[i] <= 0
		v, least := m.covariance(i, i), m.bottom(i)
		if least && v > 0 && !slices.Contains(c.free, i) {
			h.StdErr = math.Hypot(h.StdErr, math.Sqrt(v))
			h.Gap += v / 2 / c.b.At(i, i)
		}
		if len(c.free) == 0 && !held && !least || h.Gradient == 0 && h.StdErr == 0 && len(m.flat()) > 0 { // nothing moves
			h.Gap = math.Inf(1)
		}
		if (held || !c.known[i]) && v > 0 { // perhaps by chance: E min(0, N(|h_i|, v))², and E min(0, N)
			t, width := math.Abs(p.h[i])/math.Sqrt(2*v), hi-lo
			if !held { // no step is made along h_i
				t, width = -t, m.step.width(i)
			}
			bell := math.Exp(-t*t) / math.SqrtPi
			fall, most := math.Inf(1), width*math.Sqrt(v/2)*max(bell-t*math.Erfc(t), 0x1p-1000) // to the other bound
			if c.asked[i] > 0 {
				fall = v * ((0.5+t*t)*math.Erfc(t) - t*bell) / max(math.Abs(2*c.b.At(i, i)), 0x1p-1000)
			}
			if t < 3 || c.asked[i] > 0 { // |h_i| < 4.2σ_i
				h.Gap += min(fall, most)
			}
		}
	}
	h.Clipped = float64(min(p.clip, 1))
	if m.told.Clipped > h.Clipped { // σ was of a singular H: the next step is read
		m.checked = 0
	}
	h.Slow = h.Gradient > 30*h.StdErr && !(m.remains() < 0x1p-40) && m.radius < 0x1p-20 && (!m.done || m.stalls > 8 || m.radius <= tiny)
	m.told = h
}

// chance is the mean fall of F where a set without bounds holds x by chance: h_i ± zσ_i do not lead opposite ways.
func (m *newton) chance() (fall float64) {
	p, c, way := m.now, m.curve, m.curve.xv
	for _, i := range c.free {
		h, sigma := p.h[i], math.Sqrt(max(0, m.covariance(i, i)))
		for z := 1.0; m.step.box == nil && sigma > 0 && z <= few+1; z++ {
			clear(way)
			for k, share := range [...]float64{1, 1, -2} {
				p.h[i] = [...]float64{h + z*sigma, h - z*sigma, h}[k]
				mat.Axpy(way, share, m.step.along(p, 0x1p-20))
			}
			if steep := mat.Norm(way); steep > 0 {
				bent := c.norm(p, p.x, way) / steep
				fall += math.Exp(-z*z/2) / math.Sqrt(8*math.Pi) * steep * steep / (bent*bent + steep/p.unit[i]/max(1, m.radius))
			}
		}
	}
	return fall
}

// Health is about the last iterate at which a block ended; before the first, where ∇²F is not known or g not convex, Gap is
// +Inf. Lower adds the standard error of y*(x) to the Newton step of y; since z was read, g is taken to be quadratic.
func (m *newton) Health() bilevel.Health {
	h := m.told
	if !m.started {
		h.Gap = math.Inf(1)
		return h
	}
	h.Saddle = m.falls > 0 && (m.done || h.Gradient <= 2*h.StdErr)
	var e eig.Symmetric
	p, mean := m.now, mat.NewSym(len(m.now.y))
	if mat.ScaleSym(mean, 1/m.now.n[1], m.now.yy); e.FactorValues(mean) == nil {
		h.Least = e.Values()[0]
	}
	h.LeastErr = tiny * mat.NormFrobSym(mean)
	if vv := square(p.low, p.d); p.groups[1] > 1 && vv > 0 { // in the units of y
		h.LeastErr = max(h.LeastErr, p.noiseH(m.sides[1].left())*mat.Dot(p.low, p.low)/vv)
	}
	if h.NotConvex = h.Clipped > 0 && (m.whole() && h.Least < 0 || h.Least < -3*h.LeastErr); h.NotConvex { // y is at no minimum
		h.Gap = math.Inf(1)
	}
	h.Flat = m.flat()
	return h
}

// flat lists the entries of x that neither f feels nor a sample, or only where v or rounding hides it, and those
// without bounds that have lost all but a thousandth of their effect on y*; none where F curves up, as x_i² at 0.
func (m *newton) flat() (list []int) {
	p, c := m.now, m.curve
	swing := p.normH(p.v) * p.norm
	for i, x := range p.x {
		lo, hi := m.step.bounds(i)
		d, acts, was := p.effect(i), 0.0, 0.0
		mat.MulVecSym(p.hy, p.yy, c.j.Row(i)) // −g_xy when B was asked
		for j, v := range p.xy.Row(i) {
			acts += math.Abs(v * p.v[j] / p.n[1])
			was += math.Abs(p.hy[j] * p.v[j] / p.n[1])
		}
		open := x < hi && m.step.open(i) && (d == 0 && math.IsInf(lo, -1) || d < 0x1p-10*c.most[i] && x > lo)
		off := open || m.step.lost(i, c.span[i], p.unit[i]) || math.Abs(x)+0x1p-20*p.unit[i] == math.Abs(x)
		off = off || (p.c2[i] == 0 || acts == 0 && p.unit[i] > 0) && !m.whole() && x > lo && x < hi
		curved := c.b.At(i, i)*p.norm > 0x1p10*was*c.most[i] || m.bottom(i)
		if far := min(x-lo, hi-x); !math.IsInf(far, 1) { // on the way to its bound, as of log x or √x
			curved = curved || c.b.At(i, i)*far*far > small*swing
		}
		if p.n[0]*p.n[1] > 0 && p.f2[i] == 0 && off && !curved {
			list = append(list, i)
		}
	}
	return list
}

// bottom says that x_i acts on y*, and f is at its minimum in what it acts on.
func (m *newton) bottom(i int) bool {
	p, c := m.now, m.curve
	return p.size[i] == 0 && c.b.At(i, i) > 0 && p.effect(i) > 0x1p-10*c.most[i]
}
