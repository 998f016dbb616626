package mat

// Mul sets dst = a·b. dst must not overlap a or b.
func Mul(dst, a, b *Dense) {
	dst.Zero()
	AddMul(dst, 1, a, b)
}

// MulTransA sets dst = aᵀ·b. dst must not overlap a or b.
func MulTransA(dst, a, b *Dense) {
	dst.Zero()
	AddMulTransA(dst, 1, a, b)
}

// MulTransB sets dst = a·bᵀ. dst must not overlap a or b.
func MulTransB(dst, a, b *Dense) {
	dst.Zero()
	AddMulTransB(dst, 1, a, b)
}

// MulSym sets dst = s·b. dst must not overlap s or b.
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

// AddMul sets dst = dst + alpha·a·b. dst must not overlap a or b.
func AddMul(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMul: dimension mismatch")
	}
	for i := range a.Rows {
		for k, v := range a.Row(i) {
			Axpy(dst.Row(i), alpha*v, b.Row(k))
		}
	}
}

// AddMulTransA sets dst = dst + alpha·aᵀ·b. dst must not overlap a or b.
func AddMulTransA(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Cols || a.Rows != b.Rows || dst.Cols != b.Cols {
		panic("mat: AddMulTransA: dimension mismatch")
	}
	for k := range a.Rows {
		for i, v := range a.Row(k) {
			Axpy(dst.Row(i), alpha*v, b.Row(k))
		}
	}
}

// AddMulTransB sets dst = dst + alpha·a·bᵀ. dst must not overlap a or b.
func AddMulTransB(dst *Dense, alpha float64, a, b *Dense) {
	if dst.Rows != a.Rows || a.Cols != b.Cols || dst.Cols != b.Rows {
		panic("mat: AddMulTransB: dimension mismatch")
	}
	for i := range a.Rows {
		d := dst.Row(i)
		for j := range d {
			d[j] += alpha * Dot(a.Row(i), b.Row(j))
		}
	}
}

// RankK sets s = s + alpha·a·aᵀ.
func RankK(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Rows {
		panic("mat: RankK: dimension mismatch")
	}
	for i := range s.N {
		r := s.Row(i)
		for j := range r {
			r[j] += alpha * Dot(a.Row(i), a.Row(j))
		}
	}
}

// RankKTrans sets s = s + alpha·aᵀ·a.
func RankKTrans(s *Sym, alpha float64, a *Dense) {
	if s.N != a.Cols {
		panic("mat: RankKTrans: dimension mismatch")
	}
	for k := range a.Rows {
		RankOne(s, alpha, a.Row(k))
	}
}
