//go:build !((amd64 || arm64) && goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

// Vector is false: vectors are not compiled in, and their stand-ins below are never called.
func Vector() bool { return false }

// Lanes is 0: there are no vectors.
func Lanes() int { return 0 }

// AllLanes holds 0 alone.
func AllLanes() []int { return []int{0} }

// SetLanes changes nothing.
func SetLanes(int) (was int) { return 0 }

func stripVector(*Strip)                                 {}
func packRowsVector([]float64, []float64, int, int, int) {}
func subtractVector(*Upper, int, int, int)               {}
func divideVector(*Upper, int, *Elimination)             {}
func transposeVector([]float64, int, []float64, []float64, []float64, []float64) {
}

func solveUpperVector([]float64, []float64, int)      {}
func solveUpperTransVector([]float64, []float64, int) {}
func forward4Vector([]float64, []float64, int, int)   {}
func back4Vector([]float64, []float64, int)           {}

func dotVector([]float64, []float64) float64                 { return 0 }
func axpyVector([]float64, float64, []float64)               {}
func mulVecVector([]float64, []float64, int, []float64)      {}
func mulVecTransVector([]float64, []float64, int, []float64) {}
func mulVecSymVector([]float64, []float64, int, []float64)   {}
func subRowsVector([]float64, []float64, []float64, int)     {}

func addScaledVector(Shape, []float64, int, []float64, int, float64, []float64, int) {}
func outerVector(Shape, []float64, int, float64, []float64, []float64)               {}
func sumSquaresVector(Shape, []float64, int) float64                                 { return 0 }
func sumSquaresSubVector(Shape, []float64, int, []float64, int) float64              { return 0 }
func recurVector(Shape, []float64, int, float64, []float64, int, []float64, int, []float64, int) {
}

func rank2MulVector(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	return
}

func reflectVector(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	return
}

func rotateVector(x, y []float64, s, tau float64) {}
