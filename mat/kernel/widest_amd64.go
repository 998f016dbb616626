//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// widest returns the length of the longest vectors that the machine has instructions for. It looks
// for itself, because package simd wants carry-less multiplication of the same length besides, and
// otherwise halves the vectors (go.dev/issue/81884). With two lanes no kernel was faster than the
// portable one, so that these are not built.
func widest() int {
	switch {
	case archsimd.X86.AVX512() && !noAVX512:
		return 8
	case archsimd.X86.AVX2() && archsimd.X86.FMA():
		return 4
	}
	return 0
}

// narrower returns the next shorter length of vectors.
func narrower(n int) int {
	if n == 8 {
		return 4
	}
	return 0
}

// ClearUpper ends every vector function. While the upper halves of the registers are in use, an
// instruction of the older kind (SSE, which the compiler takes for single numbers, and the library
// for copies) costs as much as two hundred others on Intel, and halves the speed on AMD.
func ClearUpper() { archsimd.ClearAVXUpperBits() }
