package saa

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// curvature is what is known of the reduced Hessian of F at a point: with L = f − vᵀg_y and
// q = L_x + JᵀL_y, v and J fixed, dq along (s, Js + u) is Bs + Eu.
type curvature struct {
	b     *mat.Dense   // B, ∇²F: the rows that were asked
	e     *mat.Dense   // E, dx × dy
	epoch int          // from 2: rows asked in an earlier one are to be asked again
	asked []int        // the epoch in which rows of both were; 0: never
	known []bool       // entries of x that the samples know
	most  []float64    // the most that ‖Je_i‖ in H was
	best  []float64    // x_i there
	least []float64    // that it counts as
	reach []float64    // how far x_i alone goes until its row of g_xy changes by its length, or f_x is 0; 0: not known, or X has a width
	was   [2][]float64 // what acts was when they were asked
	span  []float64    // the largest |x_i| that steps reached; effects that are rounding there are none
	fresh bool         // rows were asked since the last good step
	j     *mat.Dense   // Jᵀ when they were asked
	n     int          // samples that there were then; 0: none

	fx, fy, hv, xv     []float64
	fx0, fy0, hv0, xv0 []float64 // the same at the point itself

	free    []int
	partial bool      // entries that may move are left out of free
	sub     mat.Sym   // |B| of the free entries, in units ℓ
	up      []float64 // what multiplies them in eig besides: a power of two
	scale   float64   // of sub, a power of two
	floor   float64   // of the eigenvalues of sub
	eig     eig.Symmetric
	work    mat.Dense
	lowest  float64 // the least eigenvalue of B there, over the largest
	col     []float64
	rem     []float64
}

func newCurvature(dx, dy int) *curvature {
	c := &curvature{
		b: mat.NewDense(dx, dx), e: mat.NewDense(dx, dy), j: mat.NewDense(dx, dy), epoch: 2, asked: make([]int, dx),
		known: make([]bool, dx), sub: *mat.NewSym(dx), work: *mat.NewDense(dx, dx),
	}
	zeros(dx, &c.span, &c.was[0], &c.was[1], &c.most, &c.best, &c.least, &c.reach, &c.up)
	zeros(dx, &c.fx, &c.xv, &c.fx0, &c.xv0, &c.col, &c.rem)
	zeros(dy, &c.fy, &c.hv, &c.fy0, &c.hv0)
	return c
}

// faded is acts over what it was when the row of x_i was asked; on a sum 1.
func (m *newton) faded(i int) (share [2]float64) {
	for k, is := range m.now.acts(i) {
		share[k] = 1
		if was := m.curve.was[k][i]; was > 0 && m.endless() {
			share[k] = is / was
		}
	}
	return share
}

// rowSamples is the number of samples that rows are asked of, at least.
func (c *curvature) rowSamples() int {
	dx, dy := c.e.Rows, c.e.Cols
	return max(min(4*(dx+dy), max(largest, 8*len(c.free))), c.n/(4*dx))
}

// drift is ‖(CᵀEᵀ + EC)s‖_M⁻¹/‖s‖_M of the package comment.
func (m *newton) drift() float64 {
	c, p, s, d, e := m.curve, m.now, m.step.s, m.now.w, m.now.hy
	clear(d)
	clear(e)
	for _, i := range c.free {
		mat.Axpy(d, s[i], p.jt.Row(i))
		mat.Axpy(d, -s[i], c.j.Row(i))
		mat.Axpy(e, s[i], c.e.Row(i))
	}
	for _, i := range c.free {
		c.rem[i] = mat.Dot(p.jt.Row(i), e) - mat.Dot(c.j.Row(i), e) + mat.Dot(c.e.Row(i), d)
	}
	return c.normInv(c.rem, p.unit) / cmp.Or(m.step.length, 1)
}

// learn asks for the missing rows of B and E of free entries, by differences over most samples.
func (m *newton) learn(it *bilevel.Iteration, most int) (asked bool, err error) {
	c, p, t := m.curve, m.now, m.to
	cost := 0
	for _, i := range c.free {
		if share := m.faded(i); slices.Min(share[:]) < small || slices.Max(share[:]) > 1/small { // as where y* turns
			c.asked[i] = min(c.asked[i], c.epoch-1)
		}
		if c.asked[i] < c.epoch {
			cost++
		}
	}
	if cost == 0 {
		return false, nil
	}
	c.fresh = true
	m.credit -= float64(3*cost+3) * float64(min(most, m.sides[1].n))
	if err := m.ask(it, c.fx0, c.fy0, c.hv0, c.xv0, t.xy, p.x, p.y, most); err != nil {
		return true, err
	}
	for _, i := range c.free {
		if c.asked[i] == c.epoch {
			continue
		}
		eps := max(0x1p-20*p.unit[i], 0x1p-40*math.Abs(p.x[i]))
		lo, hi := m.step.bounds(i)
		if p.x[i]+eps > hi {
			eps = -eps
		}
		for err := error(nil); ; eps /= -8 { // ℓ_i may lead where f and g have no value, or another slope
			copy(t.x, p.x)
			copy(t.y, p.y)
			if t.x[i] += eps; t.x[i] == p.x[i] { // as rounded
				return true, cmp.Or(err, bilevel.ErrDomain)
			}
			if t.x[i] < lo || t.x[i] > hi {
				continue
			}
			eps = t.x[i] - p.x[i]
			mat.Axpy(t.y, eps, p.jt.Row(i))
			err = m.ask(it, c.fx, c.fy, c.hv, c.xv, t.jt, t.x, t.y, most)
			if err == nil && !m.leaves(i, eps) {
				break
			}
			if err != nil && !errors.Is(err, bilevel.ErrDomain) {
				return true, err
			}
		}
		e, b := c.e.Row(i), c.b.Row(i)
		for j := range e {
			e[j] = (c.fy[j] - c.fy0[j] - (c.hv[j] - c.hv0[j])) / eps
		}
		for k := range b {
			b[k] = (c.fx[k]-c.fx0[k]-(c.xv[k]-c.xv0[k]))/eps + mat.Dot(p.jt.Row(k), e)
			if m.whole() && math.Abs(b[k]*eps) < 0x1p-48*p.size[k] { // rounding
				b[k] = 0
			}
		}
		if err := it.Finite(e, b); err != nil {
			return true, err
		}
		share, is := m.faded(i), p.acts(i)
		if p.f2[i] > 0 && (c.was[0][i] == 0 || share[1] > share[0]) { // terms of 0 scatter
			share[0] = share[1]
		}
		if share[0] < small {
			p.fade(i, share[0])
		}
		c.was[0][i], c.was[1][i] = is[0], is[1]
		c.asked[i] = c.epoch
		copy(c.j.Row(i), p.jt.Row(i))
	}
	for a, i := range c.free { // symmetric
		for _, j := range c.free[:a] {
			v := (c.b.At(i, j) + c.b.At(j, i)) / 2
			c.b.Set(i, j, v)
			c.b.Set(j, i, v)
		}
	}
	return true, nil
}

// leaves notes reach, by g_xy at x in to.xy and at x_i + eps in to.jt, and says that eps is too long beside it.
func (m *newton) leaves(i int, eps float64) bool {
	c, p, was, now := m.curve, m.now, m.to.xy.Row(i), m.to.jt.Row(i)
	size, eps := square(was, p.d), math.Abs(eps)
	mat.Axpy(now, -1, was)
	change, fxx := square(now, p.d), math.Abs(c.fx[i]-c.fx0[i])/eps
	switch open := m.step.open(i) && (m.step.box != nil || math.Abs(p.x[i]) >= 0x1p-30*mat.Norm(p.x)); { // else rounded
	case open && size > 0 && change > 0:
		c.reach[i] = max(eps*math.Sqrt(size/change), 0x1p-30*math.Abs(p.x[i])) // y* may turn
		return eps > max(0x1p-10*c.reach[i], 0x1p-30*math.Abs(p.x[i]), 0x1p-600*p.unit[i])
	case open && size+change == 0 && fxx > 0 && m.endless(): // f alone knows x_i
		c.reach[i] = max(c.reach[i], math.Sqrt(p.f2[i]/p.n[0])*small/fxx)
	default:
		c.reach[i] = 0
	}
	return false
}

// ask writes f_x, f_y, g_yy v, g_xy v and g_xy, means over the samples, at (x, y).
func (m *newton) ask(it *bilevel.Iteration, fx, fy, hv, xv []float64, xy *mat.Dense, x, y []float64, most int) error {
	o, a, v := it.Oracle(), &m.asker, m.now.v
	if err := m.sides[0].mean(most, fx, fy, a.fx, a.fy, func(group []bilevel.Sample) error {
		return a.ask(it, 0, x, y, group)
	}); err != nil {
		return err
	}
	if err := m.sides[1].mean(most, hv, xy.Data, a.t, a.xy.Data, func(group []bilevel.Sample) error {
		if err := o.HessVecG(a.t, x, y, v, group); err != nil {
			return err
		}
		return o.CrossG(a.xy, x, y, group)
	}); err != nil {
		return err
	}
	mat.MulVec(xv, xy, v)
	return it.Finite(fx, fy, hv, xv)
}

// metric sets sub to |B| of the free entries, in units ℓ and of scale, its eigenvalues raised to 2⁻⁴⁰ of the
// largest, or where B is 0 of the slope h. If graded, rows below 2⁻³⁰ are lifted first.
func (c *curvature) metric(unit, h []float64, graded bool) error {
	n := len(c.free)
	c.lowest, c.scale = 1, 0
	if n == 0 {
		return nil
	}
	sub := c.sub.View(0, n)
	for a, i := range c.free {
		for b, j := range c.free[:a+1] {
			sub.Set(a, b, c.b.At(i, j)*unit[i]*unit[j])
		}
	}
	largest := mat.MaxAbsSym(&sub)
	for a := 0; largest == 0 && a < n; a++ {
		largest = math.Abs(h[c.free[a]]) * unit[c.free[a]]
	}
	_, e := math.Frexp(largest)
	c.scale = math.Ldexp(1, min(max(e, -1000), 1000))
	mat.ScaleSym(&sub, 1/c.scale, &sub)
	for a := range n {
		size := 0.0
		for b := range n {
			if v := math.Abs(sub.At(a, b)); graded && v > 0 {
				size = max(size, v*min(1, v/math.Abs(sub.At(b, b)))) // B_aa, if B is semidefinite
			}
		}
		if graded && size == 0 {
			size = math.Abs(h[c.free[a]]) * unit[c.free[a]] / c.scale
		}
		_, e := math.Frexp(size)
		c.up[a] = math.Ldexp(1, min(max(0, -30-e)/2, 500))
	}
	lift := func(power float64) {
		for a := range n {
			for b := range a + 1 {
				sub.Set(a, b, sub.At(a, b)*math.Pow(c.up[a]*c.up[b], power))
			}
		}
	}
	lift(1)
	defer lift(-1)
	if err := c.eig.Factor(&sub); err != nil {
		return err
	}
	values := c.eig.Values()
	top := max(math.Abs(values[0]), math.Abs(values[n-1]))
	if c.floor = 0x1p-40 * top; !(top > 0) {
		c.lowest, c.floor = 0, 0x1p-40
		mat.AddIdentity(&sub, c.floor)
		return nil
	}
	if c.lowest = values[0] / top; c.lowest <= 0x1p-40 {
		absolute(&sub, &c.eig, c.work.View(0, 0, n, n), c.floor)
	}
	return nil
}

// absolute writes |A|, with eigenvalues at least floor, from those of A.
func absolute(dst *mat.Sym, of *eig.Symmetric, work mat.Dense, floor float64) {
	vt := of.VectorsT()
	for e, l := range of.Values() {
		row, v := work.Row(e), vt.Row(e)
		for j := range row {
			row[j] = max(math.Abs(l), floor) * v[j]
		}
	}
	dst.Zero()
	mat.AddMulTransASym(dst, 1, &work, vt)
}

// normInv is the norm of v in M⁻¹ over the free entries.
func (c *curvature) normInv(v, unit []float64) float64 {
	col, sum := c.col[:len(c.free)], 0.0
	if len(col) == 0 {
		return 0
	}
	for a, i := range c.free {
		col[a] = v[i] * unit[i] * c.up[a]
	}
	for e, l := range c.eig.Values() {
		d := mat.Dot(c.eig.VectorsT().Row(e), col)
		sum += d * d / max(math.Abs(l), c.floor)
	}
	return math.Sqrt(sum / c.scale)
}

// vector is such that sub, but for signs and the floor, is Σλ·v vᵀ.
func (c *curvature) vector(e int) []float64 {
	v := c.rem[:len(c.free)]
	for k, d := range c.eig.VectorsT().Row(e) {
		v[k] = d / c.up[k]
	}
	return v
}

// damp raises eigenvalues of a, |B|, that are below the error of differences, and along which h has next to no part.
func (c *curvature) damp(a *mat.Sym, h, unit []float64) {
	v, values := c.col[:len(c.free)], c.eig.Values()
	for k, i := range c.free {
		v[k] = h[i] * unit[i] * c.up[k]
	}
	size, top := mat.Norm(v), max(-values[0], values[len(values)-1])
	for e, l := range values {
		if math.Abs(l) <= 0x1p-20*top && math.Abs(mat.Dot(c.eig.VectorsT().Row(e), v)) <= 0x1p-16*size {
			mat.RankOne(a, top, c.vector(e))
		}
	}
}

func (c *curvature) State(t *bilevel.State) {
	each(t.Dense, c.b, c.e, c.j)
	t.Count(&c.n)
	t.Floats(c.was[0], c.was[1], c.span, c.most, c.best, c.reach)
	t.Flag(&c.fresh)
	t.Count(&c.epoch)
	for i := range c.asked {
		t.Count(&c.asked[i])
		t.Flag(&c.known[i])
	}
}

// norm is ‖x + s − from‖ in M over the free entries; s may be nil.
func (c *curvature) norm(p *point, from, s []float64) float64 {
	sub, v, mv := c.sub.View(0, len(c.free)), c.col[:len(c.free)], c.rem[:len(c.free)]
	for k, i := range c.free {
		v[k] = (p.x[i] - from[i]) / p.unit[i]
		if s != nil {
			v[k] += s[i] / p.unit[i]
		}
	}
	mat.MulVecSym(mv, &sub, v)
	return math.Sqrt(max(0, mat.Dot(v, mv)) * c.scale)
}
