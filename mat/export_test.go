package mat

import (
	"fmt"
	"testing"

	"stable/mat/kernel"
)

func EachKernel(t *testing.T, f func(t *testing.T)) {
	defer kernel.SetLanes(kernel.Lanes())
	for _, n := range kernel.AllLanes() {
		kernel.SetLanes(n)
		t.Run(fmt.Sprintf("lanes=%d", n), f)
	}
}
