package mat

// Mul sets dst = a·b, for a of m × k, b of k × n and dst of m × n. a and b are read; dst must not overlap them.
// It panics if the sizes do not match. It does not allocate. 2mkn flops. It equals, up to the order of summation,
//
//	for i, j: dst[i][j] = Σ_p a[i][p]·b[p][j]
func Mul(dst, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Rows || dst.Cols != b.Cols {
		panic("mat: Mul: dimension mismatch")
	}
	dst.Zero()
	addMul(dst, 1, a, b)
}

// AddMul sets dst = dst + alpha·a·b; all else as Mul. (BLAS dgemm.)
func AddMul(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMul: dimension mismatch")
	}
	addMul(dst, alpha, a, b)
}

// MulTransA sets dst = aᵀ·b, for a of k × m; all else as Mul.
func MulTransA(dst, a, b *Dense) {
	if dst.Rows != a.Cols || a.Rows != b.Rows || dst.Cols != b.Cols {
		panic("mat: MulTransA: dimension mismatch")
	}
	dst.Zero()
	addMulTransA(dst, 1, a, b)
}

// AddMulTransA sets dst = dst + alpha·aᵀ·b, for a of k × m; all else as Mul.
func AddMulTransA(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Cols || a.Rows != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMulTransA: dimension mismatch")
	}
	addMulTransA(dst, alpha, a, b)
}

// MulTransB sets dst = a·bᵀ, for b of n × k; all else as Mul.
func MulTransB(dst, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Cols || dst.Cols != b.Rows {
		panic("mat: MulTransB: dimension mismatch")
	}
	dst.Zero()
	addMulTransB(dst, 1, a, b)
}

// AddMulTransB sets dst = dst + alpha·a·bᵀ, for b of n × k; all else as Mul.
func AddMulTransB(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Cols || dst.Cols != b.Rows {
		panic("mat: AddMulTransB: dimension mismatch")
	}
	addMulTransB(dst, alpha, a, b)
}

// MulSym sets dst = s·b, for s of order n, b and dst of n × m. s and b are read; dst must not overlap them.
// It panics if the sizes do not match. It does not allocate. 2n²m flops. (BLAS dsymm.)
func MulSym(dst *Dense, s *Sym, b *Dense) {
	if dst.Rows != s.N || s.N != b.Rows || dst.Cols != b.Cols {
		panic("mat: MulSym: dimension mismatch")
	}
	dst.Zero()
	for i := range s.N {
		for j, v := range s.Row(i) {
			Axpy(dst.Row(i), v, b.Row(j))
			if j < i {
				Axpy(dst.Row(j), v, b.Row(i))
			}
		}
	}
}

func addMul(dst *Dense, alpha float64, a, b *Dense) {
	for i := range a.Rows {
		for k, v := range a.Row(i) {
			Axpy(dst.Row(i), alpha*v, b.Row(k))
		}
	}
}

func addMulTransA(dst *Dense, alpha float64, a, b *Dense) {
	for k := range a.Rows {
		for i, v := range a.Row(k) {
			Axpy(dst.Row(i), alpha*v, b.Row(k))
		}
	}
}

func addMulTransB(dst *Dense, alpha float64, a, b *Dense) {
	for i := range a.Rows {
		d := dst.Row(i)
		for j := range d {
			d[j] += alpha * Dot(a.Row(i), b.Row(j))
		}
	}
}
