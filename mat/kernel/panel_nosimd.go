//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

func stripVector(*Strip)                                      {}
func packRowsVector([]float64, int, []float64, int, int, int) {}
