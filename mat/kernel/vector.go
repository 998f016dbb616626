//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

var (
	vector bool
	lanes  int
)

func init() {
	vector = !simd.Emulated()
	lanes = simd.VectorBitSize() / 64
}

// Vector tells whether the vector functions are compiled in, and the machine has the registers for
// them.
func Vector() bool { return vector }

// SetVector switches the vector functions on, where there are any, or off, and returns what was
// before. For tests; not for concurrent use.
func SetVector(on bool) (was bool) {
	was = vector
	vector = on && !simd.Emulated()
	return was
}

// Lanes returns the number of float64s in a vector register: 2, 4 or 8.
func Lanes() int { return lanes }
