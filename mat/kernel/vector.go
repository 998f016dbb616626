package kernel

import "fmt"

// The lengths from which vectors are faster than plain code. From vectorWide on, what goes along
// ever shorter rows is faster by 512 bits than by 256. MulVec has exceptions: useVectors.
const (
	vectorSym     = 12
	vectorAxpy    = 16
	vectorRotate  = 16
	vectorTrans   = 16
	vectorUpper   = 16
	vectorSolve   = 20
	vectorMulVec  = 22
	vectorReflect = 24
	vectorWide    = 48
	vectorDot     = 56
	vectorNorm    = 100
)

// Sum returns the sum of a stored vector; beyond its length, t is zero.
func Sum(t *[8]float64) float64 {
	return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}

// onesLast masks the entries of a last vector that no vector before it has.
var onesLast = [16]float64{8: 1, 1, 1, 1, 1, 1, 1, 1}

// Dropped says that this build asks for vector kernels (GOEXPERIMENT=simd), and that the toolchain
// is one that they were not tried with: the portable kernels run. KERNELS.md lists what to check
// before a release of Go is let in.
var Dropped = false

// Tier names what the kernels in this build run on: "portable", "v3" (the same source, with
// multiply and add fused by the compiler, on amd64 or elsewhere), or "simd" with the length of the
// vectors.
func Tier() string {
	switch {
	case Lanes() > 0:
		return fmt.Sprintf("simd, %d bits", 64*Lanes())
	case Rows == 3:
		return "v3"
	}
	return "portable"
}
