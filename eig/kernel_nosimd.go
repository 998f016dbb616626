//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package eig

func pass2Vector(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	return
}

func reflect4Vector(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	return
}

func rotateVector(x, y []float64, s, tau float64) {}
