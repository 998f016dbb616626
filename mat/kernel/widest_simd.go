//go:build !amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

// lanes is the length of a vector on arm64 and wasm.
const lanes = 2

// widest returns the length of the vectors that the machine has instructions for.
func widest() int {
	if simd.Emulated() || simd.VectorBitSize() != 64*lanes {
		return 0
	}
	return lanes
}

// narrower returns the next shorter length of vectors.
func narrower(int) int { return 0 }

// ClearUpper ends every vector function; here there is nothing to do.
func ClearUpper() {}
