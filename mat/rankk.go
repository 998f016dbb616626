package mat

// RankK sets s = s + alpha·a·aᵀ, for s of order n and a of n × k. a is read; s must not overlap it.
// It panics if the sizes do not match. It does not allocate. n²k flops. (BLAS dsyrk.)
func RankK(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Rows {
		panic("mat: RankK: dimension mismatch")
	}
	AddMulTransBSym(s, alpha, a, a)
}

// RankKTrans sets s = s + alpha·aᵀ·a, for a of k × n; all else as RankK.
func RankKTrans(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Cols {
		panic("mat: RankKTrans: dimension mismatch")
	}
	AddMulTransASym(s, alpha, a, a)
}

// AddMulTransBSym sets s = s + alpha·a·bᵀ, for a and b of n × k, where the caller knows that a·bᵀ is symmetric: only the lower triangle is
// computed. a and b are read; s must not overlap them. It panics if the sizes do not match. It does not allocate. n²k flops. (BLAS dgemmt.)
func AddMulTransBSym(s *Sym, alpha float64, a, b *Dense) {
	if s.N != a.Rows || s.N != b.Rows || a.Cols != b.Cols {
		panic("mat: AddMulTransBSym: dimension mismatch")
	}
	for i := range s.N {
		r := s.Row(i)
		for j := range r {
			r[j] += alpha * Dot(a.Row(i), b.Row(j))
		}
	}
}

// AddMulTransASym sets s = s + alpha·aᵀ·b, for a and b of k × n; all else as AddMulTransBSym.
func AddMulTransASym(s *Sym, alpha float64, a, b *Dense) {
	if s.N != a.Cols || s.N != b.Cols || a.Rows != b.Rows {
		panic("mat: AddMulTransASym: dimension mismatch")
	}
	for k := range a.Rows {
		for i, v := range a.Row(k) {
			Axpy(s.Row(i), alpha*v, b.Row(k)[:i+1])
		}
	}
}
