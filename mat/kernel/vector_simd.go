//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

// inUse is the number of float64s in the vectors that the kernels run on, 0 for the portable ones.
var inUse int

func init() { SetLanes(preferred()) }

// Vector tells whether the kernels run on vectors: whether they are compiled in, the machine has
// the registers for them, and they are not switched off.
func Vector() bool { return inUse > 0 }

// Lanes returns the number of float64s in the vectors that the kernels run on: 8, 4 or 2, and 0
// for the portable kernels.
func Lanes() int { return inUse }

// AllLanes returns what Lanes can be on this machine, the widest first, 0 last.
func AllLanes() []int { return append(lengths(), 0) }

// SetLanes has the kernels run on vectors of that many float64s, one of AllLanes, and returns what
// was before. It is for tests and benchmarks, not for concurrent use.
func SetLanes(n int) (was int) {
	was, inUse = inUse, n
	return was
}
