package mat

import "math"

// ProjectFrob sets dst = a·min(1, radius/‖a‖_F), the projection of a, m × n, onto {X : ‖X‖_F ≤ radius}, and
// returns ‖a‖_F. If an entry is NaN or infinite, dst = a and the norm is NaN or +Inf. The relative error is at
// most 4·mn·eps, eps = 2⁻⁵², apart from underflow. It panics if radius is negative or NaN. 3 flops an entry.
func ProjectFrob(dst, a *Dense, radius float64) float64 {
	alike("mat: ProjectFrob", dst, a)
	refuse(!(radius >= 0), "mat: ProjectFrob", ": radius is negative or NaN")
	n := NormFrob(a)
	s := radius / n
	switch {
	case n > radius && n <= math.MaxFloat64 && (s >= 0x1p-1000 || radius == 0):
		Scale(dst, s, a)
	case n > radius && MaxAbs(a) <= math.MaxFloat64:
		// The norm overflows, or the factor nearly underflows.
		Scale(dst, math.Ldexp(1, -exponent(MaxAbs(a))), a)
		Scale(dst, radius/NormFrob(dst), dst)
	case dst != a:
		Copy(dst, a)
	}
	return n
}
