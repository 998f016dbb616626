//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package chol

import (
	"simd"

	"stable/mat/kernel"
)

// factorRows turns A into U, and returns n, or the index and value of the first pivot that fails.
// It goes by strips of four rows, and in a strip by tiles of one or two vectors of columns:
//
//	C = A_ij − Σ_{p<i} U_pi·U_pj; the strip's own 4 × 4 block gives the corner; U_ij = corner⁻ᵀ·C
//
// u has whole strips of rows and whole vectors of columns; columns do not mix, and rows only go
// down, so what is there beyond n reaches nothing inside. The sums run along rows of u both ways,
// so nothing is transposed or copied. As i is a multiple of 4, they go by four rows at a time: the
// processor then foresees the end of the loop.
func factorRows(u []float64, ld, n int) (pivot int, value float64) {
	v := simd.VectorBitSize() / 64
	var d corner
	for i := 0; i < n; i += 4 {
		lo, ready := 0, false
		for j := i &^ (v - 1); j < n; {
			t0, t1, t2, t3 := u[i*ld+j:], u[(i+1)*ld+j:], u[(i+2)*ld+j:], u[(i+3)*ld+j:]
			w := v
			if n-j > v {
				w = 2 * v
			}
			var c00, c01, c10, c11, c20, c21, c30, c31 simd.Float64s
			if w == v {
				for x, y := lo*ld+i, lo*ld+j; x < i*ld; x, y = x+ld, y+ld {
					a := (*[4]float64)(u[x : x+4 : x+4])
					b := simd.LoadFloat64s(u[y : y+v : y+v])
					c00 = simd.BroadcastFloat64s(a[0]).MulAdd(b, c00)
					c10 = simd.BroadcastFloat64s(a[1]).MulAdd(b, c10)
					c20 = simd.BroadcastFloat64s(a[2]).MulAdd(b, c20)
					c30 = simd.BroadcastFloat64s(a[3]).MulAdd(b, c30)
				}
			} else {
				for x, y := lo*ld+i, lo*ld+j; x < i*ld; {
					a := (*[4]float64)(u[x : x+4 : x+4])
					b := u[y : y+2*v : y+2*v]
					b0, b1 := simd.LoadFloat64s(b), simd.LoadFloat64s(b[v:])
					c00, c01 = axpy(simd.BroadcastFloat64s(a[0]), b0, b1, c00, c01)
					c10, c11 = axpy(simd.BroadcastFloat64s(a[1]), b0, b1, c10, c11)
					c20, c21 = axpy(simd.BroadcastFloat64s(a[2]), b0, b1, c20, c21)
					c30, c31 = axpy(simd.BroadcastFloat64s(a[3]), b0, b1, c30, c31)
					x, y = x+ld, y+ld

					a = (*[4]float64)(u[x : x+4 : x+4])
					b = u[y : y+2*v : y+2*v]
					b0, b1 = simd.LoadFloat64s(b), simd.LoadFloat64s(b[v:])
					c00, c01 = axpy(simd.BroadcastFloat64s(a[0]), b0, b1, c00, c01)
					c10, c11 = axpy(simd.BroadcastFloat64s(a[1]), b0, b1, c10, c11)
					c20, c21 = axpy(simd.BroadcastFloat64s(a[2]), b0, b1, c20, c21)
					c30, c31 = axpy(simd.BroadcastFloat64s(a[3]), b0, b1, c30, c31)
					x, y = x+ld, y+ld

					a = (*[4]float64)(u[x : x+4 : x+4])
					b = u[y : y+2*v : y+2*v]
					b0, b1 = simd.LoadFloat64s(b), simd.LoadFloat64s(b[v:])
					c00, c01 = axpy(simd.BroadcastFloat64s(a[0]), b0, b1, c00, c01)
					c10, c11 = axpy(simd.BroadcastFloat64s(a[1]), b0, b1, c10, c11)
					c20, c21 = axpy(simd.BroadcastFloat64s(a[2]), b0, b1, c20, c21)
					c30, c31 = axpy(simd.BroadcastFloat64s(a[3]), b0, b1, c30, c31)
					x, y = x+ld, y+ld

					a = (*[4]float64)(u[x : x+4 : x+4])
					b = u[y : y+2*v : y+2*v]
					b0, b1 = simd.LoadFloat64s(b), simd.LoadFloat64s(b[v:])
					c00, c01 = axpy(simd.BroadcastFloat64s(a[0]), b0, b1, c00, c01)
					c10, c11 = axpy(simd.BroadcastFloat64s(a[1]), b0, b1, c10, c11)
					c20, c21 = axpy(simd.BroadcastFloat64s(a[2]), b0, b1, c20, c21)
					c30, c31 = axpy(simd.BroadcastFloat64s(a[3]), b0, b1, c30, c31)
					x, y = x+ld, y+ld
				}
			}
			c00 = simd.LoadFloat64s(t0).Sub(c00)
			c10 = simd.LoadFloat64s(t1).Sub(c10)
			c20 = simd.LoadFloat64s(t2).Sub(c20)
			c30 = simd.LoadFloat64s(t3).Sub(c30)
			if w > v {
				c01 = simd.LoadFloat64s(t0[v:]).Sub(c01)
				c11 = simd.LoadFloat64s(t1[v:]).Sub(c11)
				c21 = simd.LoadFloat64s(t2[v:]).Sub(c21)
				c31 = simd.LoadFloat64s(t3[v:]).Sub(c31)
			}
			if ready {
				// Divide by the corner: eliminate, then scale.
				c10, c11 = axpy(simd.BroadcastFloat64s(d.m01), c00, c01, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(d.m02), c00, c01, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(d.m03), c00, c01, c30, c31)
				c20, c21 = axpy(simd.BroadcastFloat64s(d.m12), c10, c11, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(d.m13), c10, c11, c30, c31)
				c30, c31 = axpy(simd.BroadcastFloat64s(d.m23), c20, c21, c30, c31)
				c00, c01 = scale(simd.BroadcastFloat64s(d.s0), c00, c01)
				c10, c11 = scale(simd.BroadcastFloat64s(d.s1), c10, c11)
				c20, c21 = scale(simd.BroadcastFloat64s(d.s2), c20, c21)
				c30, c31 = scale(simd.BroadcastFloat64s(d.s3), c30, c31)
			}
			c00.Store(t0)
			c10.Store(t1)
			c20.Store(t2)
			c30.Store(t3)
			if w > v {
				c01.Store(t0[v:])
				c11.Store(t1[v:])
				c21.Store(t2[v:])
				c31.Store(t3[v:])
			}
			if ready {
				if j <= i { // the first tile
					d.put(t0[i-j:], t1[i-j:], t2[i-j:], t3[i-j:])
				}
				j += w
				lo = 0
				continue
			}
			// The first tile holds the corner. It comes round again to be divided by it, with
			// nothing left to subtract.
			kernel.ClearUpper()
			r0, r1, r2, r3 := t0[i-j:], t1[i-j:], t2[i-j:], t3[i-j:]
			rows := min(4, n-i)
			if k, x := d.factor(rows, r0[0], r0[1], r1[1], r0[2], r1[2], r2[2], r0[3], r1[3], r2[3], r3[3]); k < rows {
				return i + k, x
			}
			ready, lo = true, i
		}
	}
	kernel.ClearUpper()
	return n, 0
}

// axpy returns c + s·b, for two vectors.
func axpy(s, b0, b1, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	c0 = s.MulAdd(b0, c0)
	c1 = s.MulAdd(b1, c1)
	return c0, c1
}

// scale returns s·c, for two vectors.
func scale(s, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	return c0.Mul(s), c1.Mul(s)
}

// put writes the factor of the corner, but for its first row off the diagonal, into four rows of U.
// They must hold what the steps above were made of: where a pivot is left over from cancellation, a
// second elimination with other roundings may leave anything there, even a negative number.
func (c *corner) put(u0, u1, u2, u3 []float64) {
	u0[0] = c.r0
	u1[1], u1[2], u1[3] = c.r1, -c.m12*c.r1, -c.m13*c.r1
	u2[2], u2[3] = c.r2, -c.m23*c.r2
	u3[3] = c.r3
}
