//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// allLanes are the vector lengths: every arm64 has NEON.
var allLanes = []int{2, 0}

// sum4Vector sets d to the sums of four vectors, as far as it goes.
func sum4Vector(d []float64, s0, s1, s2, s3 archsimd.Float64x2) {
	s0.ConcatAddPairs(s1).StorePart(d)
	if len(d) > 2 {
		s2.ConcatAddPairs(s3).StorePart(d[2:])
	}
}

func transposeVector(u []float64, ld int, r0, r1, r2, r3 []float64) {
	for j, v := range r0 {
		d := (*[4]float64)(u[j*ld:])
		d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
	}
}
