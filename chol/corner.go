package chol

import "math"

// A corner is a block of up to 4 × 4 on the diagonal, stored as the steps that divide by it: add
// multiples of the rows above, then scale the rows. (For L in place of U, read columns for rows.)
type corner struct {
	m01, m02, m03, m12, m13, m23 float64 // row j += m_ij·row i
	s0, s1, s2, s3               float64 // row i *= s_i, the reciprocals of the diagonal of the factor
	r0, r1, r2, r3               float64 // that diagonal
}

// factor computes the corner of order w from the upper triangle of its block. It returns w, or the
// index and value of the pivot that fails. The chain of dependent operations from pivot to pivot is
// a division and two multiplications, as in LDLᵀ; the roots, 1/√d = √d·(1/d), are not part of that
// chain.
func (c *corner) factor(w int, a00, a01, a11, a02, a12, a22, a03, a13, a23, a33 float64) (k int, pivot float64) {
	if w < 3 {
		*c = corner{}
	}
	if !usable(a00) {
		return 0, a00
	}
	q0 := 1 / a00
	c.r0 = math.Sqrt(a00)
	c.s0 = c.r0 * q0
	if w == 1 {
		return 1, 0
	}
	c.m01 = -a01 * q0
	a11 += c.m01 * a01
	if !usable(a11) {
		return 1, a11
	}
	q1 := 1 / a11
	c.r1 = math.Sqrt(a11)
	c.s1 = c.r1 * q1
	if w == 2 {
		return 2, 0
	}
	c.m02 = -a02 * q0
	a12 += c.m01 * a02
	c.m12 = -a12 * q1
	a22 += c.m02*a02 + c.m12*a12
	if !usable(a22) {
		return 2, a22
	}
	q2 := 1 / a22
	c.r2 = math.Sqrt(a22)
	c.s2 = c.r2 * q2
	if w == 3 {
		c.m03, c.m13, c.m23, c.s3, c.r3 = 0, 0, 0, 0, 0
		return 3, 0
	}
	c.m03 = -a03 * q0
	a13 += c.m01 * a03
	c.m13 = -a13 * q1
	a23 += c.m02*a03 + c.m12*a13
	c.m23 = -a23 * q2
	a33 += c.m03*a03 + c.m13*a13 + c.m23*a23
	if !usable(a33) {
		return 3, a33
	}
	c.r3 = math.Sqrt(a33)
	c.s3 = c.r3 * (1 / a33)
	return 4, 0
}

// put writes the factor of the corner, except its first row off the diagonal, into four rows of U.
// It writes exactly the numbers that the steps were computed from: where cancellation left a pivot,
// a second elimination with different rounding could produce anything, even a negative number.
func (c *corner) put(u0, u1, u2, u3 []float64) {
	u0[0] = c.r0
	u1[1], u1[2], u1[3] = c.r1, -c.m12*c.r1, -c.m13*c.r1
	u2[2], u2[3] = c.r2, -c.m23*c.r2
	u3[3] = c.r3
}

// usable reports whether d is a pivot: positive, finite, and not so small that its reciprocal is
// not.
func usable(d float64) bool { return d >= 0x1p-1022 && d <= math.MaxFloat64 }
