//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// lengths returns the lengths of the vectors that the machine has instructions for, the widest
// first. It looks for itself, because package simd wants carry-less multiplication of the same
// length besides, and otherwise halves the vectors (go.dev/issue/81884). With two lanes no kernel was
// faster than the portable one, so that these are not built.
func lengths() []int {
	var all []int
	if archsimd.X86.AVX512() && !noAVX512 {
		all = append(all, 8)
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		all = append(all, 4)
	}
	return all
}

// preferred returns the length of the vectors to run on, the widest, or 0.
func preferred() int { return AllLanes()[0] }

// ClearUpper ends every vector function. While the upper halves of the registers are in use, an
// instruction of the older kind (SSE, which the compiler takes for single numbers, and the library
// for copies) costs as much as two hundred others on Intel, and halves the speed on AMD.
func ClearUpper() { archsimd.ClearAVXUpperBits() }

// sum4AVX2 sets d to the sums of four vectors, as far as it goes.
func sum4AVX2(d []float64, s0, s1, s2, s3 archsimd.Float64x4) {
	sums4(s0, s1, s2, s3).StorePart(d)
}

// sum4AVX512 is sum4AVX2 for longer vectors.
func sum4AVX512(d []float64, s0, s1, s2, s3 archsimd.Float64x8) {
	low := sums4(s0.GetLo(), s1.GetLo(), s2.GetLo(), s3.GetLo())
	low.Add(sums4(s0.GetHi(), s1.GetHi(), s2.GetHi(), s3.GetHi())).StorePart(d)
}

// sums4 returns the sums of four vectors, added in the order of Sum.
func sums4(s0, s1, s2, s3 archsimd.Float64x4) archsimd.Float64x4 {
	t0, t1 := s0.ConcatAddPairsGrouped(s1), s2.ConcatAddPairsGrouped(s3)
	return t0.ConcatPermute128Scalars(0, 2, t1).Add(t0.ConcatPermute128Scalars(1, 3, t1))
}
