package mattest

import (
	"math"

	"stable/mat"
)

// Eps is the unit of the residuals, the distance from 1 to the next float64.
const Eps = 0x1p-52

// MaxDiff returns max |a − b|, +Inf where a difference is NaN. It panics if the sizes differ.
func MaxDiff(a, b *mat.Dense) (m float64) {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		panic("mattest: MaxDiff: dimension mismatch")
	}
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
func Full(s *mat.Sym) *mat.Dense { return DenseOf(s.N, s.N, s.At) }

// Bits returns a's entries, bit for bit.
func Bits(a *mat.Dense) (b []uint64) {
	for i := range a.Rows {
		for _, v := range a.Row(i) {
			b = append(b, math.Float64bits(v))
		}
	}
	return b
}

// One returns the identity of order n.
func One(n int) *mat.Dense { return Full(Plus(mat.NewSym(n), 1)) }

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
	return DenseOf(a.Cols, a.Rows, func(i, j int) float64 { return a.At(j, i) })
}

// Residual returns ‖A·X − B‖_F / (n·eps·size).
func Residual(a, x, b *mat.Dense, size float64) float64 {
	ax := Mul(a, x)
	r := mat.NormFrob(DenseOf(b.Rows, b.Cols, func(i, j int) float64 { return ax.At(i, j) - b.At(i, j) }))
	if r == 0 {
		return 0
	}
	return r / (float64(max(b.Rows, b.Cols)) * Eps * size)
}

// SolveResidual returns ‖B − A·X‖_F / (n·eps·‖A‖_F·‖X‖_F).
func SolveResidual(a *mat.Sym, x, b *mat.Dense) float64 {
	return Residual(Full(a), x, b, mat.NormFrobSym(a)*mat.NormFrob(x))
}
