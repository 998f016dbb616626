package chol

import (
	"math"

	"stable/mat"
)

// factorLower sets L = chol(a − shift·I) in the lower triangle of l, and returns n, or the index and value of the first pivot that is
// not positive and finite. It goes by panels of three columns, each made from all columns on its left (left-looking): the rows that the
// dot products run over lie in memory as they are needed. It is
//
//	for j ≤ i: L_ij = (A_ij − Σ_{p<j} L_ip·L_jp) / L_jj, with L_jj = √ for i = j
func factorLower(l []float64, ld int, a *mat.Sym, shift float64) (pivot int, value float64) {
	n := a.N
	for j := 0; j < n; j += 3 {
		var d corner
		if k, v := d.factor(l, ld, j, min(3, n-j), a, shift); k < 3 {
			return j + k, v
		}
		if rowsPerTile == 3 {
			panel3(l, ld, j, a, &d)
		} else {
			panel2(l, ld, j, a, &d)
		}
	}
	return n, 0
}

// A corner is the 3 × 3 block of L on the diagonal that its panel is divided by.
type corner struct {
	l10, l20, l21 float64
	i0, i1, i2    float64 // reciprocals of the diagonal
}

// factor computes and stores the corner in rows and columns j to j+w−1. It returns 3, or the index within it and the value of the pivot that
// fails.
func (d *corner) factor(l []float64, ld, j, w int, a *mat.Sym, shift float64) (k int, v float64) {
	// Rows that do not exist stand in for themselves by the last that does.
	k1, k2 := min(1, w-1), min(2, w-1)
	r0, r1, r2 := l[j*ld:][:j+1], l[(j+k1)*ld:][:j+k1+1], l[(j+k2)*ld:][:j+k2+1]
	a0, a1, a2 := a.Row(j)[j:], a.Row(j + k1)[j:], a.Row(j + k2)[j:]
	s00, s10, s11, s20, s21, s22 := dots3(r0[:j], r1[:j], r2[:j])

	v = a0[0] - shift - s00
	if !(v > 0 && v <= math.MaxFloat64) {
		return 0, v
	}
	v = math.Sqrt(v)
	d.i0 = 1 / v
	r0[j] = v
	if w == 1 {
		return 3, 0
	}
	d.l10 = (a1[0] - s10) * d.i0
	v = a1[1] - shift - s11 - d.l10*d.l10
	if !(v > 0 && v <= math.MaxFloat64) {
		return 1, v
	}
	v = math.Sqrt(v)
	d.i1 = 1 / v
	r1[j], r1[j+1] = d.l10, v
	if w == 2 {
		return 3, 0
	}
	d.l20 = (a2[0] - s20) * d.i0
	d.l21 = (a2[1] - s21 - d.l20*d.l10) * d.i1
	v = a2[2] - shift - s22 - d.l20*d.l20 - d.l21*d.l21
	if !(v > 0 && v <= math.MaxFloat64) {
		return 2, v
	}
	v = math.Sqrt(v)
	d.i2 = 1 / v
	r2[j], r2[j+1], r2[j+2] = d.l20, d.l21, v
	return 3, 0
}

// solve sets dst = (src − s)·C⁻ᵀ for the corner C: three entries of one row of L.
func (d *corner) solve(dst, src []float64, s0, s1, s2 float64) {
	x0 := (src[0] - s0) * d.i0
	x1 := (src[1] - s1 - x0*d.l10) * d.i1
	dst[2] = (src[2] - s2 - x0*d.l20 - x1*d.l21) * d.i2
	dst[0], dst[1] = x0, x1
}

// dots3 returns the products of three vectors of one length with each other.
func dots3(r0, r1, r2 []float64) (s00, s10, s11, s20, s21, s22 float64) {
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

// panel2 computes columns j to j+2 of L below its corner d, two rows at a time.
func panel2(l []float64, ld, j int, a *mat.Sym, d *corner) {
	b0, b1, b2 := l[j*ld:][:j], l[min(j+1, a.N-1)*ld:][:j], l[min(j+2, a.N-1)*ld:][:j]
	i := j + 3
	for ; i+1 < a.N; i += 2 {
		r0, r1 := l[i*ld:][:j+3], l[(i+1)*ld:][:j+3]
		var s00, s01, s02, s10, s11, s12 float64
		a1, b0, b1, b2 := r1[:j], b0[:j], b1[:j], b2[:j]
		for p, x := range r0[:j] {
			y := a1[p]
			b := b0[p]
			s00 += x * b
			s10 += y * b
			b = b1[p]
			s01 += x * b
			s11 += y * b
			b = b2[p]
			s02 += x * b
			s12 += y * b
		}
		d.solve(r0[j:], a.Row(i)[j:], s00, s01, s02)
		d.solve(r1[j:], a.Row(i + 1)[j:], s10, s11, s12)
	}
	if i < a.N {
		r := l[i*ld:][:j+3]
		s0, s1, s2 := dots1(r[:j], b0, b1, b2)
		d.solve(r[j:], a.Row(i)[j:], s0, s1, s2)
	}
}

// panel3 is panel2 with three rows at a time, for machines that fuse multiply and add: nine sums hide its latency.
func panel3(l []float64, ld, j int, a *mat.Sym, d *corner) {
	b0, b1, b2 := l[j*ld:][:j], l[min(j+1, a.N-1)*ld:][:j], l[min(j+2, a.N-1)*ld:][:j]
	i := j + 3
	for ; i+2 < a.N; i += 3 {
		r0, r1, r2 := l[i*ld:][:j+3], l[(i+1)*ld:][:j+3], l[(i+2)*ld:][:j+3]
		var s00, s01, s02, s10, s11, s12, s20, s21, s22 float64
		a1, a2, b0, b1, b2 := r1[:j], r2[:j], b0[:j], b1[:j], b2[:j]
		for p, x := range r0[:j] {
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
		d.solve(r0[j:], a.Row(i)[j:], s00, s01, s02)
		d.solve(r1[j:], a.Row(i + 1)[j:], s10, s11, s12)
		d.solve(r2[j:], a.Row(i + 2)[j:], s20, s21, s22)
	}
	for ; i < a.N; i++ {
		r := l[i*ld:][:j+3]
		s0, s1, s2 := dots1(r[:j], b0, b1, b2)
		d.solve(r[j:], a.Row(i)[j:], s0, s1, s2)
	}
}

// dots1 returns the products of x with three vectors of its length.
func dots1(x, b0, b1, b2 []float64) (s0, s1, s2 float64) {
	b0, b1, b2 = b0[:len(x)], b1[:len(x)], b2[:len(x)]
	for p, v := range x {
		s0 += v * b0[p]
		s1 += v * b1[p]
		s2 += v * b2[p]
	}
	return
}
