package mat

import "stable/mat/kernel"

// MulVec sets dst = a·x. 2mn flops for a of m × n. (BLAS dgemv.)
func MulVec(dst []float64, a *Dense, x []float64) {
	refuse(len(dst) != a.Rows || len(x) != a.Cols, "mat: MulVec", mismatch)
	noAliasVec("mat: MulVec", a, a.at(dst) || kernel.SameStart(dst, x))
	if a.Cols == 0 {
		clear(dst)
		return
	}
	kernel.MulVec(dst, a.Data, a.Stride, x)
}

// MulVecTrans sets dst = aᵀ·x.
func MulVecTrans(dst []float64, a *Dense, x []float64) {
	refuse(len(dst) != a.Cols || len(x) != a.Rows, "mat: MulVecTrans", mismatch)
	noAliasVec("mat: MulVecTrans", a, a.at(dst) || kernel.SameStart(dst, x))
	if a.Cols > 0 {
		kernel.MulVecTrans(dst, a.Data, a.Stride, x)
	}
}

// MulVecSym sets dst = s·x. (BLAS dsymv.)
func MulVecSym(dst []float64, s *Sym, x []float64) {
	refuse(len(dst) != s.N || len(x) != s.N, "mat: MulVecSym", mismatch)
	full := s.Lower()
	noAliasVec("mat: MulVecSym", &full, full.at(dst) || kernel.SameStart(dst, x))
	kernel.MulVecSym(dst, s.Data, s.Stride, x)
}

// Outer sets a = a + alpha·x·yᵀ. 2mn flops for a of m × n. (BLAS dger.)
func Outer(a *Dense, alpha float64, x, y []float64) {
	refuse(len(x) != a.Rows || len(y) != a.Cols, "mat: Outer", mismatch)
	noAliasVec("mat: Outer", a, a.at(x) || a.at(y))
	kernel.Outer(a.shape(), a.Data, a.Stride, alpha, x, y)
}

// RankOne sets s = s + alpha·x·xᵀ. n² flops. (BLAS dsyr.)
func RankOne(s *Sym, alpha float64, x []float64) {
	refuse(len(x) != s.N, "mat: RankOne", mismatch)
	full := s.Lower()
	noAliasVec("mat: RankOne", &full, full.at(x))
	kernel.Outer(s.shape(), s.Data, s.Stride, alpha, x, x)
}
