package mat

// RankK sets s = s + alpha·a·aᵀ, for s of order n and a of n × k. n²k flops. (BLAS dsyrk.)
func RankK(s *Sym, alpha float64, a *Dense) { addSym("mat: RankK", s, alpha, a, a, along) }

// RankKTrans sets s = s + alpha·aᵀ·a, for a of k × n.
func RankKTrans(s *Sym, alpha float64, a *Dense) { addSym("mat: RankKTrans", s, alpha, a, a, across) }

// AddMulTransASym sets s = s + alpha·aᵀ·b for a and b of k × n whose aᵀ·b is known to be symmetric:
// the lower triangle alone is computed. n²k flops. (BLAS dgemmt.)
func AddMulTransASym(s *Sym, alpha float64, a, b *Dense) {
	addSym("mat: AddMulTransASym", s, alpha, a, b, across)
}

func addSym(name string, s *Sym, alpha float64, a, b *Dense, as kind) {
	n, k := a.as(as)
	refuse(s.N != n || a.Rows != b.Rows || a.Cols != b.Cols, name, mismatch)
	full := s.Lower()
	noAlias(name, &full, a, b)
	g := product{m: n, n: n, k: k, alpha: alpha, lower: true, c: s.Data, ldc: s.Stride,
		a: operand{a.Data, a.Stride, as}, b: operand{b.Data, b.Stride, as}}
	g.run()
}
