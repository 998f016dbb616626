package mat

import (
	"math"

	"stable/mat/kernel"
)

// A sum of squares between these bounds needs no scaling.
const (
	safeLow  = 0x1p-960
	safeHigh = math.MaxFloat64
)

// Norm returns ‖x‖₂ without overflow or harmful underflow: NaN if an entry is, else +Inf if one is
// infinite or the norm overflows. 2n flops. (BLAS dnrm2.)
func Norm(x []float64) float64 {
	s := kernel.SumSquares(kernel.Shape{Rows: 1, Cols: len(x)}, x, 0)
	if s >= safeLow && s <= safeHigh {
		return math.Sqrt(s)
	}
	e := exponent(maxAbs(0, x))
	return math.Ldexp(math.Sqrt(sumSquaresScaled(x, e)), e)
}

// NormFrob returns ‖a‖_F = √Σ a_ij²; else as Norm.
func NormFrob(a *Dense) float64 {
	refuse(a.torn(), "mat: NormFrob", torn)
	s := kernel.SumSquares(a.shape(), a.Data, a.Stride)
	if s >= safeLow && s <= safeHigh {
		return math.Sqrt(s)
	}
	e := exponent(MaxAbs(a))
	s = 0
	for i := range a.Rows {
		s += sumSquaresScaled(a.Row(i), e)
	}
	return math.Ldexp(math.Sqrt(s), e)
}

// NormFrobSym returns ‖s‖_F of both triangles, as NormFrob.
func NormFrobSym(s *Sym) float64 {
	refuse(s.torn(), "mat: NormFrobSym", torn)
	off, diag := kernel.SumSquares(kernel.Shape{Rows: s.N, Lower: true}, s.Data, s.Stride), 0.0
	data, step := s.Data, s.Stride+1
	for at, end := 0, s.N*step; at < end; at += step {
		d := data[at]
		diag += d * d
	}
	if t := 2*off + diag; t >= safeLow && t <= safeHigh {
		return math.Sqrt(t)
	}
	e := exponent(MaxAbsSym(s))
	off, diag = 0, 0
	for i := range s.N {
		r := s.Row(i)
		off += sumSquaresScaled(r[:i], e)
		diag += sumSquaresScaled(r[i:], e)
	}
	return math.Ldexp(math.Sqrt(2*off+diag), e)
}

// MaxAbs returns max |a_ij|, 0 without entries, NaN if an entry is NaN.
func MaxAbs(a *Dense) float64 {
	refuse(a.torn(), "mat: MaxAbs", torn)
	m := 0.0
	for i := range a.Rows {
		m = maxAbs(m, a.Row(i))
	}
	return m
}

// MaxAbsSym is MaxAbs.
func MaxAbsSym(s *Sym) float64 {
	refuse(s.torn(), "mat: MaxAbsSym", torn)
	m := 0.0
	for i := range s.N {
		m = maxAbs(m, s.Row(i))
	}
	return m
}

// maxAbs returns max(m, |x_0|, |x_1|, ...), NaN if one is.
func maxAbs(m float64, x []float64) float64 {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// exponent returns the e with m in [2^(e−1), 2^e), or 0 if m is 0 or not finite.
func exponent(m float64) int {
	_, e := math.Frexp(m)
	return e
}

func sumSquaresScaled(x []float64, e int) float64 {
	s := 0.0
	for _, v := range x {
		v = math.Ldexp(v, -e)
		s += v * v
	}
	return s
}
