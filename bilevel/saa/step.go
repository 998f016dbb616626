package saa

import (
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/boxqp"
	"stable/eig"
	"stable/mat"
)

// step finds s, the step of x.
type step struct {
	set     bilevel.Set
	box     bilevel.BoundedSet // nil where the set does not consist of bounds
	metric  bilevel.MetricSet  // nil where the set does not project in a metric
	s       []float64
	pred    float64 // hᵀs + ½sᵀMs
	model   float64 // hᵀs + ½sᵀBs
	length  float64 // √(sᵀMs)
	tau     float64 // max|s_i|/ℓ_i
	pressed bool    // against Δ
	turned  bool    // along a direction in which F curves down
	falls   float64 // what F may fall by where it curves down, beyond noise
	quad    boxqp.QP

	z          []float64 // scratch: x + s
	w, t, r, a []float64 // the same of another set
	unit, k    []float64 // in which its step is sought, and these over ℓ
	pi         mat.Dense // its first rows span the face that s ends on
	bent       []float64 // by how much it curves along each
	faceDim    int       // how many; -1: not known
	sym        mat.Sym
	eig        eig.Symmetric
}

func newStep(set bilevel.Set, dx int) step {
	s := step{set: set}
	zeros(dx, &s.s, &s.z)
	s.box, _ = set.(bilevel.BoundedSet)
	s.metric, _ = set.(bilevel.MetricSet)
	if s.box == nil {
		zeros(dx, &s.w, &s.t, &s.r, &s.a, &s.bent, &s.unit, &s.k)
		s.pi, s.sym = *mat.NewDense(dx, dx), *mat.NewSym(dx)
	}
	return s
}

// width is the extent of X along x_i, +Inf for none.
func (s *step) width(i int) float64 {
	w, ok := s.set.(bilevel.WidthSet)
	if !ok || !(w.Width(i) > 0) {
		return math.Inf(1)
	}
	return w.Width(i)
}

// open says that X is unbounded along x_i.
func (s *step) open(i int) bool { return math.IsInf(s.width(i), 1) }

// follow adds u + Js to y, of p.
func (s *step) follow(y []float64, p *point) {
	mat.Axpy(y, 1, p.u)
	for i, v := range s.s {
		if v != 0 {
			mat.Axpy(y, v, p.jt.Row(i))
		}
	}
}

func (s *step) find(c *curvature, p *point, radius, stat, rounding float64) {
	clear(s.s)
	s.pred, s.model, s.length, s.tau, s.falls, s.faceDim = 0, 0, 0, 0, 0, -1
	s.turned, s.pressed = false, false
	n := len(c.free)
	if n == 0 {
		return
	}
	q := &s.quad
	q.Resize(n)
	sub := c.sub.View(0, n)
	mat.CopySym(&q.A, &sub)
	if s.box != nil { // in another set h may press x against it
		c.damp(&q.A, p.h, p.unit)
	}
	for a, i := range c.free {
		lo, hi := s.bounds(i)
		q.G[a] = p.h[i] * p.unit[i] / c.scale
		q.Lo[a], q.Hi[a] = max(-radius, (lo-p.x[i])/p.unit[i]), min(radius, (hi-p.x[i])/p.unit[i])
	}
	s.turned = s.turn(c, p, radius, stat, rounding)
	for a, i := range c.free {
		most := radius * p.sure[i]
		q.Lo[a], q.Hi[a] = max(-most, q.Lo[a]), min(most, q.Hi[a])
	}
	if s.box != nil {
		q.Solve()
	} else {
		s.within(c.free, p, radius)
	}
	copy(s.z, p.x)
	for a, i := range c.free {
		s.z[i] += q.S[a] * p.unit[i]
	}
	s.set.Project(s.z, s.z) // feasible to the last bit
	subtract(s.s, s.z, p.x)
	for _, i := range c.free {
		if c.span[i] == 0 && s.lost(i, math.Abs(s.s[i]), p.unit[i]) { // x_i would be, where it is 0
			s.s[i] = 0
		}
		s.tau = max(s.tau, math.Abs(s.s[i])/p.unit[i])
		s.pressed = s.pressed || math.Abs(s.s[i]) >= 0.99*radius*p.sure[i]*p.unit[i]
	}
	linear := mat.Dot(p.h, s.s)
	s.length = c.norm(p, p.x, s.s)
	s.pred, s.model = linear+s.length*s.length/2, linear
	for _, i := range c.free {
		s.model += s.s[i] * mat.Dot(c.b.Row(i), s.s) / 2
	}
	if s.turned { // M ⪰ B
		s.pred = s.model
	}
}

// turn notes falls along eigenvectors with λ < 0 and, within bounds, turns G so that s goes on there: h may be noise, and M
// has s as short as h. Not where a free x_i is open and there is noise, since F curves down along flats, too.
func (s *step) turn(c *curvature, p *point, radius, stat, rounding float64) (any bool) {
	may := s.box != nil && (stat == 0 || !slices.ContainsFunc(c.free, s.open))
	q, values, slope := &s.quad, c.eig.Values(), 0.0
	if s.box != nil { // in another set h may press x against it: tell compares with pred
		slope = c.normInv(p.h, p.unit)
	}
	seen := map[bool]float64{false: 0x1p-20, true: 0x1p-36}[s.box != nil && stat == 0] // rows are lifted
	for e, l := range values {
		if !(l/values[0]*c.lowest < -seen) {
			break
		}
		v, w := c.eig.VectorsT().Row(e), c.rem[:len(c.free)]
		for a := range w {
			w[a] = v[a] * c.up[a]
		}
		g, sign, far, back := mat.Dot(w, q.G), 1.0, math.Inf(1), math.Inf(1)
		for a, d := range w {
			if d != 0 {
				far, back = min(far, max(q.Lo[a]/d, q.Hi[a]/d)), min(back, -min(q.Lo[a]/d, q.Hi[a]/d))
			}
		}
		if g > 0 || g == 0 && back > far {
			sign, far = -1, back
		}
		if fall := -l * far * far * c.scale / 2; fall > max(stat, slope*slope/2, rounding) {
			s.falls = max(s.falls, fall)
			if !may {
				continue
			}
			any = true
			for a, i := range c.free { // σ_i holds nothing here
				q.G[a] += (sign*l*far - g) * v[a] / c.up[a]
				p.sure[i] = max(p.sure[i], far*math.Abs(w[a])/radius)
			}
		}
	}
	return any
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
