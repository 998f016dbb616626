package kernel

// Recur sets dst = (1−tau)·(h − old) + now, over the length of dst.
func Recur(dst []float64, tau float64, h, old, now []float64) {
	if Vector() && len(dst) >= vectorAxpy {
		recurVector(dst, tau, h, old, now)
		return
	}
	h, old, now = h[:len(dst)], old[:len(dst)], now[:len(dst)]
	s := 1 - tau
	for j := range dst {
		dst[j] = s*(h[j]-old[j]) + now[j]
	}
}

// AddScaled sets dst = a + s·b, over the length of dst.
func AddScaled(dst, a []float64, s float64, b []float64) {
	if Vector() && len(dst) >= vectorAxpy {
		addScaledVector(dst, a, s, b)
		return
	}
	a, b = a[:len(dst)], b[:len(dst)]
	for j := range dst {
		dst[j] = a[j] + s*b[j]
	}
}

// Scale sets dst = s·a, over the length of dst.
func Scale(dst []float64, s float64, a []float64) {
	a = a[:len(dst)]
	for j := range dst {
		dst[j] = s * a[j]
	}
}

// SumSquares returns Σ x_i², as four interleaved sums.
func SumSquares(x []float64) float64 {
	if Vector() && len(x) >= vectorDot {
		return dotVector(x, x)
	}
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		s0 += x[0] * x[0]
		s1 += x[1] * x[1]
		s2 += x[2] * x[2]
		s3 += x[3] * x[3]
		x = x[4:]
	}
	for _, v := range x {
		s0 += v * v
	}
	return (s0 + s1) + (s2 + s3)
}
