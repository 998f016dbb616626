package mat

import "stable/mat/kernel"

// SolveUpperVec sets dst = U⁻¹·b for the upper triangle U of a square u; entries below it are not
// read. dst may be b. A zero or subnormal number on the diagonal may give Inf or NaN. n² flops. (BLAS dtrsv.)
func SolveUpperVec(dst []float64, u *Dense, b []float64) {
	copyVec("mat: SolveUpperVec", dst, u, b)
	kernel.SolveUpper(dst, u.Data, u.Stride)
}

// SolveUpperTransVec is SolveUpperVec for U⁻ᵀ.
func SolveUpperTransVec(dst []float64, u *Dense, b []float64) {
	copyVec("mat: SolveUpperTransVec", dst, u, b)
	kernel.SolveUpperTrans(dst, u.Data, u.Stride)
}

// SolveUpper sets dst = U⁻¹·B for b of n × m; else as SolveUpperVec. n²·m flops. (BLAS dtrsm.)
func SolveUpper(dst, u, b *Dense) { solve("mat: SolveUpper", dst, u, along, false, b) }

// SolveUpperTrans is SolveUpper for U⁻ᵀ.
func SolveUpperTrans(dst, u, b *Dense) { solve("mat: SolveUpperTrans", dst, u, across, true, b) }

// SolveLowerVec is SolveUpperVec for the lower triangle L of l, L⁻¹.
func SolveLowerVec(dst []float64, l *Dense, b []float64) {
	copyVec("mat: SolveLowerVec", dst, l, b)
	kernel.SolveLower(dst, l.Data, l.Stride)
}

// SolveLowerTransVec is SolveLowerVec for L⁻ᵀ.
func SolveLowerTransVec(dst []float64, l *Dense, b []float64) {
	copyVec("mat: SolveLowerTransVec", dst, l, b)
	kernel.SolveLowerTrans(dst, l.Data, l.Stride)
}

// SolveLower is SolveUpper for the lower triangle L of l, L⁻¹.
func SolveLower(dst, l, b *Dense) { solve("mat: SolveLower", dst, l, along, true, b) }

// SolveLowerTrans is SolveLower for L⁻ᵀ.
func SolveLowerTrans(dst, l, b *Dense) { solve("mat: SolveLowerTrans", dst, l, across, false, b) }

func solve(name string, dst, t *Dense, k kind, lower bool, b *Dense) {
	refuse(t.Rows != t.Cols || b.Rows != t.Rows, name, mismatch)
	alike(name, dst, b)
	noAlias(name, dst, t, t)
	Copy(dst, b)
	if dst.Cols > 0 {
		substitute(t, k, lower, dst)
	}
}

func copyVec(name string, dst []float64, t *Dense, b []float64) {
	refuse(t.Rows != t.Cols || len(dst) != t.Rows || len(b) != t.Rows, name, mismatch)
	noAliasVec(name, t, t.at(dst))
	copy(dst, b)
}
