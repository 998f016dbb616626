package mat

import "stable/mat/kernel"

// Dot returns xᵀy. It panics if the lengths differ. 2n flops.
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("mat: Dot: dimension mismatch")
	}
	return kernel.Dot(x, y)
}

// Axpy sets y = y + alpha·x. x may be y, and must not overlap it otherwise. It panics if the
// lengths differ. 2n flops.
func Axpy(y []float64, alpha float64, x []float64) {
	if len(x) != len(y) {
		panic("mat: Axpy: dimension mismatch")
	}
	kernel.Axpy(y, alpha, x)
}
