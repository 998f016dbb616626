// Package peers runs on gonum the benchmarks of stable/bench, by the same names, for benchstat -ignore pkg.
package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

var sizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

// each is that of stable/bench.
func each(b *testing.B, flops, power float64, prepare func(n int) func()) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			run := prepare(n)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			if flops > 0 {
				b.ReportMetric(flops*math.Pow(float64(n), power)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
}

func must(ok bool) {
	if !ok {
		panic("not positive definite, or no convergence")
	}
}

func uniform(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	a := mat.NewDense(n, n, nil)
	a.Apply(func(int, int, float64) float64 { return rng.Float64() - 0.5 }, a)
	return a
}

func symmetric(n int, shift float64) *mat.SymDense {
	a, s := uniform(n), mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
		s.SetSym(i, i, a.At(i, i)+shift)
	}
	return s
}

func BenchmarkMul(b *testing.B) {
	each(b, 2, 3, func(n int) func() {
		a, c := uniform(n), mat.NewDense(n, n, nil)
		return func() { c.Mul(a, a) }
	})
}

// BenchmarkCholesky is the factorisation alone, of a copy, as stable's.
func BenchmarkCholesky(b *testing.B) {
	each(b, 1./3, 3, func(n int) func() {
		s, f := symmetric(n, float64(n)).RawSymmetric(), mat.NewSymDense(n, nil).RawSymmetric()
		return func() {
			copy(f.Data, s.Data)
			_, ok := lapack64.Potrf(f)
			must(ok)
		}
	})
}

// BenchmarkCond is Factorize, which always estimates the condition number.
func BenchmarkCond(b *testing.B) {
	each(b, 0, 0, func(n int) func() {
		s, c := symmetric(n, float64(n)), new(mat.Cholesky)
		return func() { must(c.Factorize(s)) }
	})
}

func BenchmarkSolve(b *testing.B) {
	each(b, 2, 2, func(n int) func() {
		c, rhs, x := new(mat.Cholesky), uniform(n).ColView(0), mat.NewVecDense(n, nil)
		must(c.Factorize(symmetric(n, float64(n))))
		return func() { must(c.SolveVecTo(x, rhs) == nil) }
	})
}

func BenchmarkEigSym(b *testing.B) {
	each(b, 0, 0, func(n int) func() {
		s, e := symmetric(n, 0), new(mat.EigenSym)
		return func() { must(e.Factorize(s, true)) }
	})
}

// BenchmarkTruncate/clipped projects onto {X ⪰ 0.1·I} as one does with gonum: eigenvectors, clamp, multiply back.
func BenchmarkTruncate(b *testing.B) {
	b.Run("clipped", func(b *testing.B) {
		each(b, 0, 0, func(n int) func() {
			s, dst, values, e := symmetric(n, 0), mat.NewSymDense(n, nil), make([]float64, n), new(mat.EigenSym)
			var v, w, p mat.Dense
			return func() {
				must(e.Factorize(s, true))
				e.Values(values)
				e.VectorsTo(&v)
				w.Apply(func(_, j int, v float64) float64 { return v * math.Max(values[j], 0.1) }, &v)
				p.Mul(&w, v.T())
				for i := range n {
					for j := range i + 1 {
						dst.SetSym(i, j, p.At(i, j))
					}
				}
			}
		})
	})
}
