package chol

import (
	"math"

	"stable/mat/kernel"
)

// A corner is the factor of a diagonal block up to 4 × 4, as the elimination that divides by it.
type corner struct {
	kernel.Elimination
	r0, r1, r2, r3 float64 // the diagonal of the factor; S_i are their reciprocals
}

// factor computes the corner of order w, and no more, and returns w, or the index and value of the failing pivot.
// Roots, 1/√d = √d·(1/d), are off the chain between pivots.
func (c *corner) factor(w int, a00, a01, a11, a02, a12, a22, a03, a13, a23, a33 float64) (k int, pivot float64) {
	if !usable(a00) {
		return 0, a00
	}
	q0 := 1 / a00
	c.r0 = math.Sqrt(a00)
	c.S0 = c.r0 * q0
	if w == 1 {
		return 1, 0
	}
	c.M01 = -a01 * q0
	a11 += c.M01 * a01
	if !usable(a11) {
		return 1, a11
	}
	q1 := 1 / a11
	c.r1 = math.Sqrt(a11)
	c.S1 = c.r1 * q1
	if w == 2 {
		return 2, 0
	}
	c.M02 = -a02 * q0
	a12 += c.M01 * a02
	c.M12 = -a12 * q1
	a22 += c.M02*a02 + c.M12*a12
	if !usable(a22) {
		return 2, a22
	}
	q2 := 1 / a22
	c.r2 = math.Sqrt(a22)
	c.S2 = c.r2 * q2
	if w == 3 {
		return 3, 0
	}
	c.M03 = -a03 * q0
	a13 += c.M01 * a03
	c.M13 = -a13 * q1
	a23 += c.M02*a03 + c.M12*a13
	c.M23 = -a23 * q2
	a33 += c.M03*a03 + c.M13*a13 + c.M23*a23
	if !usable(a33) {
		return 3, a33
	}
	c.r3 = math.Sqrt(a33)
	c.S3 = c.r3 * (1 / a33)
	return 4, 0
}

// put writes the corner, except its first row off the diagonal, into four rows of U: the numbers of
// the elimination, since others could give a negative pivot after cancellation.
func (c *corner) put(u0, u1, u2, u3 []float64) {
	u0[0] = c.r0
	u1[1], u1[2], u1[3] = c.r1, -c.M12*c.r1, -c.M13*c.r1
	u2[2], u2[3] = c.r2, -c.M23*c.r2
	u3[3] = c.r3
}

func usable(d float64) bool { return d >= 0x1p-1022 && d <= math.MaxFloat64 }
