package chol

import (
	"testing"

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
