package chol

import (
	"math"

	"stable/mat"
)

// maxCondSteps caps the iteration of norm1, as ITMAX does in LAPACK's dlacn2.
const maxCondSteps = 5

// Cond estimates the condition number κ₁ = ‖A‖₁·‖A⁻¹‖₁, at least 1, and 1 for order 0. Both norms
// are estimated from the factor by the method of Hager and Higham: each is a lower bound, rarely
// off by more than a factor of 3, so it also serves after Update and Downdate. It panics if c holds
// no factor. It does not allocate. About 24n² flops. (Higham, Accuracy and Stability, algorithm
// 15.1; LAPACK dpocon, dlacn2.)
func (c *Cholesky) Cond() float64 {
	if !c.valid {
		panic("chol: Cond: no factor")
	}
	if c.f.Rows == 0 {
		return 1
	}
	c.needUpper()
	return max(1, c.norm1(c.mulVec)*c.norm1(c.solveVec))
}

func (c *Cholesky) solveVec(x []float64) { c.SolveVec(x, x) }

// mulVec sets x = A·x = Uᵀ·(U·x) in place.
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

// norm1 estimates the 1-norm of the symmetric operator B that apply applies in place: it climbs on
// the convex function ‖Bx‖₁ over the unit ball, from vertex to vertex.
func (c *Cholesky) norm1(apply func(x []float64)) float64 {
	n := c.f.Rows
	x, sign := c.work[:n], c.work[n:2*n]
	for i := range x {
		x[i] = 1 / float64(n)
	}
	apply(x)
	est := sum1(x)
	if n == 1 {
		return est
	}
	signs(sign, x)
	last := -1
	for range maxCondSteps {
		// The gradient of ‖Bx‖₁ is B·sign(Bx): its largest entry names the next vertex.
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
	// The vertex that the image of a vector points to, one that no cancellation in B can fool
	// everywhere: where the climb above stays among the vectors that are symmetric about their
	// middle, as it may for a Toeplitz matrix, this one does not. (dlacn2 takes the norm of the
	// image, too; it is at most 4/3 of that of the vertex's.)
	alt := 1.0
	for i := range x {
		x[i] = alt * (1 + float64(i)/float64(n-1))
		alt = -alt
	}
	apply(x)
	j := argmax(x)
	clear(x)
	x[j] = 1
	apply(x)
	return max(est, sum1(x))
}

// signs sets s = sign(x), and tells whether that changed s.
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
