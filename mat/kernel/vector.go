package kernel

import "fmt"

// Lengths from which vectors beat plain code, and from vectorWide on 512 bits beat 256 along ever
// shorter rows. useVectors has MulVec's exceptions.
const (
	vectorSym     = 12
	vectorAxpy    = 16
	vectorRotate  = 16
	vectorLower   = 16
	vectorTrans   = 16
	vectorUpper   = 16
	vectorSolve   = 20
	vectorMulVec  = 22
	vectorReflect = 24
	vectorShape   = 16
	vectorRecur   = 32
	vectorWide    = 48
	vectorDot     = 56
	vectorNorm    = 100
)

// Sum returns the sum of a stored vector; beyond its length, t is zero.
func Sum(t *[8]float64) float64 {
	return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}

// onesLast masks the entries of a last vector that overlaps the one before.
var onesLast = [16]float64{8: 1, 1, 1, 1, 1, 1, 1, 1}

// Dropped says that this build asks for vector kernels (GOEXPERIMENT=simd) with an untried
// toolchain: the portable ones run. KERNELS.md lists what to check for a new Go.
var Dropped = false

// Tier names the kernels of this build: "portable", "v3" (the same, multiply and add fused by the
// compiler), or "simd" with the vectors' length.
func Tier() string {
	switch {
	case Lanes() > 0:
		return fmt.Sprintf("simd, %d bits", 64*Lanes())
	case Rows > 2:
		return "v3"
	}
	return "portable"
}
