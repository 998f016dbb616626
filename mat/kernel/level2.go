package kernel

// Dot returns Σ x_i·y_i over the length of x, as four interleaved sums of rounded products: a fused
// addition would wait longer.
func Dot(x, y []float64) float64 {
	if Vector() && len(x) >= vectorDot {
		return dotVector(x, y)
	}
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i < len(x)-3; i += 4 {
		s0 += float64(x[i] * y[i])
		s1 += float64(x[i+1] * y[i+1])
		s2 += float64(x[i+2] * y[i+2])
		s3 += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		s0 += float64(x[i] * y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// Axpy sets y_i += s·x_i, over the length of y.
func Axpy(y []float64, s float64, x []float64) {
	if Vector() && len(y) >= vectorAxpy {
		axpyVector(y, s, x)
		return
	}
	axpyRow(y, s, x)
}

// axpy3 is Axpy for three rows of x.
func axpy3(y, x []float64, ld int, s0, s1, s2 float64) {
	x0, x1, x2 := x[:len(y)], x[ld:][:len(y)], x[2*ld:][:len(y)]
	for i, v := range y {
		y[i] = v + s0*x0[i] + s1*x1[i] + s2*x2[i]
	}
}

// axpy6 is axpy3 for six rows, with fewer loads and stores a flop.
//
//go:noinline
func axpy6(y, x []float64, ld int, s0, s1, s2, s3, s4, s5 float64) {
	x0, x1, x2, x3, x4, x5 := x[:len(y)], x[ld:][:len(y)], x[2*ld:][:len(y)], x[3*ld:][:len(y)], x[4*ld:][:len(y)], x[5*ld:][:len(y)]
	for i, v := range y {
		y[i] = v + s0*x0[i] + s1*x1[i] + s2*x2[i] + s3*x3[i] + s4*x4[i] + s5*x5[i]
	}
}

//go:noinline
func dots6(a, b []float64, ld int) (s0, s1, s2, s3, s4, s5 float64) {
	x0, x1, x2, x3, x4, x5 := b[:len(a)], b[ld:][:len(a)], b[2*ld:][:len(a)], b[3*ld:][:len(a)], b[4*ld:][:len(a)], b[5*ld:][:len(a)]
	for i, v := range a {
		s0 += v * x0[i]
		s1 += v * x1[i]
		s2 += v * x2[i]
		s3 += v * x3[i]
		s4 += v * x4[i]
		s5 += v * x5[i]
	}
	return
}

// MulVec sets dst_i = Σ_j a[i·lda+j]·x_j.
func MulVec(dst, a []float64, lda int, x []float64) {
	if Vector() && (len(x) >= vectorMulVec || useVectors(len(x)) && len(dst) >= 4) {
		mulVecVector(dst, a, lda, x)
		return
	}
	i := 0
	for ; i+5 < len(dst); i += 6 {
		d := dst[i:][:6]
		d[0], d[1], d[2], d[3], d[4], d[5] = dots6(x, a[i*lda:], lda)
	}
	for ; i+2 < len(dst); i += 3 {
		dst[i], dst[i+1], dst[i+2] = Dots1(x, a[i*lda:], lda)
	}
	for ; i < len(dst); i++ {
		dst[i] = Dot(x, a[i*lda:][:len(x)])
	}
}

// useVectors tells whether MulVec takes vectors below vectorMulVec: rows fill 256 bits, or the build does not fuse.
func useVectors(n int) bool {
	switch n {
	case 4, 8, 16, 19, 20:
		return true
	case 12:
		return Rows == 2
	case 17, 18, 21:
		return Rows == 2 || Lanes() == 8
	}
	return false
}

// MulVecTrans sets dst_j = Σ_i a[i·lda+j]·x_i.
func MulVecTrans(dst, a []float64, lda int, x []float64) {
	if Vector() && len(dst) >= vectorAxpy {
		mulVecTransVector(dst, a, lda, x)
		return
	}
	clear(dst)
	addRows(dst, 1, x, a, lda)
}

func addRows(y []float64, c float64, s, x []float64, ld int) {
	i := 0
	for ; i+5 < len(s); i += 6 {
		axpy6(y, x[i*ld:], ld, c*s[i], c*s[i+1], c*s[i+2], c*s[i+3], c*s[i+4], c*s[i+5])
	}
	for ; i+2 < len(s); i += 3 {
		axpy3(y, x[i*ld:], ld, c*s[i], c*s[i+1], c*s[i+2])
	}
	for ; i < len(s); i++ {
		axpyRow(y, c*s[i], x[i*ld:])
	}
}

// MulVecSym sets dst = S·x for the symmetric S of lower triangle a, reading each entry once.
func MulVecSym(dst, a []float64, lda int, x []float64) {
	if n := len(x); Vector() && (n >= vectorSym || n == 8) {
		mulVecSymVector(dst, a, lda, x)
		return
	}
	symRest(dst, a, lda, x, 0)
}

func symRest(dst, a []float64, lda int, x []float64, i int) {
	for ; i+2 < len(x); i += 3 {
		x0, x1, x2 := x[i], x[i+1], x[i+2]
		s0, s1, s2 := symRows(dst[:i], x, a[i*lda:], lda, x0, x1, x2)
		r0, r1, r2 := a[i*lda+i:], a[(i+1)*lda+i:][:2], a[(i+2)*lda+i:][:3]
		dst[i] = s0 + r0[0]*x0 + r1[0]*x1 + r2[0]*x2
		dst[i+1] = s1 + r1[0]*x0 + r1[1]*x1 + r2[1]*x2
		dst[i+2] = s2 + r2[0]*x0 + r2[1]*x1 + r2[2]*x2
	}
	for ; i < len(x); i++ {
		r := a[i*lda:][:i+1]
		dst[i] = Dot(r, x)
		axpyRow(dst[:i], x[i], r)
	}
}

// symRows sets y_j += x0·a_0j + x1·a_1j + x2·a_2j over the length of y, and returns Σ a_ij·x_j.
//
//go:noinline
func symRows(y, x, a []float64, lda int, x0, x1, x2 float64) (s0, s1, s2 float64) {
	a0, a1, a2, x := a[:len(y)], a[lda:][:len(y)], a[2*lda:][:len(y)], x[:len(y)]
	for j, r := range y {
		t, u, v, w := x[j], a0[j], a1[j], a2[j]
		s0 += float64(u * t) // not fused: the sum is the chain
		s1 += float64(v * t)
		s2 += float64(w * t)
		y[j] = r + x0*u + x1*v + x2*w
	}
	return
}

// SubRows sets y_j −= Σ_i s_i·x[i·ld+j], over the length of y.
func SubRows(y, s, x []float64, ld int) {
	if Vector() && len(y) >= vectorAxpy {
		subRowsVector(y, s, x, ld)
		return
	}
	addRows(y, -1, s, x, ld)
}

// SolveLower sets x = L⁻¹·x, for the lower triangle of l, by three rows of dot products.
func SolveLower(x, l []float64, ld int) {
	if len(x) == 2 {
		v := x[0] * (1 / l[0])
		x[0], x[1] = v, (x[1]-float64(v*l[ld]))*(1/l[ld+1])
		return
	}
	i := 0
	for ; i < len(x)-2; i += 3 {
		var s0, s1, s2 float64
		if i > 0 {
			s0, s1, s2 = Dots1(x[:i], l[i*ld:], ld)
		}
		p := i*ld + i // few entries take fewer tests than slices of them
		q, r := p+ld, p+2*ld
		v0 := (x[i] - s0) * (1 / l[p])
		v1 := (x[i+1] - s1 - l[q]*v0) * (1 / l[q+1])
		v2 := (x[i+2] - s2 - l[r]*v0 - l[r+1]*v1) * (1 / l[r+2])
		x[i], x[i+1], x[i+2] = v0, v1, v2
	}
	for ; i < len(x); i++ {
		x[i] = (x[i] - Dot(x[:i], l[i*ld:])) * (1 / l[i*ld+i])
	}
}

// SolveLowerTrans sets x = L⁻ᵀ·x, for the lower triangle of l.
func SolveLowerTrans(x, l []float64, ld int) {
	i := len(x) - 3
	for ; i >= 0; i -= 3 {
		p := i*ld + i
		q, r := p+ld, p+2*ld
		v2 := x[i+2] * (1 / l[r+2])
		v1 := (x[i+1] - l[r+1]*v2) * (1 / l[q+1])
		v0 := (x[i] - l[r]*v2 - l[q]*v1) * (1 / l[p])
		x[i], x[i+1], x[i+2] = v0, v1, v2
		axpy3(x[:i], l[i*ld:], ld, -v0, -v1, -v2)
	}
	if i += 2; i > 0 {
		x[1] *= 1 / l[ld+1]
		x[0] -= x[1] * l[ld]
	}
	if i >= 0 {
		x[0] *= 1 / l[0]
	}
}

// SolveUpper sets x = U⁻¹·x, for the upper triangle of u.
func SolveUpper(x, u []float64, ld int) {
	if Vector() && len(x) >= vectorSolve {
		solveUpperVector(x, u, ld)
		return
	}
	i, n := len(x)-3, len(x)
	for ; i >= 0; i -= 3 {
		r0, r1, r2 := u[i*ld+i:][:3], u[(i+1)*ld+i:][:3], u[(i+2)*ld+i:][:3]
		var s0, s1, s2 float64
		if i+3 < n {
			s0, s1, s2 = Dots1(x[i+3:], u[i*ld+i+3:], ld)
		}
		v2 := (x[i+2] - s2) * (1 / r2[2])
		v1 := (x[i+1] - s1 - r1[2]*v2) * (1 / r1[1])
		v0 := (x[i] - s0 - r0[2]*v2 - r0[1]*v1) * (1 / r0[0])
		x[i], x[i+1], x[i+2] = v0, v1, v2
	}
	for i += 2; i >= 0; i-- {
		x[i] = (x[i] - Dot(x[i+1:], u[i*ld+i+1:])) * (1 / u[i*ld+i])
	}
}

// SolveUpperTrans sets x = U⁻ᵀ·x, for the upper triangle of u.
func SolveUpperTrans(x, u []float64, ld int) {
	if Vector() && len(x) >= vectorTrans {
		solveUpperTransVector(x, u, ld)
		return
	}
	i, n := 0, len(x)
	for ; i+2 < n; i += 3 {
		r0, r1, r2 := u[i*ld+i:][:3], u[(i+1)*ld+i:][:3], u[(i+2)*ld+i:][:3]
		v0 := x[i] * (1 / r0[0])
		v1 := (x[i+1] - r0[1]*v0) * (1 / r1[1])
		v2 := (x[i+2] - r0[2]*v0 - r1[2]*v1) * (1 / r2[2])
		x[i], x[i+1], x[i+2] = v0, v1, v2
		if i+3 < n {
			axpy3(x[i+3:], u[i*ld+i+3:], ld, -v0, -v1, -v2)
		}
	}
	for ; i < n; i++ {
		x[i] *= 1 / u[i*ld+i]
		Axpy(x[i+1:], -x[i], u[i*ld+i+1:])
	}
}
