package chol

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// PosDef reports whether a − shift·I is positive definite to working precision: whether
// FactorShifted(a, shift) succeeds. It looks at the diagonal first (a diagonal entry ≤ shift says
// no), then for diagonal dominance (Gershgorin's discs right of 0 say yes; Golub and Van Loan
// 7.2.1), and factors only if both leave it open, up to the first pivot that fails. The lower
// triangle of a is read; a is not modified. A matrix or shift that is not finite gives false. The
// factor that c held is lost, and c holds none afterwards. It allocates only if a is larger than
// every matrix before. At most n³/3 flops.
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

// dominant reports whether a_ii − shift > Σ_{j≠i} |a_ij| holds for every i, with room for rounding.
// It goes from the last row, the longest, to the first, and stops at the first row that is not
// dominant; a matrix that is not dominant usually costs O(n).
func dominant(a *mat.Sym, shift float64, below []float64) bool {
	clear(below)
	room := 1 + 2*float64(a.N+2)*0x1p-53
	for i := a.N - 1; i >= 0; i-- {
		r := a.Row(i)
		sum := below[i]
		for j, v := range r[:i] {
			v = math.Abs(v)
			sum += v
			below[j] += v
		}
		if d := r[i] - shift; !usable(d-room*sum) || d > math.MaxFloat64 {
			return false
		}
	}
	return true
}
