//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package chol

func subtractVector([]float64, int, []float64, int, int, int, int, []float64) {}
func divideVector([]float64, int, []float64, int, int, *corner, []float64)    {}
