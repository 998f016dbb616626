//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

func addScaledVector(Shape, []float64, int, []float64, int, float64, []float64, int) {}
func outerVector(Shape, []float64, int, float64, []float64, []float64)               {}
func sumSquaresVector(Shape, []float64, int) float64                                 { return 0 }
func recurVector(Shape, []float64, int, float64, []float64, int, []float64, int, []float64, int) {
}
func sumSquaresSubVector(Shape, []float64, int, []float64, int) float64 { return 0 }
