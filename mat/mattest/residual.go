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
	low := mat.AsSym(l)
	clean := mat.NewDense(a.N, a.N)
	for i := range a.N {
		copy(clean.Row(i), low.Row(i))
	}
	return relative(Mul(clean, Trans(clean)), Full(a), mat.NormFrobSym(a))
}

// EigResidual returns ‖A·V − V·diag(lambda)‖_F / (n·eps·‖A‖_F).
func EigResidual(a *mat.Sym, lambda []float64, v *mat.Dense) float64 {
	vl := denseOf(v.Rows, v.Cols, func(i, j int) float64 { return v.At(i, j) * lambda[j] })
	return relative(Mul(Full(a), v), vl, mat.NormFrobSym(a))
}

// Orthogonality returns ‖VᵀV − I‖_F / (n·eps).
func Orthogonality(v *mat.Dense) float64 {
	one := Full(diag(list(v.Cols, func(int) float64 { return 1 })...))
	return relative(Mul(Trans(v), v), one, 1)
}

// SolveResidual returns ‖B − A·X‖_F / (n·eps·‖A‖_F·‖X‖_F).
func SolveResidual(a *mat.Sym, x, b *mat.Dense) float64 {
	return relative(Mul(Full(a), x), b, mat.NormFrobSym(a)*mat.NormFrob(x))
}

func relative(a, b *mat.Dense, norm float64) float64 {
	r := mat.NormFrob(denseOf(a.Rows, a.Cols, func(i, j int) float64 { return a.At(i, j) - b.At(i, j) }))
	if r == 0 {
		return 0
	}
	return r / (float64(max(a.Rows, a.Cols)) * Eps * norm)
}
