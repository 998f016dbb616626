//go:build !(goexperiment.simd && go1.27 && !go1.28 && !purego)

package eig

// pass2 is pass2Go.
func pass2(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	return pass2Go(a0, a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
}

// reflect4 is reflect4Go.
func reflect4(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	return reflect4Go(x0, x1, x2, x3, v, u, f0, f1, f2, f3)
}

// rotate is rotateGo.
func rotate(x, y []float64, s, tau float64) { rotateGo(x, y, s, tau) }

func fullPays(int) bool { return false }
