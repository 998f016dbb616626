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
func MaxDiffVec(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("mattest: MaxDiffVec: dimension mismatch")
	}
	m := 0.0
	for i, v := range x {
		d := math.Abs(v - y[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		m = max(m, d)
	}
	return m
}

// Full returns a square Dense with both triangles of s.
func Full(s *mat.Sym) *mat.Dense {
	a := mat.NewDense(s.N, s.N)
	for i := range s.N {
		for j := range s.N {
			a.Set(i, j, s.At(i, j))
		}
	}
	return a
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
	t := mat.NewDense(a.Cols, a.Rows)
	for i := range a.Rows {
		for j := range a.Cols {
			t.Data[j*t.Stride+i] = a.Data[i*a.Stride+j]
		}
	}
	return t
}

// CholResidual returns ‖A − L·Lᵀ‖_F / (n·eps·‖A‖_F) for the lower triangle of l.
func CholResidual(a *mat.Sym, l *mat.Dense) float64 {
	// Scale L by 2^h and A by 2^2h, so that neither leaves the range.
	f := Full(a)
	h := -exponent(f) / 2
	scaleBy(f, 2*h)
	low := mat.NewDense(a.N, a.N)
	for i := range a.N {
		copy(low.Row(i)[:i+1], l.Row(i)[:i+1])
	}
	scaleBy(low, h)
	return relative(Mul(low, Trans(low)), f, frob(f))
}

// EigResidual returns ‖A·V − V·diag(lambda)‖_F / (n·eps·‖A‖_F).
func EigResidual(a *mat.Sym, lambda []float64, v *mat.Dense) float64 {
	f := Full(a)
	e := -exponent(f)
	scaleBy(f, e)
	vl := mat.NewDense(v.Rows, v.Cols)
	for i := range v.Rows {
		for j, l := range lambda {
			vl.Set(i, j, v.At(i, j)*math.Ldexp(l, e))
		}
	}
	return relative(Mul(f, v), vl, frob(f))
}

// Orthogonality returns ‖VᵀV − I‖_F / (n·eps).
func Orthogonality(v *mat.Dense) float64 {
	one := mat.NewDense(v.Cols, v.Cols)
	for i := range v.Cols {
		one.Set(i, i, 1)
	}
	return relative(Mul(Trans(v), v), one, 1)
}

// SolveResidual returns ‖B − A·X‖_F / (n·eps·‖A‖_F·‖X‖_F).
func SolveResidual(a *mat.Sym, x, b *mat.Dense) float64 {
	f, y, r := Full(a), copyOf(x), copyOf(b)
	e, g := -exponent(f), -exponent(y)
	scaleBy(f, e)
	scaleBy(y, g)
	scaleBy(r, e+g)
	return relative(Mul(f, y), r, frob(f)*frob(y))
}

// relative returns ‖a − b‖_F / (n·eps·norm), and 0 where a = b.
func relative(a, b *mat.Dense, norm float64) float64 {
	d := copyOf(a)
	for i := range d.Rows {
		for j, v := range b.Row(i) {
			d.Data[i*d.Stride+j] -= v
		}
	}
	r := frob(d)
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

func copyOf(a *mat.Dense) *mat.Dense {
	c := mat.NewDense(a.Rows, a.Cols)
	for i := range a.Rows {
		copy(c.Row(i), a.Row(i))
	}
	return c
}

func exponent(a *mat.Dense) int {
	m := 0.0
	for i := range a.Rows {
		for _, v := range a.Row(i) {
			m = max(m, math.Abs(v))
		}
	}
	if m == 0 || math.IsInf(m, 0) || math.IsNaN(m) {
		return 0
	}
	_, e := math.Frexp(m)
	return e
}

func scaleBy(a *mat.Dense, e int) {
	for i := range a.Rows {
		r := a.Row(i)
		for j, v := range r {
			r[j] = math.Ldexp(v, e)
		}
	}
}
