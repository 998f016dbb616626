package mat

// RankK sets s = s + alpha·a·aᵀ, for s of order n, apart from a of n × k. It panics if the sizes do
// not match. n²k flops. (BLAS dsyrk.)
func RankK(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Rows {
		panic("mat: RankK: dimension mismatch")
	}
	apartSym("mat: RankK", s, a, a)
	addMulTransBSym(s, alpha, a, a)
}

// RankKTrans sets s = s + alpha·aᵀ·a, for a of k × n; else as RankK.
func RankKTrans(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Cols {
		panic("mat: RankKTrans: dimension mismatch")
	}
	apartSym("mat: RankKTrans", s, a, a)
	addMulTransASym(s, alpha, a, a)
}

// AddMulTransBSym sets s = s + alpha·a·bᵀ for a and b of n × k, apart from s, whose a·bᵀ the caller
// knows to be symmetric: only the lower triangle is computed. It panics if the sizes do not match.
// n²k flops. (BLAS dgemmt.)
func AddMulTransBSym(s *Sym, alpha float64, a, b *Dense) {
	if s.N != a.Rows || s.N != b.Rows || a.Cols != b.Cols {
		panic("mat: AddMulTransBSym: dimension mismatch")
	}
	apartSym("mat: AddMulTransBSym", s, a, b)
	addMulTransBSym(s, alpha, a, b)
}

func addMulTransBSym(s *Sym, alpha float64, a, b *Dense) {
	g := product{m: s.N, n: s.N, k: a.Cols, alpha: alpha, lower: true, c: s.Data, ldc: s.Stride,
		a: operand{a.Data, a.Stride, along}, b: operand{b.Data, b.Stride, along}}
	g.run()
}

// AddMulTransASym sets s = s + alpha·aᵀ·b, for a and b of k × n; else as AddMulTransBSym.
func AddMulTransASym(s *Sym, alpha float64, a, b *Dense) {
	if s.N != a.Cols || s.N != b.Cols || a.Rows != b.Rows {
		panic("mat: AddMulTransASym: dimension mismatch")
	}
	apartSym("mat: AddMulTransASym", s, a, b)
	addMulTransASym(s, alpha, a, b)
}

func addMulTransASym(s *Sym, alpha float64, a, b *Dense) {
	g := product{m: s.N, n: s.N, k: a.Rows, alpha: alpha, lower: true, c: s.Data, ldc: s.Stride,
		a: operand{a.Data, a.Stride, across}, b: operand{b.Data, b.Stride, across}}
	g.run()
}
