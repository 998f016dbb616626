package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// Inverse writes A⁻¹ to dst. It panics if dst is not of order n, or without a factor. 2n³/3 flops.
// (LAPACK dpotri.) To apply A⁻¹, SolveVec is cheaper and more accurate.
func (c *Cholesky) Inverse(dst *mat.Sym) {
	c.need("chol: Inverse: no factor")
	refuse(dst.N != c.f.Rows, "chol: Inverse", ": dimension mismatch")
	refuse(kernel.Torn(dst.N, dst.N, dst.Stride), "chol: Inverse", kernel.MsgTorn)
	c.needUpper()
	c.invertTrans(dst)
	c.square(dst)
}

// invertTrans sets dst = W = U⁻ᵀ, lower triangular, by rows:
//
//	W_i = (e_i − Σ_{k<i} U_ki·W_k) / U_ii
func (c *Cholesky) invertTrans(dst *mat.Sym) {
	u, ld, f := c.f.Data, c.f.Stride, c.work
	d, ldd := dst.Data, dst.Stride
	for i := range dst.N {
		w := dst.Row(i)
		clear(w)
		k := 0
		for ; k+2 < i; k += 3 { // row k has k+1 entries; the three rows share these
			f[0], f[1], f[2] = u[k*ld+i], u[(k+1)*ld+i], u[(k+2)*ld+i]
			kernel.SubRows(w[:k+1], f[:3], d[k*ldd:], ldd)
			w[k+1] -= f[1]*d[(k+1)*ldd+k+1] + f[2]*d[(k+2)*ldd+k+1]
			w[k+2] -= f[2] * d[(k+2)*ldd+k+2]
		}
		for ; k < i; k++ {
			mat.Axpy(w[:k+1], -u[k*ld+i], dst.Row(k))
		}
		s := 1 / u[i*ld+i]
		for j := range w {
			w[j] *= s
		}
		w[i] = s
	}
}

// square replaces the lower triangular W in dst by WᵀW:
//
//	row i = Σ_{k≥i} W_ki·W_k, and the rows from i on are still those of W
func (c *Cholesky) square(dst *mat.Sym) {
	d, ldd := dst.Data, dst.Stride
	for i := range dst.N {
		w := dst.Row(i)
		s := w[i]
		for j := range w {
			w[j] *= s
		}
		if i+1 < dst.N {
			f := c.work[:dst.N-i-1]
			for k := range f {
				f[k] = -d[(i+1+k)*ldd+i]
			}
			kernel.SubRows(w, f, d[(i+1)*ldd:], ldd)
		}
	}
}
