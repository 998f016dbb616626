package mat

import (
	"fmt"
	"testing"

	"stable/mat/kernel"
)

// EachKernel runs f once for every implementation of the kernels in this build.
func EachKernel(t *testing.T, f func(t *testing.T)) {
	defer kernel.SetLanes(kernel.Lanes())
	for _, n := range kernel.AllLanes() {
		kernel.SetLanes(n)
		t.Run(fmt.Sprintf("lanes=%d", n), f)
	}
}
