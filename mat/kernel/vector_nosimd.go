//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

// Vector tells whether the kernels run on vectors. Here they are not compiled in, and what stands
// for them is empty and never called.
func Vector() bool { return false }

// Lanes returns the number of float64s in the vectors that the kernels run on: none.
func Lanes() int { return 0 }

// AllLanes returns what Lanes can be on this machine.
func AllLanes() []int { return []int{0} }

// SetLanes has the kernels run on vectors of that many float64s, one of AllLanes, and returns what
// was before.
func SetLanes(int) (was int) { return 0 }
