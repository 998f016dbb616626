package mat

import "testing"

// EachKernel runs f once for every implementation of the kernels in this build.
func EachKernel(t *testing.T, f func(t *testing.T)) {
	t.Run("impl=portable", f)
}
