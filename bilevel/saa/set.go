package saa

import (
	"cmp"
	"math"
	"slices"

	"stable/mat"
)

// within solves the step's problem in a set that is given by its projection alone, and keeps each |s_i| within 2Δℓ_i by a
// multiple of the identity on M. Where the set does not project in a metric, it is solved in units of the least ℓ_i.
func (s *step) within(free []int, p *point, radius float64) {
	q := &s.quad
	copy(s.unit, p.unit)
	least, top := math.Inf(1), mat.MaxAbsSym(&q.A)
	for _, i := range free {
		least = min(least, p.unit[i])
	}
	for a, i := range free {
		if s.metric == nil {
			s.unit[i] = least
		}
		s.k[a] = s.unit[i] / p.unit[i]
		q.G[a] *= s.k[a]
		for b := range a + 1 {
			q.A.Set(a, b, q.A.At(a, b)*s.k[a]*s.k[b])
		}
	}
	for ridge := 0.0; ; {
		s.project(free, p)
		longest := 0.0
		for a, t := range q.S {
			longest = max(longest, math.Abs(t)*s.k[a])
		}
		if longest <= 2*radius || ridge > 1e18*top {
			if s.pressed = ridge > 0; s.pressed { // the face is of another M
				s.faceDim = -1
			}
			break
		}
		more := max(3*ridge, 0x1p-40*top)
		for a := range free {
			q.A.Set(a, a, q.A.At(a, a)+more*s.k[a]*s.k[a])
		}
		ridge += more
	}
	for a := range free { // in units ℓ
		q.S[a] *= s.k[a]
		for e := range max(s.faceDim, 0) {
			s.pi.Row(e)[a] *= s.k[a]
		}
	}
}

// along is h as the set leaves it: entries that it couples go along flats for the good of others.
func (s *step) along(p *point, radius float64) []float64 {
	if s.box != nil {
		return p.h
	}
	t := radius * slices.Max(p.unit) / cmp.Or(mat.Norm(p.h), 1)
	copy(s.z, p.x)
	mat.Axpy(s.z, -t, p.h)
	s.set.Project(s.z, s.z)
	for i, x := range p.x {
		s.t[i] = (x - s.z[i]) / t
	}
	return s.t
}

// project minimises the model over the set: projected gradients, accelerated (Beck, Teboulle, SIAM J.
// Imaging Sci. 2, 2009), find the face, and Newton steps along it go to its minimum.
func (s *step) project(free []int, p *point) {
	q := &s.quad
	lip := mat.NormFrobSym(&q.A)
	clear(q.S)
	s.onto(q.S, free, p)
	value := q.At(q.S)
	for range 40 {
		before := value
		value = s.alongFace(free, p, lip, s.gradients(free, p, lip, value))
		if !(value < before-1e-14*math.Abs(before)) {
			break
		}
	}
}

// gradients does ten accelerated projected gradient steps.
func (s *step) gradients(free []int, p *point, lip, value float64) float64 {
	q, n := &s.quad, len(free)
	t, last := s.t[:n], s.a[:n]
	copy(t, q.S)
	for k := range 10 {
		mat.MulVecSym(s.r[:n], &q.A, t)
		copy(last, q.S)
		for i := range n {
			q.To[i] = t[i] - (s.r[i]+q.G[i])/lip
		}
		s.onto(q.To, free, p)
		v := q.At(q.To)
		if !(v < value) {
			if slices.Equal(t, q.S) {
				break
			}
			copy(t, q.S) // once more without momentum
			continue
		}
		value = v
		copy(q.S, q.To)
		w := float64(k) / float64(k+3)
		for i := range n {
			t[i] = q.S[i] + w*(q.S[i]-last[i])
		}
	}
	return value
}

// alongFace does a Newton step along the face of the set that a gradient step ends on. The derivative of
// the projection there, found by differences, is Π = Q diag(π) Qᵀ: π = 1 along flat faces, and 1/(1
// + κ/L) along curved ones, which adds κ to the curvature.
func (s *step) alongFace(free []int, p *point, lip, value float64) float64 {
	q, n := &s.quad, len(free)
	base, to := s.t[:n], s.a[:n]
	mat.MulVecSym(q.R, &q.A, q.S)
	mat.Axpy(q.R, 1, q.G)
	lip = max(lip, mat.Norm(q.R[:n])) // the set may curve more than q
	size := 0.0
	for a, i := range free {
		base[a] = q.S[a] - q.R[a]/lip
		size = max(size, math.Abs(base[a]), math.Abs(q.S[a]), 0x1p-8*math.Abs(p.x[i])/s.unit[i]) // x may be far from 0
	}
	if size == 0 {
		return value
	}
	eps := 0x1p-22 * size
	sym := s.sym.View(0, n)
	pi := s.pi.View(0, 0, n, n)
	sym.Zero()
	for j := range n {
		for _, d := range []float64{eps, -eps} {
			copy(to, base)
			to[j] += d
			s.onto(to, free, p)
			to[j] *= 2 // others stand in two columns
			for i, t := range to {
				sym.Set(i, j, sym.At(i, j)+t/(4*d))
			}
		}
	}
	if s.eig.Factor(&sym) != nil {
		return value
	}
	values, vt := s.eig.Values(), s.eig.VectorsT()
	k := 0
	s.faceDim = -1
	for e := n - 1; e >= 0 && values[e] > 1e-3; e-- {
		copy(pi.Row(k), vt.Row(e))
		s.bent[k] = max(0, 1/values[e]-1) * lip
		k++
	}
	if k == 0 {
		s.faceDim = 0
		return value
	}
	red := s.sym.View(0, k)
	for a := range k {
		mat.MulVecSym(to, &q.A, pi.Row(a))
		for b := range a + 1 {
			red.Set(a, b, mat.Dot(to, pi.Row(b)))
		}
		red.Set(a, a, red.At(a, a)+s.bent[a])
		s.r[a] = -mat.Dot(pi.Row(a), q.R)
	}
	if q.Chol.Factor(&red) != nil {
		return value
	}
	s.faceDim = k
	q.Chol.SolveVec(s.r[:k], s.r[:k])
	for t := 1.0; t > 1e-3; t /= 4 {
		copy(q.To, q.S)
		for a := range k {
			mat.Axpy(q.To, t*s.r[a], pi.Row(a))
		}
		s.onto(q.To, free, p)
		if v := q.At(q.To); v < value {
			copy(q.S, q.To)
			return v
		}
	}
	return value
}

// onto writes into t the point of the set nearest to t, both in units from x.
func (s *step) onto(t []float64, free []int, p *point) {
	copy(s.z, p.x)
	for i := range s.w {
		s.w[i] = 1
	}
	for a, i := range free {
		s.z[i] += t[a] * s.unit[i]
		s.w[i] = 1 / (s.unit[i] * s.unit[i])
	}
	if s.metric != nil {
		s.metric.ProjectMetric(s.z, s.z, s.w)
	} else {
		s.set.Project(s.z, s.z)
	}
	for a, i := range free {
		t[a] = (s.z[i] - p.x[i]) / s.unit[i]
	}
}

// trace is that of cov in M⁻¹ on the face that s ends on.
func (s *step) trace(cov *mat.Dense) (sum float64) {
	n, k := cov.Cols, s.faceDim
	pi := s.pi.View(0, 0, n, n)
	for a := range k {
		mat.MulVec(s.t[:n], cov, pi.Row(a))
		for b := range k {
			s.r[b] = mat.Dot(pi.Row(b), s.t[:n])
		}
		s.quad.Chol.SolveVec(s.r[:k], s.r[:k])
		sum += s.r[a]
	}
	return sum
}

// curvesDown says that F curves down along that face, beyond rounding.
func (s *step) curvesDown(c *curvature) bool {
	if s.faceDim <= 0 {
		return s.faceDim < 0
	}
	pi, red, to := s.pi.View(0, 0, s.faceDim, len(c.free)), s.sym.View(0, s.faceDim), s.r[:s.faceDim]
	red.Zero()
	for e, l := range c.eig.Values() {
		mat.MulVec(to, &pi, c.vector(e))
		mat.RankOne(&red, l, to)
	}
	size := mat.MaxAbsSym(&red)
	for a := range to {
		red.Set(a, a, red.At(a, a)+s.bent[a])
	}
	return s.eig.FactorValues(&red) == nil && s.eig.Values()[0] < -0x1p-20*size
}
