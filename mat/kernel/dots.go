package kernel

// Dots sets C = alpha·A·Bᵀ, or with add C = C + alpha·A·Bᵀ, for A of rows × k, k ≥ 1, B of Cols × k
// and C of Cols columns, apart from both. A stride may be 0.
//
//	for i, j: c[i·ldc+j] (+)= alpha · Σ_p a[i·lda+p]·b[j·ldb+p]
func Dots(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool) {
	if Cols == 3 {
		Dots3(c, ldc, a, lda, b, ldb, k, rows, alpha, add)
		return
	}
	i := rows &^ 3
	dots4(c, ldc, a, lda, b, ldb, k, rows, alpha, add)
	if i == rows {
		return
	}
	Dots3(c[i*ldc:], ldc, a[i*lda:], lda, b, ldb, k, rows-i, alpha, add)
	for ; i < rows; i++ {
		s := alpha * Dot(a[i*lda:][:k], b[3*ldb:])
		if add {
			s += c[i*ldc+3]
		}
		c[i*ldc+3] = s
	}
}

// Dots3 is Dots for three columns.
func Dots3(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool) {
	i := 0
	if Rows > 2 {
		dots3(c, ldc, a, lda, b, ldb, k, rows, alpha, add)
		i = rows / 3 * 3
	}
	if i+1 < rows {
		dots2(c[i*ldc:], ldc, a[i*lda:], lda, b, ldb, k, rows-i, alpha, add)
		i += (rows - i) &^ 1
	}
	if i < rows {
		s0, s1, s2 := Dots1(a[i*lda:i*lda+k], b, ldb)
		put((*[3]float64)(c[i*ldc:]), alpha*s0, alpha*s1, alpha*s2, add)
	}
}

func put(c *[3]float64, s0, s1, s2 float64, add bool) {
	if add {
		s0, s1, s2 = c[0]+s0, c[1]+s1, c[2]+s2
	}
	c[0], c[1], c[2] = s0, s1, s2
}

// dots2 is Dots for an even number of rows: six sums and their operands fit Go's 15 registers on
// amd64. Slices of known capacity need no test, the first products no addition.
//
//go:noinline
func dots2(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool) {
	b0, b1, b2 := b[:k], b[ldb:][:k], b[2*ldb:][:k]
	a, c = a[:len(a):len(a)], c[:len(c):len(c)] // the slices below ask for capacity only
	_ = b0[0]                                   // so the compiler knows that k > 0
	i, j := 0, 0
	for ; rows > 1; rows -= 2 {
		a0, a1 := a[i:i+k:i+k], a[i+lda:i+lda+k:i+lda+k]
		a0, a1 = a0[:len(b0)], a1[:len(b0)]
		x, y, u, v, w := a0[0], a1[0], b0[0], b1[0], b2[0]
		s00, s01, s02, s10, s11, s12 := x*u, x*v, x*w, y*u, y*v, y*w
		p := 1
		for ; p < len(b0)-5; p += 6 {
			x, y, u, v, w := a0[p], a1[p], b0[p], b1[p], b2[p]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
			x, y, u, v, w = a0[p+1], a1[p+1], b0[p+1], b1[p+1], b2[p+1]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
			x, y, u, v, w = a0[p+2], a1[p+2], b0[p+2], b1[p+2], b2[p+2]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
			x, y, u, v, w = a0[p+3], a1[p+3], b0[p+3], b1[p+3], b2[p+3]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
			x, y, u, v, w = a0[p+4], a1[p+4], b0[p+4], b1[p+4], b2[p+4]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
			x, y, u, v, w = a0[p+5], a1[p+5], b0[p+5], b1[p+5], b2[p+5]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
		}
		for ; p < len(b0); p++ {
			x, y, u, v, w := a0[p], a1[p], b0[p], b1[p], b2[p]
			s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
			s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
		}
		if alpha != 1 {
			s00, s01, s02, s10, s11, s12 = alpha*s00, alpha*s01, alpha*s02, alpha*s10, alpha*s11, alpha*s12
		}
		put((*[3]float64)(c[j:j+3:j+3]), s00, s01, s02, add)
		put((*[3]float64)(c[j+ldc:j+ldc+3:j+ldc+3]), s10, s11, s12, add)
		i += 2 * lda
		j += 2 * ldc
	}
}

// DotsCopy is Dots for two rows and B_jp = src[p·stride+j], copied to b, stride k, for later rows.
func DotsCopy(c []float64, ldc int, a []float64, lda int, b, src []float64, stride, k int, alpha float64, add bool) {
	s00, s01, s02, s10, s11, s12 := dotsCopy(a[:k], a[lda:], b, src, stride)
	put((*[3]float64)(c), alpha*s00, alpha*s01, alpha*s02, add)
	put((*[3]float64)(c[ldc:]), alpha*s10, alpha*s11, alpha*s12, add)
}

// dotsCopy returns the sums; a function of its own keeps them in registers.
//
//go:noinline
func dotsCopy(a0, a1, b, src []float64, stride int) (s00, s01, s02, s10, s11, s12 float64) {
	a1, b0, b1, b2 := a1[:len(a0)], b[:len(a0)], b[len(a0):][:len(a0)], b[2*len(a0):][:len(a0)]
	at := 0
	for p, x := range a0 {
		y, row := a1[p], src[at:at+3:at+3]
		u, v, w := row[0], row[1], row[2]
		b0[p], b1[p], b2[p] = u, v, w
		s00, s01, s02 = s00+x*u, s01+x*v, s02+x*w
		s10, s11, s12 = s10+y*u, s11+y*v, s12+y*w
		at += stride
	}
	return
}

// dots3 is dots2 for three rows: with fused multiply-add its nine sums fit; without, they spill.
//
//go:noinline
func dots3(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool) {
	b0, b1, b2 := b[:k], b[ldb:][:k], b[2*ldb:][:k]
	for ; rows > 2; rows -= 3 {
		a0, a1, a2 := a[:k], a[lda:][:k], a[2*lda:][:k]
		var s00, s01, s02, s10, s11, s12, s20, s21, s22 float64
		for p, x := range a0 {
			y, z := a1[p], a2[p]
			b := b0[p]
			s00 += x * b
			s10 += y * b
			s20 += z * b
			b = b1[p]
			s01 += x * b
			s11 += y * b
			s21 += z * b
			b = b2[p]
			s02 += x * b
			s12 += y * b
			s22 += z * b
		}
		put((*[3]float64)(c), alpha*s00, alpha*s01, alpha*s02, add)
		put((*[3]float64)(c[ldc:]), alpha*s10, alpha*s11, alpha*s12, add)
		put((*[3]float64)(c[2*ldc:]), alpha*s20, alpha*s21, alpha*s22, add)
		if rows > 5 {
			a, c = a[3*lda:], c[3*ldc:]
		}
	}
}

// dots4 is dots3 for four rows and columns: its sixteen sums fit 31 registers.
//
//go:noinline
func dots4(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool) {
	b0, b1, b2, b3 := b[:k], b[ldb:][:k], b[2*ldb:][:k], b[3*ldb:][:k]
	for i := 0; i+3 < rows; i += 4 {
		a0, a1, a2, a3 := a[i*lda:][:k], a[(i+1)*lda:][:k], a[(i+2)*lda:][:k], a[(i+3)*lda:][:k]
		var s0, s1, s2, s3, t0, t1, t2, t3, u0, u1, u2, u3, v0, v1, v2, v3 float64
		for p, x := range a0 {
			y, z, w := a1[p], a2[p], a3[p]
			b := b0[p]
			s0, t0, u0, v0 = s0+x*b, t0+y*b, u0+z*b, v0+w*b
			b = b1[p]
			s1, t1, u1, v1 = s1+x*b, t1+y*b, u1+z*b, v1+w*b
			b = b2[p]
			s2, t2, u2, v2 = s2+x*b, t2+y*b, u2+z*b, v2+w*b
			b = b3[p]
			s3, t3, u3, v3 = s3+x*b, t3+y*b, u3+z*b, v3+w*b
		}
		for r, s := range [4][4]float64{{s0, s1, s2, s3}, {t0, t1, t2, t3}, {u0, u1, u2, u3}, {v0, v1, v2, v3}} {
			put4((*[4]float64)(c[(i+r)*ldc:]), s, alpha, add)
		}
	}
}

func put4(c *[4]float64, s [4]float64, alpha float64, add bool) {
	for j, v := range s {
		if v *= alpha; add {
			v += c[j]
		}
		c[j] = v
	}
}

// Dots1 returns Σ_p a[p]·b[j·ldb+p] for three rows, each in two halves to hide the latency.
//
//go:noinline
func Dots1(a, b []float64, ldb int) (s0, s1, s2 float64) {
	b0, b1, b2 := b[:len(a)], b[ldb:][:len(a)], b[2*ldb:][:len(a)]
	var t0, t1, t2 float64
	p := 1
	for ; p < len(a); p += 2 {
		x, y := a[p-1], a[p]
		s0 += x * b0[p-1]
		t0 += y * b0[p]
		s1 += x * b1[p-1]
		t1 += y * b1[p]
		s2 += x * b2[p-1]
		t2 += y * b2[p]
	}
	if p == len(a) {
		x := a[p-1]
		s0 += x * b0[p-1]
		s1 += x * b1[p-1]
		s2 += x * b2[p-1]
	}
	return s0 + t0, s1 + t1, s2 + t2
}

// Gram3 returns the products of three rows of one length with each other.
//
//go:noinline
func Gram3(r0, r1, r2 []float64) (s00, s10, s11, s20, s21, s22 float64) {
	r1, r2 = r1[:len(r0)], r2[:len(r0)]
	for p, x := range r0 {
		y, z := r1[p], r2[p]
		s00 += x * x
		s10 += x * y
		s20 += x * z
		s11 += y * y
		s21 += y * z
		s22 += z * z
	}
	return
}
