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
