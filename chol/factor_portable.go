package chol

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
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
		d.panel(l, ld, j, a)
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
	s00, s10, s11, s20, s21, s22 := kernel.Gram3(r0[:j], r1[:j], r2[:j])

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

// panel computes columns j to j+2 of L below their corner d, two or three rows at a time.
func (d *corner) panel(l []float64, ld, j int, a *mat.Sym) {
	if j+3 >= a.N {
		return
	}
	b := l[j*ld:]
	i := j + 3
	if kernel.Rows == 3 {
		for ; i+2 < a.N; i += 3 {
			s00, s01, s02, s10, s11, s12, s20, s21, s22 := kernel.Dots3(l[i*ld:], ld, b, ld, j)
			d.solve(l[i*ld+j:], a.Data[i*a.Stride+j:], s00, s01, s02)
			d.solve(l[(i+1)*ld+j:], a.Data[(i+1)*a.Stride+j:], s10, s11, s12)
			d.solve(l[(i+2)*ld+j:], a.Data[(i+2)*a.Stride+j:], s20, s21, s22)
		}
	}
	for ; i+1 < a.N; i += 2 {
		s00, s01, s02, s10, s11, s12 := kernel.Dots2(l[i*ld:], ld, b, ld, j)
		d.solve(l[i*ld+j:], a.Data[i*a.Stride+j:], s00, s01, s02)
		d.solve(l[(i+1)*ld+j:], a.Data[(i+1)*a.Stride+j:], s10, s11, s12)
	}
	if i < a.N {
		s0, s1, s2 := kernel.Dots1(l[i*ld:i*ld+j], b, ld)
		d.solve(l[i*ld+j:], a.Data[i*a.Stride+j:], s0, s1, s2)
	}
}

// solve sets dst = (src − s)·C⁻ᵀ for the corner C: three entries of one row of L.
func (d *corner) solve(dst, src []float64, s0, s1, s2 float64) {
	x0 := (src[0] - s0) * d.i0
	x1 := (src[1] - s1 - x0*d.l10) * d.i1
	dst[2] = (src[2] - s2 - x0*d.l20 - x1*d.l21) * d.i2
	dst[0], dst[1] = x0, x1
}
