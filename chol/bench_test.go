package chol_test

import (
	"fmt"
	"math"
	"testing"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func BenchmarkPosDef(b *testing.B) {
	each(b, 1./3, func(n int) func() {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = math.Pow(100, -float64(i)/float64(n))
		}
		s, c := mattest.Spectrum(lambda, uint64(n)), new(chol.Cholesky)
		return func() { c.PosDef(s, 0.005) }
	})
}

func BenchmarkSolve(b *testing.B) {
	each(b, 2, func(n int) func() {
		c, x, y := factored(n), mattest.Dense(n, n, 1), mat.NewDense(n, n)
		return func() { c.Solve(y, x) }
	})
}

func BenchmarkInverse(b *testing.B) {
	each(b, 2./3, func(n int) func() {
		c, inv := factored(n), mat.NewSym(n)
		return func() { c.Inverse(inv) }
	})
}

func factored(n int) *chol.Cholesky {
	c := new(chol.Cholesky)
	if err := c.Factor(mattest.SPD(n, uint64(n))); err != nil {
		panic(err)
	}
	return c
}

// each times what prepare returns, of so many times n³ flops.
func each(b *testing.B, flops float64, prepare func(n int) func()) {
	for _, n := range []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for run := prepare(n); b.Loop(); {
				run()
			}
			b.ReportMetric(flops*math.Pow(float64(n), 3)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
