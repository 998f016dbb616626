//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package kernel

func pairsVector(*Pairs) {}
