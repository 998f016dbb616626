package chol

import (
	"math"

	"stable/mat"
)

// factorUpper sets U = Lᵀ of a − shift·I in the upper triangle of u, and returns n, or the index and value of the first pivot that is
// not positive and finite. It is the same left-looking elimination as factorLower, transposed for vectors along the rows of U:
//
//	for i ≤ j: U_ij = (A_ij − Σ_{p<i} U_pi·U_pj) / U_ii, with U_ii = √ for i = j
func factorUpper(u []float64, ld int, a *mat.Sym, shift float64) (pivot int, value float64) {
	n := a.N
	loadUpper(u, ld, a, shift)
	return factorRows(u, ld, n)
}

// loadUpper sets the upper triangle of u to that of a − shift·I.
func loadUpper(u []float64, ld int, a *mat.Sym, shift float64) {
	n := a.N
	i := 0
	for ; i+3 < n; i += 4 {
		r0, r1, r2, r3 := a.Row(i), a.Row(i+1), a.Row(i+2), a.Row(i+3)
		for j, v := range r0[:i] {
			d := u[j*ld+i : j*ld+i+4]
			d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
		}
		d := u[i*ld+i:]
		d[0], d[1], d[2], d[3] = r0[i]-shift, r1[i], r2[i], r3[i]
		d = d[ld:]
		d[1], d[2], d[3] = r1[i+1]-shift, r2[i+1], r3[i+1]
		d = d[ld:]
		d[2], d[3] = r2[i+2]-shift, r3[i+2]
		d[ld+3] = r3[i+3] - shift
	}
	for ; i < n; i++ {
		for j, v := range a.Row(i) {
			u[j*ld+i] = v
		}
		u[i*ld+i] -= shift
	}
}

// A corner4 is a 4 × 4 block on the diagonal, as the steps that divide by it: subtract multiples of rows, then scale the rows.
type corner4 struct {
	m01, m02, m03, m12, m13, m23 float64 // row j += m_ij·row i
	s0, s1, s2, s3               float64 // row i *= s_i, the reciprocals of the diagonal
}

// factor computes the corner of the block in the first w rows and columns of u; the steps for rows beyond w are zero. It returns 4, or the index
// and value of the pivot that fails. The chain from pivot to pivot is one division and two multiplications; the roots, off that chain,
// come out of the reciprocals: 1/√d = √(1/d).
func (c *corner4) factor(u []float64, ld, w int) (k int, v float64) {
	*c = corner4{}
	r0, r1, r2, r3 := u[:4], u[ld:][:4], u[2*ld:][:4], u[3*ld:][:4]
	d := r0[0]
	if !usable(d) {
		return 0, d
	}
	q0 := 1 / d
	c.s0 = math.Sqrt(q0)
	if w == 1 {
		return 4, 0
	}
	c.m01 = -r0[1] * q0
	d = r1[1] + c.m01*r0[1]
	if !usable(d) {
		return 1, d
	}
	q1 := 1 / d
	c.s1 = math.Sqrt(q1)
	if w == 2 {
		return 4, 0
	}
	c.m02 = -r0[2] * q0
	t12 := r1[2] + c.m01*r0[2]
	c.m12 = -t12 * q1
	d = r2[2] + c.m02*r0[2] + c.m12*t12
	if !usable(d) {
		return 2, d
	}
	q2 := 1 / d
	c.s2 = math.Sqrt(q2)
	if w == 3 {
		return 4, 0
	}
	c.m03 = -r0[3] * q0
	t13 := r1[3] + c.m01*r0[3]
	c.m13 = -t13 * q1
	t23 := r2[3] + c.m02*r0[3] + c.m12*t13
	c.m23 = -t23 * q2
	d = r3[3] + c.m03*r0[3] + c.m13*t13 + c.m23*t23
	if !usable(d) {
		return 3, d
	}
	c.s3 = math.Sqrt(1 / d)
	return 4, 0
}

// usable tells whether a factor can have the square root of d on its diagonal.
func usable(d float64) bool { return d >= 0x1p-1022 && d <= math.MaxFloat64 }
