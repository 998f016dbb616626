package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// SolveVec sets dst = A⁻¹·b; dst may be b. It panics if a length is not n, or without a factor. 2n²
// flops. (LAPACK dpotrs.)
func (c *Cholesky) SolveVec(dst, b []float64) {
	c.need("chol: SolveVec: no factor")
	refuse(len(dst) != c.f.Rows || len(b) != c.f.Rows, "chol: SolveVec", ": dimension mismatch")
	copy(dst, b)
	if c.lower {
		kernel.SolveLower(dst, c.f.Data, c.f.Stride)
		kernel.SolveLowerTrans(dst, c.f.Data, c.f.Stride)
	} else {
		kernel.SolveUpperTrans(dst, c.f.Data, c.f.Stride)
		kernel.SolveUpper(dst, c.f.Data, c.f.Stride)
	}
}

// Solve is SolveVec for the columns of b, n × m: dst = A⁻¹·B. Sizes that do not match panic, too. 2n²·m flops.
func (c *Cholesky) Solve(dst, b *mat.Dense) {
	c.need("chol: Solve: no factor")
	refuse(b.Rows != c.f.Rows || dst.Rows != b.Rows || dst.Cols != b.Cols,
		"chol: Solve", ": dimension mismatch")
	refuse(kernel.Torn(b.Rows, b.Cols, min(b.Stride, dst.Stride)), "chol: Solve", kernel.MsgTorn)
	refuse(dst.Stride != b.Stride && b.Rows > 1 && b.Cols > 0 && kernel.SameStart(dst.Data, b.Data),
		"chol: Solve", kernel.MsgShared)
	if c.lower {
		mat.SolveLower(dst, &c.f, b)
		mat.SolveLowerTrans(dst, &c.f, dst)
	} else {
		mat.SolveUpperTrans(dst, &c.f, b)
		mat.SolveUpper(dst, &c.f, dst)
	}
}

func (c *Cholesky) forward(dst, b []float64) {
	copy(dst, b)
	if c.lower {
		kernel.SolveLower(dst, c.f.Data, c.f.Stride)
	} else {
		kernel.SolveUpperTrans(dst, c.f.Data, c.f.Stride)
	}
}
