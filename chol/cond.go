package chol

import (
	"math"
	"math/rand/v2"

	"stable/mat"
)

const (
	condExact    = 32 // up to this order both matrices are formed, which costs no more than the estimate
	maxCondSteps = 5  // cap on the steps of a climb, as ITMAX in LAPACK's dlacn2
)

// Cond returns κ₁ = ‖A‖₁·‖A⁻¹‖₁ ≥ 1, 1 for order 0: itself, but for rounding, up to order 32;
// beyond, the product of two estimates from below, the best of three climbs each (see the package
// comment). It panics without a factor. It does not allocate. About n³ flops up to order 32, 50n²
// above. (Higham, Accuracy and Stability, algorithm 15.1; LAPACK dpocon, dlacn2.)
func (c *Cholesky) Cond() float64 {
	if !c.valid {
		panic("chol: Cond: no factor")
	}
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

// estimate returns the product of lower bounds of both norms.
func (c *Cholesky) estimate() float64 {
	return c.climbs(c.mulVec, c.largest()) * c.climbs(c.solveVec, c.smallest())
}

func (c *Cholesky) solveVec(x []float64) { c.SolveVec(x, x) }

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

// climbs estimates the 1-norm of the symmetric B that apply applies in place, from three starts:
// the mean of all columns (Higham), the given column, and a vector without a pattern, since both
// may be orthogonal to what makes B large.
func (c *Cholesky) climbs(apply func(x []float64), column int) float64 {
	x := c.work[:c.f.Rows]
	for i := range x {
		x[i] = 1
	}
	est := c.climb(apply)
	clear(x)
	x[column] = 1
	est = max(est, c.climb(apply))
	var random rand.PCG
	random.Seed(1, 2)
	for i := range x {
		x[i] = float64(int64(random.Uint64()))
	}
	return max(est, c.climb(apply))
}

// climb ascends the convex ‖Bx‖₁ over the unit ball: from c.work[:n], scaled, from vertex to
// vertex.
func (c *Cholesky) climb(apply func(x []float64)) float64 {
	n := c.f.Rows
	x, sign := c.work[:n], c.work[n:2*n]
	size := sum1(x)
	for i := range x {
		x[i] /= size
	}
	apply(x)
	est := sum1(x)
	signs(sign, x)
	last := -1
	for range maxCondSteps {
		// The largest entry of the gradient B·sign(Bx) names the next vertex.
		copy(x, sign)
		apply(x)
		j := argmax(x)
		if last >= 0 && math.Abs(x[last]) == math.Abs(x[j]) {
			break
		}
		last = j
		clear(x)
		x[j] = 1
		apply(x)
		old := est
		est = max(old, sum1(x))
		if !signs(sign, x) || !(est > old) {
			break
		}
	}
	return est
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
func (c *Cholesky) smallest() int {
	m := 0
	for i := range c.f.Rows {
		if c.f.At(i, i) < c.f.At(m, m) {
			m = i
		}
	}
	return m
}

func signs(s, x []float64) (changed bool) {
	for i, v := range x {
		v = math.Copysign(1, v)
		changed = changed || s[i] != v
		s[i] = v
	}
	return changed
}

func sum1(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += math.Abs(v)
	}
	return s
}

func argmax(x []float64) int {
	m := 0
	for i, v := range x {
		if math.Abs(v) > math.Abs(x[m]) {
			m = i
		}
	}
	return m
}
