package mattest

import (
	"math"

	"stable/mat"
)

// Eps is the unit of the residuals, the distance from 1 to the next float64.
const Eps = 0x1p-52

// MaxDiff returns max |a − b|, +Inf where a difference is NaN. It panics if the sizes differ.
func MaxDiff(a, b *mat.Dense) float64 {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		panic("mattest: MaxDiff: dimension mismatch")
	}
	m := 0.0
	for i := range a.Rows {
		m = max(m, MaxDiffVec(a.Row(i), b.Row(i)))
	}
	return m
}

// MaxDiffVec is MaxDiff for vectors.
func MaxDiffVec(x, y []float64) (m float64) {
	if len(x) != len(y) {
		panic("mattest: MaxDiffVec: dimension mismatch")
	}
	for i, v := range x {
		if m = max(m, math.Abs(v-y[i])); math.IsNaN(m) {
			return math.Inf(1)
		}
	}
	return m
}

// Full returns a square Dense with both triangles of s.
func Full(s *mat.Sym) *mat.Dense { return denseOf(s.N, s.N, s.At) }

func denseOf(rows, cols int, at func(i, j int) float64) *mat.Dense {
	return mat.DenseOf(rows, cols, list(rows*cols, func(k int) float64 { return at(k/cols, k%cols) }))
}

// Mul returns a·b by the definition.
func Mul(a, b *mat.Dense) *mat.Dense {
	c := mat.NewDense(a.Rows, b.Cols)
	for i := range a.Rows {
		ci := c.Row(i)
		for k, v := range a.Row(i) {
			for j, w := range b.Row(k)[:len(ci)] {
				ci[j] += v * w
			}
		}
	}
	return c
}

// Trans returns aᵀ.
func Trans(a *mat.Dense) *mat.Dense {
	return denseOf(a.Cols, a.Rows, func(i, j int) float64 { return a.At(j, i) })
}

// CholResidual returns ‖A − L·Lᵀ‖_F / (n·eps·‖A‖_F) for the lower triangle of l.
func CholResidual(a *mat.Sym, l *mat.Dense) float64 {
	f, e := unit(Full(a))
	if e%2 != 0 { // A and L are scaled by 2^−e and 2^(−e/2)
		f, e = shifted(f, -1), e+1
	}
	low := denseOf(a.N, a.N, func(i, j int) float64 {
		if j > i {
			return 0
		}
		return math.Ldexp(l.At(i, j), -e/2)
	})
	return relative(Mul(low, Trans(low)), f, frob(f))
}

// EigResidual returns ‖A·V − V·diag(lambda)‖_F / (n·eps·‖A‖_F).
func EigResidual(a *mat.Sym, lambda []float64, v *mat.Dense) float64 {
	f, e := unit(Full(a))
	vl := denseOf(v.Rows, v.Cols, func(i, j int) float64 { return v.At(i, j) * math.Ldexp(lambda[j], -e) })
	return relative(Mul(f, v), vl, frob(f))
}

// Orthogonality returns ‖VᵀV − I‖_F / (n·eps).
func Orthogonality(v *mat.Dense) float64 {
	one := Full(diag(list(v.Cols, func(int) float64 { return 1 })...))
	return relative(Mul(Trans(v), v), one, 1)
}

// SolveResidual returns ‖B − A·X‖_F / (n·eps·‖A‖_F·‖X‖_F).
func SolveResidual(a *mat.Sym, x, b *mat.Dense) float64 {
	f, e := unit(Full(a))
	y, g := unit(x)
	return relative(Mul(f, y), shifted(b, -e-g), frob(f)*frob(y))
}

func relative(a, b *mat.Dense, norm float64) float64 {
	r := frob(denseOf(a.Rows, a.Cols, func(i, j int) float64 { return a.At(i, j) - b.At(i, j) }))
	if r == 0 {
		return 0
	}
	return r / (float64(max(a.Rows, a.Cols)) * Eps * norm)
}

func frob(a *mat.Dense) float64 {
	s := 0.0
	for i := range a.Rows {
		for _, v := range a.Row(i) {
			s += v * v
		}
	}
	return math.Sqrt(s)
}

// unit returns a·2^−e whose largest entry is in [½, 1), or a and 0 where it is 0 or not finite.
func unit(a *mat.Dense) (scaled *mat.Dense, e int) {
	if m := mat.MaxAbs(a); mat.IsFinite(m) {
		_, e = math.Frexp(m)
	}
	return shifted(a, -e), e
}

func shifted(a *mat.Dense, e int) *mat.Dense {
	return denseOf(a.Rows, a.Cols, func(i, j int) float64 { return math.Ldexp(a.At(i, j), e) })
}
