package mat

// Mul sets dst = a·b, for a of m × k, b of k × n and dst of m × n, apart from both. It panics if
// the sizes do not match. 2mkn flops. Up to the order of summation,
//
//	for i, j: dst[i][j] = Σ_p a[i][p]·b[p][j]
func Mul(dst, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Rows || dst.Cols != b.Cols {
		panic("mat: Mul: dimension mismatch")
	}
	apart("mat: Mul", dst, a, b)
	mul(dst, true, 1, a, b)
}

// AddMul sets dst = dst + alpha·a·b; else as Mul. (BLAS dgemm.)
func AddMul(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMul: dimension mismatch")
	}
	apart("mat: AddMul", dst, a, b)
	mul(dst, false, alpha, a, b)
}

// MulTransA sets dst = aᵀ·b, for a of k × m; else as Mul.
func MulTransA(dst, a, b *Dense) {
	if dst.Rows != a.Cols || a.Rows != b.Rows || dst.Cols != b.Cols {
		panic("mat: MulTransA: dimension mismatch")
	}
	apart("mat: MulTransA", dst, a, b)
	mulTransA(dst, true, 1, a, b)
}

// AddMulTransA sets dst = dst + alpha·aᵀ·b, for a of k × m; else as Mul.
func AddMulTransA(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Cols || a.Rows != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMulTransA: dimension mismatch")
	}
	apart("mat: AddMulTransA", dst, a, b)
	mulTransA(dst, false, alpha, a, b)
}

// MulTransB sets dst = a·bᵀ, for b of n × k; else as Mul.
func MulTransB(dst, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Cols || dst.Cols != b.Rows {
		panic("mat: MulTransB: dimension mismatch")
	}
	apart("mat: MulTransB", dst, a, b)
	mulTransB(dst, true, 1, a, b)
}

// AddMulTransB sets dst = dst + alpha·a·bᵀ, for b of n × k; else as Mul.
func AddMulTransB(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Cols || dst.Cols != b.Rows {
		panic("mat: AddMulTransB: dimension mismatch")
	}
	apart("mat: AddMulTransB", dst, a, b)
	mulTransB(dst, false, alpha, a, b)
}

// MulSym sets dst = s·b, for s of order n, b and dst of n × m, dst apart from both. It panics if
// the sizes do not match. 2n²m flops. (BLAS dsymm.)
func MulSym(dst *Dense, s *Sym, b *Dense) {
	if dst.Rows != s.N || s.N != b.Rows || dst.Cols != b.Cols {
		panic("mat: MulSym: dimension mismatch")
	}
	full := s.Lower()
	apart("mat: MulSym", dst, &full, b)
	g := product{m: s.N, n: b.Cols, k: s.N, alpha: 1, set: true, c: dst.Data, ldc: dst.Stride,
		a: operand{s.Data, s.Stride, symmetric}, b: operand{b.Data, b.Stride, across}}
	g.run()
}

func mul(dst *Dense, set bool, alpha float64, a, b *Dense) {
	g := product{m: a.Rows, n: b.Cols, k: a.Cols, alpha: alpha, set: set, c: dst.Data, ldc: dst.Stride,
		a: operand{a.Data, a.Stride, along}, b: operand{b.Data, b.Stride, across}}
	g.run()
}

func mulTransA(dst *Dense, set bool, alpha float64, a, b *Dense) {
	g := product{m: a.Cols, n: b.Cols, k: a.Rows, alpha: alpha, set: set, c: dst.Data, ldc: dst.Stride,
		a: operand{a.Data, a.Stride, across}, b: operand{b.Data, b.Stride, across}}
	g.run()
}

func mulTransB(dst *Dense, set bool, alpha float64, a, b *Dense) {
	g := product{m: a.Rows, n: b.Rows, k: a.Cols, alpha: alpha, set: set, c: dst.Data, ldc: dst.Stride,
		a: operand{a.Data, a.Stride, along}, b: operand{b.Data, b.Stride, along}}
	g.run()
}
