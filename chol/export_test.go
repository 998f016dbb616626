package chol

import (
	"testing"

	"stable/mat"
	"stable/mat/kernel"
)

// EachKernel runs f once for every implementation of the kernels in this build.
func EachKernel(t *testing.T, f func(t *testing.T)) {
	defer kernel.SetVector(kernel.Vector())
	if kernel.Vector() {
		t.Run("impl=vector", f)
	}
	kernel.SetVector(false)
	t.Run("impl=portable", f)
}

// Dominant is the first question of PosDef.
func Dominant(a *mat.Sym, shift float64) bool { return dominant(a, shift, make([]float64, a.N)) }
