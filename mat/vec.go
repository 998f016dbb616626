package mat

// Dot returns xᵀy. It panics if the lengths differ. 2n flops.
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("mat: Dot: dimension mismatch")
	}
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Axpy sets y = y + alpha·x. x may be y, and must not overlap it otherwise. It panics if the lengths differ. 2n flops.
func Axpy(y []float64, alpha float64, x []float64) {
	if len(x) != len(y) {
		panic("mat: Axpy: dimension mismatch")
	}
	for i, v := range x {
		y[i] += alpha * v
	}
}
