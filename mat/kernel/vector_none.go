//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

// Vector tells whether the vector functions are compiled in, and the machine has the registers for
// them. Here they are not, and what they would be is empty and never called.
func Vector() bool { return false }

// SetVector switches the vector functions on, where there are any, or off, and returns what was
// before. For tests; not for concurrent use.
func SetVector(bool) (was bool) { return false }

// Lanes returns the number of float64s in a vector register.
func Lanes() int { return 1 }

const vectorAxpy, vectorMulVec, vectorSolve, vectorDot, vectorSym, vectorNorm = 0, 0, 0, 0, 0, 0

// Panel and PackPanel are empty here.
func Panel([]float64, int, int, int, int, []float64, int, int, []float64, int, int, float64, bool) {}
func PackPanel([]float64, int, []float64, int, int, int)                                           {}

func dotVector([]float64, []float64) float64                                         { return 0 }
func axpyVector([]float64, float64, []float64)                                       {}
func mulVecVector([]float64, []float64, int, []float64)                              {}
func mulVecTransVector([]float64, []float64, int, []float64)                         {}
func mulVecSymVector([]float64, []float64, int, []float64)                           {}
func subRowsVector([]float64, []float64, []float64, int)                             {}
func addScaledVector(Shape, []float64, int, []float64, int, float64, []float64, int) {}
func outerVector(Shape, []float64, int, float64, []float64, []float64)               {}
func sumSquaresVector(Shape, []float64, int) float64                                 { return 0 }
func recurVector(Shape, []float64, int, float64, []float64, int, []float64, int, []float64, int) {
}
func solveUpperVector([]float64, []float64, int)      {}
func solveUpperTransVector([]float64, []float64, int) {}
