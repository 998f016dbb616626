//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

func dotVector([]float64, []float64) float64                 { return 0 }
func axpyVector([]float64, float64, []float64)               {}
func mulVecVector([]float64, []float64, int, []float64)      {}
func mulVecTransVector([]float64, []float64, int, []float64) {}
func mulVecSymVector([]float64, []float64, int, []float64)   {}
func subRowsVector([]float64, []float64, []float64, int)     {}
