//go:build !amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

// lanes is the length of a vector on arm64 and wasm.
const lanes = 2

// lengths returns the lengths of the vectors that the machine has instructions for.
func lengths() []int {
	if simd.Emulated() || simd.VectorBitSize() != 64*lanes {
		return nil
	}
	return []int{lanes}
}

// preferred returns the length of the vectors to run on: none. With two lanes the kernels were not
// measured to win (KERNELS.md has the figures for wasm, and counts for arm64). SetLanes takes them.
func preferred() int { return 0 }

// ClearUpper ends every vector function; here there is nothing to do.
func ClearUpper() {}

// sum4Vector sets d to the sums of four vectors, as far as it goes.
func sum4Vector(d []float64, s0, s1, s2, s3 simd.Float64s) {
	var t [4][8]float64
	s0.Store(t[0][:])
	s1.Store(t[1][:])
	s2.Store(t[2][:])
	s3.Store(t[3][:])
	for i := range min(len(d), 4) {
		d[i] = Sum(&t[i])
	}
}
