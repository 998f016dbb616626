package mat

import "math"

// ProjectFrob sets dst to the projection of a onto the Frobenius ball {X : ‖X‖_F ≤ radius}, dst = a·min(1, radius/‖a‖_F), and
// returns ‖a‖_F. a is read; dst may be a, and must not overlap it otherwise. With radius 0, dst = 0; with radius +Inf, dst = a.
// A matrix with a NaN or infinite entry has no projection: dst = a, and the norm that is returned, NaN or +Inf, tells.
// It panics if the sizes differ, or if radius is negative or NaN. It does not allocate. 3 flops an entry.
func ProjectFrob(dst, a *Dense, radius float64) float64 {
	sameDense("mat: ProjectFrob: dimension mismatch", dst, a)
	if !(radius >= 0) {
		panic("mat: ProjectFrob: radius is negative or NaN")
	}
	n := NormFrob(a)
	switch {
	case n > radius && n <= math.MaxFloat64:
		Scale(dst, radius/n, a)
	case n > radius && MaxAbs(a) <= math.MaxFloat64:
		// Only the norm overflows: scale by a power of two first.
		Scale(dst, 0x1p-600, a)
		Scale(dst, radius/NormFrob(dst), dst)
	case dst != a:
		Copy(dst, a)
	}
	return n
}
