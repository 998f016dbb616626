package mat

// Mul sets dst = a·b, a of m × k, b of k × n, dst of m × n. 2mkn flops. Up to the order of sums,
//
//	for i, j: dst[i][j] = Σ_p a[i][p]·b[p][j]
func Mul(dst, a, b *Dense) { multiply("mat: Mul", dst, true, 1, a, along, b, across) }

// AddMul sets dst = dst + alpha·a·b. (BLAS dgemm.)
func AddMul(dst *Dense, alpha float64, a, b *Dense) {
	multiply("mat: AddMul", dst, false, alpha, a, along, b, across)
}

// MulTransA sets dst = aᵀ·b, for a of k × m.
func MulTransA(dst, a, b *Dense) { multiply("mat: MulTransA", dst, true, 1, a, across, b, across) }

// AddMulTransA sets dst = dst + alpha·aᵀ·b, for a of k × m.
func AddMulTransA(dst *Dense, alpha float64, a, b *Dense) {
	multiply("mat: AddMulTransA", dst, false, alpha, a, across, b, across)
}

// MulTransB sets dst = a·bᵀ, for b of n × k.
func MulTransB(dst, a, b *Dense) { multiply("mat: MulTransB", dst, true, 1, a, along, b, along) }

// MulSym sets dst = s·b, for s of order n, b and dst of n × m. 2n²m flops. (BLAS dsymm.)
func MulSym(dst *Dense, s *Sym, b *Dense) {
	refuse(dst.Rows != s.N || s.N != b.Rows || dst.Cols != b.Cols, "mat: MulSym", mismatch)
	full := s.Lower()
	noAlias("mat: MulSym", dst, &full, b)
	g := product{m: s.N, n: b.Cols, k: s.N, alpha: 1, set: true, c: dst.Data, ldc: dst.Stride,
		a: operand{s.Data, s.Stride, symmetric}, b: operand{b.Data, b.Stride, across}}
	g.run()
}

func multiply(name string, dst *Dense, set bool, alpha float64, a *Dense, ka kind, b *Dense, kb kind) {
	m, k := a.as(ka)
	n, inner := b.as(kb)
	refuse(dst.Rows != m || k != inner || dst.Cols != n, name, mismatch)
	noAlias(name, dst, a, b)
	g := product{m: m, n: n, k: k, alpha: alpha, set: set, c: dst.Data, ldc: dst.Stride,
		a: operand{a.Data, a.Stride, ka}, b: operand{b.Data, b.Stride, kb}}
	g.run()
}

// as returns an operand's rows and their length.
func (a *Dense) as(k kind) (rows, inner int) {
	if k == across {
		return a.Cols, a.Rows
	}
	return a.Rows, a.Cols
}
