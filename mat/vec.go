package mat

import "math"

// Dot returns xᵀy.
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("mat: Dot: dimension mismatch")
	}
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Axpy sets y = y + alpha·x.
func Axpy(y []float64, alpha float64, x []float64) {
	if len(x) != len(y) {
		panic("mat: Axpy: dimension mismatch")
	}
	for i, v := range x {
		y[i] += alpha * v
	}
}

// Norm returns the Euclidean norm ‖x‖₂, without overflow or harmful underflow. It is NaN if an entry is NaN, +Inf if one is infinite and none NaN.
func Norm(x []float64) float64 {
	scale, ssq := 0.0, 1.0
	for _, v := range x {
		scale, ssq = sumSquares(scale, ssq, v)
	}
	return scale * math.Sqrt(ssq)
}

// NormFrob returns the Frobenius norm ‖a‖_F, as Norm of all entries.
func NormFrob(a *Dense) float64 {
	scale, ssq := 0.0, 1.0
	for i := range a.Rows {
		for _, v := range a.Row(i) {
			scale, ssq = sumSquares(scale, ssq, v)
		}
	}
	return scale * math.Sqrt(ssq)
}

// NormFrobSym returns the Frobenius norm of the whole symmetric matrix.
func NormFrobSym(s *Sym) float64 {
	scale, ssq := 0.0, 1.0
	for i := range s.N {
		r := s.Row(i)
		for _, v := range r[:i] {
			scale, ssq = sumSquares(scale, ssq, v)
			scale, ssq = sumSquares(scale, ssq, v)
		}
		scale, ssq = sumSquares(scale, ssq, r[i])
	}
	return scale * math.Sqrt(ssq)
}

func sumSquares(scale, ssq, v float64) (float64, float64) {
	if v == 0 {
		return scale, ssq
	}
	a := math.Abs(v)
	if a <= scale {
		r := a / scale
		return scale, ssq + r*r
	}
	if math.IsInf(a, 1) && !math.IsNaN(scale) {
		return a, 1
	}
	r := scale / a
	return a, 1 + ssq*r*r
}

// ProjectFrob sets dst to the projection of a onto the Frobenius ball {X : ‖X‖_F ≤ radius}, dst = a·min(1, radius/‖a‖_F), and returns ‖a‖_F.
func ProjectFrob(dst, a *Dense, radius float64) float64 {
	n := NormFrob(a)
	if n > radius {
		Scale(dst, radius/n, a)
	} else if dst != a {
		Copy(dst, a)
	}
	return n
}
