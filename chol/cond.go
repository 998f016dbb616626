package chol

import (
	"math"
	"math/rand/v2"
	"slices"

	"stable/mat"
)

const condExact = 16 // up to this order both matrices are formed

// Cond returns κ₁ = ‖A‖₁·‖A⁻¹‖₁ ≥ 1, 1 for order 0; beyond order 16, an estimate from below (see the
// package comment). It panics without a factor. It does not allocate. About n³ flops up to order 16,
// 17n² above. (Higham, Accuracy and Stability, section 15.3, with the two best vertices of each
// gradient; LAPACK dpocon.)
func (c *Cholesky) Cond() float64 {
	c.need("chol: Cond: no factor")
	c.needUpper()
	if c.f.Rows <= condExact {
		return max(1, c.exact())
	}
	return max(1, c.estimate())
}

func (c *Cholesky) exact() float64 {
	var memory [condExact * condExact]float64
	s := mat.Sym{N: c.f.Rows, Stride: condExact, Data: memory[:]}
	for k := range s.N { // A = Σ u_k·u_kᵀ, with u_k row k of U
		u := c.f.Row(k)
		for i := k; i < s.N; i++ {
			mat.Axpy(s.Row(i)[k:], u[i], u[k:i+1])
		}
	}
	norm := c.norm1(&s)
	c.Inverse(&s)
	return norm * c.norm1(&s)
}

func (c *Cholesky) norm1(s *mat.Sym) float64 {
	sums := c.work[:s.N]
	clear(sums)
	for i := range sums {
		for j, v := range s.Row(i)[:i] {
			v = math.Abs(v)
			sums[i] += v
			sums[j] += v
		}
		sums[i] += math.Abs(s.At(i, i))
	}
	norm := 0.0
	for _, v := range sums {
		norm = max(norm, v)
	}
	return norm
}

// estimate returns the product of lower bounds of both norms: for A, of a climb from the column of
// the largest diagonal entry; for A⁻¹, whose columns hide more, also of one from a random vector.
func (c *Cholesky) estimate() float64 {
	x := c.work[:c.f.Rows]
	norm := peak{c: c, apply: c.mulVec, column: c.mulColumn}
	norm.look(c.largest())
	norm.climb()
	inverse := peak{c: c, apply: c.solveVec, column: c.solveColumn}
	inverse.look(c.smallest())
	inverse.climb()
	var random rand.PCG
	random.Seed(1, 2)
	for i := range x {
		x[i] = float64(int64(random.Uint64())) * 0x1p-63
	}
	c.solveVec(x)
	inverse.climb()
	return norm.est * inverse.est
}

// A peak is a climb of ‖Bx‖₁, which is convex, over the unit ball, for a symmetric B.
type peak struct {
	c      *Cholesky
	apply  func(x []float64)
	column func(x []float64, j int)
	est    float64
	seen   [5]int // columns of B that were looked at
	count  int
}

// climb takes Bx in c.work[:n] to the two columns that the gradient B·sign(Bx) names.
func (p *peak) climb() {
	x := p.c.work[:p.c.f.Rows]
	for i, v := range x {
		x[i] = math.Copysign(1, v)
	}
	p.apply(x)
	j := argmax(x)
	x[j] = 0
	k := argmax(x)
	p.look(j)
	p.look(k)
}

// look takes column j of B, once, to c.work[:n].
func (p *peak) look(j int) {
	if slices.Contains(p.seen[:p.count], j) {
		return
	}
	p.seen[p.count] = j
	p.count++
	x, sum := p.c.work[:p.c.f.Rows], 0.0
	clear(x)
	p.column(x, j)
	for _, v := range x {
		sum += math.Abs(v)
	}
	p.est = max(p.est, sum)
}

func (c *Cholesky) solveVec(x []float64) { c.SolveVec(x, x) }

// solveColumn sets x, which is 0, to column j of A⁻¹: the forward solve starts in row j.
func (c *Cholesky) solveColumn(x []float64, j int) {
	x[j] = 1
	n := c.f.Rows
	rest := c.f.View(j, j, n-j, n-j)
	if c.lower {
		mat.SolveLowerVec(x[j:], &rest, x[j:])
		mat.SolveLowerTransVec(x, &c.f, x)
	} else {
		mat.SolveUpperTransVec(x[j:], &rest, x[j:])
		mat.SolveUpperVec(x, &c.f, x)
	}
}

func (c *Cholesky) mulVec(x []float64) {
	for i := range x {
		x[i] = mat.Dot(c.f.Row(i)[i:], x[i:])
	}
	for i := len(x) - 1; i >= 0; i-- {
		r, v := c.f.Row(i)[i:], x[i]
		x[i] = r[0] * v
		mat.Axpy(x[i+1:], v, r[1:])
	}
}

// mulColumn sets x, which is 0, to column j of A, Σ_{i≤j} u_ij·u_i.
func (c *Cholesky) mulColumn(x []float64, j int) {
	for i := range j + 1 {
		r := c.f.Row(i)[i:]
		mat.Axpy(x[i:], r[j-i], r)
	}
}

// largest returns the index of A's largest diagonal entry, which is at least ‖A‖₁/n.
func (c *Cholesky) largest() int {
	d := c.work[:c.f.Rows]
	clear(d)
	for i := range d {
		for j, v := range c.f.Row(i)[i:] {
			d[i+j] += v * v
		}
	}
	return argmax(d)
}

// smallest returns the index of U's smallest diagonal entry u: that of A⁻¹ is at least 1/u².
func (c *Cholesky) smallest() (m int) {
	for i := range c.f.Rows {
		if c.f.At(i, i) < c.f.At(m, m) {
			m = i
		}
	}
	return m
}

func argmax(x []float64) (m int) {
	for i, v := range x {
		if math.Abs(v) > math.Abs(x[m]) {
			m = i
		}
	}
	return m
}
