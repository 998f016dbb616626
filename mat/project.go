package mat

import "math"

// ProjectFrob sets dst to the projection of a onto the Frobenius ball {X : ‖X‖_F ≤ radius}, dst =
// a·min(1, radius/‖a‖_F), and returns ‖a‖_F. a is read; dst may be a, and must not overlap it
// otherwise. With radius 0, dst = 0; with radius +Inf, dst = a. A matrix with a NaN or infinite
// entry has no projection: then dst = a, and the returned norm is NaN or +Inf. dst and the norm
// have a relative error of at most 4·mn·eps, for a of m × n and eps = 2⁻⁵²
// (TestProjectFrobAccuracy), apart from underflow. It panics if the sizes differ, or if radius is
// negative or NaN. 3 flops an entry.
func ProjectFrob(dst, a *Dense, radius float64) float64 {
	alike("mat: ProjectFrob", dst, a)
	if !(radius >= 0) {
		panic("mat: ProjectFrob: radius is negative or NaN")
	}
	n := NormFrob(a)
	s := radius / n
	switch {
	case n > radius && n <= math.MaxFloat64 && (s >= 0x1p-1000 || radius == 0):
		Scale(dst, s, a)
	case n > radius && MaxAbs(a) <= math.MaxFloat64:
		// The norm overflows, or the factor is next to underflow: scale by a power of two first.
		Scale(dst, math.Ldexp(1, -exponent(MaxAbs(a))), a)
		Scale(dst, radius/NormFrob(dst), dst)
	case dst != a:
		Copy(dst, a)
	}
	return n
}
