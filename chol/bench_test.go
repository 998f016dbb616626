package chol_test

import (
	"fmt"
	"math"
	"testing"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

var benchSizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

func each(b *testing.B, flops func(n float64) float64, f func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
			b.ReportMetric(flops(float64(n))*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func cubed3(n float64) float64 { return n * n * n / 3 }

func BenchmarkPosDef(b *testing.B) {
	each(b, cubed3, func(b *testing.B, n int) {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = math.Pow(100, -float64(i)/float64(n))
		}
		s := mattest.Spectrum(lambda, uint64(n))
		var c chol.Cholesky
		for b.Loop() {
			if !c.PosDef(s, 0.005) {
				b.Fatal("not positive definite")
			}
		}
	})
}

func BenchmarkSolve(b *testing.B) {
	each(b, func(n float64) float64 { return 2 * n * n * n }, func(b *testing.B, n int) {
		var c chol.Cholesky
		if err := c.Factor(mattest.SPD(n, uint64(n))); err != nil {
			b.Fatal(err)
		}
		x, y := mattest.Dense(n, n, 1), mat.NewDense(n, n)
		for b.Loop() {
			c.Solve(y, x)
		}
	})
}

func BenchmarkInverse(b *testing.B) {
	each(b, func(n float64) float64 { return 2 * n * n * n / 3 }, func(b *testing.B, n int) {
		var c chol.Cholesky
		if err := c.Factor(mattest.SPD(n, uint64(n))); err != nil {
			b.Fatal(err)
		}
		inv := mat.NewSym(n)
		for b.Loop() {
			c.Inverse(inv)
		}
	})
}
