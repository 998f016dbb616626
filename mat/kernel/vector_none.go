//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

// Vector tells whether the vector functions are compiled in, and the machine has the registers for them. Without them, none of the others
// of this file may be called.
func Vector() bool { return false }

// SetVector switches the vector functions on, where there are any, or off, and returns what was before. For tests; not for concurrent use.
func SetVector(bool) (was bool) { return false }

// Lanes returns the number of float64s in a vector register.
func Lanes() int { return 1 }

func Panel([]float64, int, int, int, int, []float64, int, []float64, int, float64, bool) {}
func PackPanel([]float64, int, []float64, int, int, int)                                 {}
