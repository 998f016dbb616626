//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

func solveUpperVector([]float64, []float64, int)      {}
func solveUpperTransVector([]float64, []float64, int) {}
