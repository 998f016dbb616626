package chol

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// PosDef reports whether a − shift·I is positive definite to working precision: whether
// FactorShifted(a, shift) succeeds. It factors only if neither the diagonal (an entry ≤ shift says
// no) nor Gershgorin's discs (right of 0, they say yes; Golub and Van Loan 7.2.1) decide. a is
// read. A matrix or shift that is not finite gives false. c holds no factor afterwards. It
// allocates only if a is larger than every matrix before. At most n³/3 flops.
func (c *Cholesky) PosDef(a *mat.Sym, shift float64) bool {
	if kernel.Torn(a.N, a.N, a.Stride) {
		panic("chol: PosDef" + kernel.MsgTorn)
	}
	c.reset(a.N)
	for i := range a.N {
		if !(a.Data[i*a.Stride+i] > shift) {
			return false
		}
	}
	if dominant(a, shift, c.work[:a.N]) {
		return true
	}
	p, _ := c.factor(a, shift)
	return p == a.N
}

// dominant reports whether a_ii − shift > Σ_{j≠i} |a_ij| holds for every i, with a margin for
// rounding. It begins with the longest row, the last, and stops at the first that is not dominant.
func dominant(a *mat.Sym, shift float64, below []float64) bool {
	clear(below)
	margin := 1 + 2*float64(a.N+2)*0x1p-53
	for i := a.N - 1; i >= 0; i-- {
		r := a.Row(i)
		sum := below[i]
		for j, v := range r[:i] {
			v = math.Abs(v)
			sum += v
			below[j] += v
		}
		if d := r[i] - shift; !usable(d-margin*sum) || d > math.MaxFloat64 {
			return false
		}
	}
	return true
}
