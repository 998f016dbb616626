//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// allLanes are the machine's vector lengths, the widest first, then 0. archsimd tells them, since
// package simd halves vectors without carry-less multiplication (go.dev/issue/81884).
var allLanes = func() (all []int) {
	if archsimd.X86.AVX512() {
		all = append(all, 8)
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		all = append(all, 4)
	}
	return append(all, 0)
}()

// pick has the indices that spread one of the first four entries over a vector.
var pick = [4][8]uint64{1: {1, 1, 1, 1, 1, 1, 1, 1}, 2: {2, 2, 2, 2, 2, 2, 2, 2}, 3: {3, 3, 3, 3, 3, 3, 3, 3}}

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

// transposeVector transposes four rows by four entries at a time.
func transposeVector(u []float64, ld int, r0, r1, r2, r3 []float64) {
	n, at := len(r0), 0
	r1, r2, r3 = r1[:n], r2[:n], r3[:n]
	for j := 4; j <= n; j += 4 {
		x0, x1 := archsimd.LoadFloat64x4Array((*[4]float64)(r0[j-4:j:j])), archsimd.LoadFloat64x4Array((*[4]float64)(r1[j-4:j:j]))
		x2, x3 := archsimd.LoadFloat64x4Array((*[4]float64)(r2[j-4:j:j])), archsimd.LoadFloat64x4Array((*[4]float64)(r3[j-4:j:j]))
		even, odd := x0.ConcatPermuteScalarsGrouped(0, 2, x1), x0.ConcatPermuteScalarsGrouped(1, 3, x1)
		even2, odd2 := x2.ConcatPermuteScalarsGrouped(0, 2, x3), x2.ConcatPermuteScalarsGrouped(1, 3, x3)
		even.ConcatPermute128Scalars(0, 2, even2).StoreArray((*[4]float64)(u[at : at+4 : at+4]))
		odd.ConcatPermute128Scalars(0, 2, odd2).StoreArray((*[4]float64)(u[at+ld : at+ld+4 : at+ld+4]))
		at += 2 * ld
		even.ConcatPermute128Scalars(1, 3, even2).StoreArray((*[4]float64)(u[at : at+4 : at+4]))
		odd.ConcatPermute128Scalars(1, 3, odd2).StoreArray((*[4]float64)(u[at+ld : at+ld+4 : at+ld+4]))
		at += 2 * ld
	}
	archsimd.ClearAVXUpperBits()
}
