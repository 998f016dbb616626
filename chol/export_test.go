package chol

import (
	"fmt"
	"testing"

	"stable/mat"
	"stable/mat/kernel"
)

func EachKernel(t *testing.T, f func(t *testing.T)) {
	defer kernel.SetLanes(kernel.Lanes())
	for _, n := range kernel.AllLanes() {
		kernel.SetLanes(n)
		t.Run(fmt.Sprintf("lanes=%d", n), f)
	}
}

func Dominant(a *mat.Sym, shift float64) bool { return dominant(a, shift, make([]float64, a.N)) }

func CondEstimate(c *Cholesky) float64 {
	c.needUpper()
	return max(1, c.estimate())
}

const CondExact = condExact
