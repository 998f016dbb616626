package saa

import (
	"cmp"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// point is an iterate with the sums over all samples, and what follows from them there.
type point struct {
	x, y []float64
	*sums
	inv        eig.Truncator // of D·H·D
	indefinite eig.Symmetric // of an indefinite one
	work       *mat.Dense    // its scratch
	h0         *mat.Sym      // D·H·D, with H the mean of g_yy, or its absolute value
	d          []float64     // D: powers of two that bring the diagonal of D·H·D to 1 … 4
	g, u       []float64     // ĝ, and u = −H⁻¹ĝ
	v, low     []float64     // H⁻¹f_y, and about the last eigenvector of D·H·D
	jt         *mat.Dense    // Jᵀ = −g_xy H⁻¹, dx × dy
	h          []float64     // the hypergradient at (x, y + u)
	size       []float64     // of the terms that h is the difference of
	sure       []float64     // how sure the sign of h_i is, from 0 to 1
	unit       []float64     // ℓ: how far each x_i alone goes until y* moves by its own size
	big        []float64     // the largest |y_j|√H_jj so far
	norm       float64       // the largest ‖y‖_H so far
	clip       int           // eigenvalues of H below the floor
	convex     bool          // H is not indefinite, or beyond noise, or no samples are to come: x may move

	dx, dy     []float64
	w, hy, dyy []float64
}

func newPoint(dx, dy int) *point {
	p := &point{sums: newSums(dx, dy), h0: mat.NewSym(dy), jt: mat.NewDense(dx, dy), work: mat.NewDense(dy, dy)}
	zeros(dx, &p.x, &p.h, &p.size, &p.unit, &p.sure, &p.dx)
	zeros(dy, &p.y, &p.d, &p.g, &p.u, &p.v, &p.low, &p.big, &p.dy, &p.w, &p.hy, &p.dyy)
	return p
}

// lower solves the lower level's equations: H, ĝ and u.
func (p *point) lower(left float64) error {
	n := p.n[1]
	p.scale(n)
	norm := mat.NormFrobSym(p.h0)
	if norm == 0 {
		return errFlat
	}
	floor := 0x1p-40 * norm / math.Sqrt(float64(len(p.y)))
	r, err := p.inv.Truncate(p.h0, p.h0, floor)
	p.clip, p.convex = r.Clipped, r.MinEigenvalue >= 0
	if err == nil && !p.convex {
		err = p.down(left, floor, r.MinEigenvalue)
	}
	if err != nil {
		return err
	}
	// ĝ(z) = [Σ g_y + (Σ g_yy)(y − y_r) + (Σ g_xy)ᵀ(x − x_r) − carry]/n
	subtract(p.dx, p.x, p.refX)
	subtract(p.dy, p.y, p.refY)
	copy(p.g, p.gy)
	p.addCarry(p.g, p.w, 1, p.dx, p.dy)
	for j := range p.g {
		p.g[j] = (p.g[j] - p.carry[j]) / n
		p.u[j] = -p.g[j]
	}
	return p.solve(p.u, p.u)
}

// down makes H, whose least eigenvalue is negative, |H|, at least 3 standard errors, so that y goes down. Where noise
// may have made it so, low becomes its eigenvector, along which the next reading tells the noise.
func (p *point) down(left, floor, least float64) error {
	p.scale(p.n[1])
	noise := p.noiseH(left)
	if err := p.indefinite.Factor(p.h0); err != nil {
		return err
	}
	absolute(p.h0, &p.indefinite, *p.work, max(floor, 3*noise))
	if p.convex = left == 0 || p.curv[1] > 0 && least < -3*noise; !p.convex {
		copy(p.low, p.indefinite.VectorsT().Row(0))
	}
	_, err := p.inv.Truncate(p.h0, p.h0, floor/2)
	return err
}

var errFlat = fmt.Errorf("%w: g_yy is 0, so that there is no y*(x)", bilevel.ErrDomain)

// noiseH is the standard error of wᵀHw/wᵀD⁻²w, w = D·low, 0 if not known; less in proportion where H is below its mean, of an old D.
func (p *point) noiseH(left float64) float64 {
	mean := p.curv[0] / p.n[1]
	noise := math.Sqrt(max(0, p.curv[1]/p.n[1]-mean*mean*(1+0x1p-40)) * left / max(p.groups[1]-1, 1))
	if !mat.IsFinite(noise) {
		return 0
	}
	return noise * min(1, mat.NormFrobSym(p.h0)/math.Abs(mean))
}

func (p *point) scale(n float64) {
	for j := range p.d {
		_, e := math.Frexp(p.yy.At(j, j) / n)
		p.d[j] = 1
		if p.yy.At(j, j) != 0 {
			p.d[j] = math.Ldexp(1, -((e+1024)/2 - 512))
		}
	}
	for i := range p.d {
		to := p.h0.Row(i)
		for j, v := range p.yy.Row(i) {
			to[j] = v / n * p.d[i] * p.d[j]
		}
	}
}

// upper solves the upper level's: v, J, and h at (x, y + u), with the curvature c.
func (p *point) upper(c *curvature) {
	for j, v := range p.fy {
		p.v[j] = v / p.n[0]
	}
	_ = p.solve(p.v, p.v)
	for j, d := range p.d { // inverse iteration
		p.low[j] = p.v[j] / d
	}
	_ = p.inv.SolveVec(p.low, p.low)
	_ = p.inv.SolveVec(p.low, p.low)
	for i := range p.x {
		row := p.jt.Row(i)
		for j, v := range p.xy.Row(i) {
			row[j] = -v / p.n[1]
		}
		_ = p.solve(row, row)
	}
	// δ = (z − z_r) − Σ(z_b − z_r)/n, and then δ_y − Jδ_x + u
	for i, x := range p.x {
		p.dx[i] = x - p.refX[i] - p.zx[i]/p.n[1]
	}
	for j, y := range p.y {
		p.dy[j] = y - p.refY[j] - p.zy[j]/p.n[1] + p.u[j]
	}
	for i, d := range p.dx {
		if d != 0 {
			mat.Axpy(p.dy, -d, p.jt.Row(i))
		}
	}
	for i := range p.h {
		fx, gv := p.fx[i]/p.n[0], mat.Dot(p.xy.Row(i), p.v)/p.n[1]
		p.h[i] = fx - gv + mat.Dot(c.b.Row(i), p.dx) + mat.Dot(c.e.Row(i), p.dy)
		p.size[i] = math.Abs(fx)
		for j, v := range p.xy.Row(i) {
			p.size[i] += math.Abs(v * p.v[j] / p.n[1])
		}
	}
}

// solve writes H⁻¹b. It may fail in lower, which has H factored; after that it cannot.
func (p *point) solve(dst, b []float64) error {
	for j, v := range b {
		dst[j] = p.d[j] * v
	}
	err := p.inv.SolveVec(dst, dst)
	for j := range dst {
		dst[j] *= p.d[j]
	}
	return err
}

// lengths writes ℓ: down a flat of exp(x_i), less than y* seems to allow.
func (p *point) lengths(s *step, c *curvature, endless bool) {
	p.norm = max(p.norm, p.normY())
	for j, y := range p.y {
		y = min(math.Abs(y), math.Abs(p.w[j])) // p.w is y + u
		p.big[j] = max(p.big[j], y*math.Sqrt(max(0, p.yy.At(j, j)/p.n[1])))
	}
	for i := range p.unit {
		d, far := p.effect(i), cmp.Or(c.reach[i]/small, math.Inf(1))
		if d > c.most[i] {
			c.most[i], c.best[i] = d, p.x[i]
		}
		lo, hi := s.bounds(i)
		least, way := c.most[i]/4, math.Abs(p.x[i]-c.best[i])
		if d < least && way > 0 && min(-lo, hi) < math.Inf(1) && endless {
			least = min(least, p.norm*math.Log(c.most[i]/d)/way)
		}
		c.least[i] = least
		p.unit[i] = length(s.width(i), far, d, least, p.norm)
	}
}

// length is ℓ_i, of the width of X, of another bound, and of ‖Je_i‖_H now and at least.
func length(width, far, effect, least, norm float64) float64 {
	if math.IsInf(width, 1) {
		effect = max(effect, least)
	}
	l := min(width, far)
	if effect > 0 {
		l = min(l, norm/effect)
	}
	if math.IsInf(l, 1) || !(l > 0) { // neither g nor X knows it
		return 1
	}
	return l
}

// effect is ‖Je_i‖ in H.
func (p *point) effect(i int) float64 {
	return math.Sqrt(max(0, -mat.Dot(p.xy.Row(i), p.jt.Row(i))/p.n[1]))
}

// acts is the effect of x_i and, if f knows x_i, the size of the terms of h_i and of f_x of a sample.
func (p *point) acts(i int) (a [2]float64) {
	if a[0] = p.effect(i); p.f2[i] > 0 {
		a[1] = p.size[i] + math.Sqrt(p.f2[i]/p.n[0])
	}
	return a
}

// felt is the size of v on the entries of y that x_i acts on; v_j is in units 1/√H_jj.
func (p *point) felt(i int, v []float64) float64 {
	sum, all := 0.0, 0.0
	for j, c := range p.xy.Row(i) {
		if h := p.yy.At(j, j); h > 0 {
			sum += c * c / h * v[j] * v[j]
			all += c * c / h
		}
	}
	return math.Sqrt(sum / cmp.Or(all, 1))
}

// normY is ‖y‖_H or ‖y + u‖_H, the lesser: one of them may be far from settled.
func (p *point) normY() float64 {
	for j, v := range p.y {
		p.w[j] = v + p.u[j]
	}
	return min(p.normH(p.y), p.normH(p.w))
}

// normH is ‖y‖ in H.
func (p *point) normH(y []float64) float64 {
	for j, v := range y {
		p.dyy[j] = v / p.d[j]
	}
	mat.MulVecSym(p.hy, p.h0, p.dyy)
	return math.Sqrt(max(0, mat.Dot(p.dyy, p.hy)))
}

func (p *point) State(t *bilevel.State) {
	t.Floats(p.numbers()...)
	t.Sym(p.h0)
	t.Floats(p.v, p.low, p.unit, p.d, p.big)
	t.Dense(p.jt)
	t.Float(&p.norm)
	t.Floats(p.x, p.y)
	if t.Steps() > 0 {
		t.After(func() error { // H has been solved with, so that nothing of it is below 0
			_, err := p.inv.Truncate(p.h0, p.h0, 0)
			return err
		})
	}
}

// known says whether the samples know that x_i has an effect: f_x or its row of g_xy differs from 0 by
// more than chance. Groups that have seen nothing but one event, or rounding, do not.
func (p *point) known(i int) bool {
	return p.fx[i]*p.fx[i] > few*p.f2[i] || square(p.xy.Row(i), p.d) > few*p.c2[i]
}
