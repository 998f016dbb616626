package saa

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/boxqp"
	"stable/eig"
	"stable/mat"
)

// step finds the step s of x: the least of hᵀs + ½sᵀMs over x + s in X, |s_i| ≤ Δℓ_i.
type step struct {
	set     bilevel.Set
	box     bilevel.BoundedSet // nil where the set does not consist of bounds
	metric  bilevel.MetricSet  // nil where the set does not project in a metric
	s       []float64
	pred    float64 // hᵀs + ½sᵀMs
	model   float64 // hᵀs + ½sᵀBs
	length  float64 // √(sᵀMs)
	pressed bool    // against Δ
	quad    boxqp.QP

	z, w, t, r, a []float64 // scratch of another set
	pi            mat.Dense
	sym, red      mat.Sym
	eig           eig.Symmetric
}

func newStep(set bilevel.Set, dx int) step {
	s := step{set: set, s: make([]float64, dx)}
	s.box, _ = set.(bilevel.BoundedSet)
	s.metric, _ = set.(bilevel.MetricSet)
	if s.box == nil {
		v := func() []float64 { return make([]float64, dx) }
		s.z, s.w, s.t, s.r, s.a = v(), v(), v(), v(), v()
		s.pi, s.sym, s.red = *mat.NewDense(dx, dx), *mat.NewSym(dx), *mat.NewSym(dx)
	}
	return s
}

// width is the extent of X along x_i, +Inf for none.
func (s *step) width(i int) float64 {
	if w, ok := s.set.(bilevel.WidthSet); ok {
		if v := w.Width(i); v > 0 {
			return v
		}
	}
	return math.Inf(1)
}

// follow adds u + Js to y, with u and J of p.
func (s *step) follow(y []float64, p *point) {
	mat.Axpy(y, 1, p.u)
	for i, v := range s.s {
		if v != 0 {
			mat.Axpy(y, v, p.jt.Row(i))
		}
	}
}

func (s *step) find(c *curvature, p *point, radius float64) {
	clear(s.s)
	s.pred, s.model, s.length = 0, 0, 0
	n := len(c.free)
	if n == 0 {
		return
	}
	q := &s.quad
	q.Resize(n)
	sub := c.sub.View(0, n)
	mat.CopySym(&q.A, &sub)
	for a, i := range c.free {
		lo, hi := s.bounds(i)
		q.G[a] = p.h[i] * p.unit[i] / c.scale
		most := radius * p.sure[i]
		q.Lo[a] = max(-most, (lo-p.x[i])/p.unit[i])
		q.Hi[a] = min(most, (hi-p.x[i])/p.unit[i])
	}
	if s.box != nil {
		s.pred = q.Solve()
		for a, i := range c.free {
			lo, hi := s.box.Bounds(i)
			s.s[i] = min(max(p.x[i]+q.S[a]*p.unit[i], lo), hi) - p.x[i]
		}
	} else {
		s.pred = s.within(c.free, p, radius)
		copy(s.z, p.x)
		for a, i := range c.free {
			s.z[i] += q.S[a] * p.unit[i]
		}
		s.set.Project(s.z, s.z) // feasible to the last bit
		for i := range s.s {
			s.s[i] = s.z[i] - p.x[i]
		}
	}
	s.pressed = false
	for _, i := range c.free {
		s.pressed = s.pressed || math.Abs(s.s[i]) >= 0.99*radius*p.sure[i]*p.unit[i]
	}
	s.pred *= c.scale
	linear := mat.Dot(p.h, s.s)
	s.length = math.Sqrt(max(0, 2*(s.pred-linear)))
	s.model = linear
	for _, i := range c.free {
		s.model += s.s[i] * mat.Dot(c.b.Row(i), s.s) / 2
	}
}

func (s *step) bounds(i int) (lo, hi float64) {
	if s.box == nil {
		return math.Inf(-1), math.Inf(1)
	}
	return s.box.Bounds(i)
}

// to writes x + s, in the bounds to the last bit.
func (s *step) to(dst, x []float64) {
	for i, v := range x {
		lo, hi := s.bounds(i)
		dst[i] = min(max(v+s.s[i], lo), hi)
	}
}

// cut shortens s to a share of itself.
func (s *step) cut(share float64) {
	for i := range s.s {
		s.s[i] *= share
	}
	s.length *= share
	s.pred *= share // at least
	s.model *= share
}
