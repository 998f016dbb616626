// Package peers runs on gonum the benchmarks that stable/bench has, under the same names and on the
// same inputs, so that benchstat can put them side by side. It is a module of its own: nobody who
// uses stable gets gonum with it.
//
//	cd bench/peers
//	GOMAXPROCS=1 go test -run '^$' -bench . -count 6 > /tmp/gonum.txt
//	cd ../..
//	GOMAXPROCS=1 go test -run '^$' -bench . -count 6 ./bench > /tmp/stable.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -ignore pkg /tmp/gonum.txt /tmp/stable.txt
//
// The packages differ: without -ignore pkg nothing stands side by side.
//
// Beside it, with the same names where the operation is the same: driver.py, OpenBLAS, Eigen and
// BLASFEO by themselves, and numpy_bench.py, a step in NumPy.
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

func each(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
		})
	}
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// uniform is the input of every benchmark: entries uniform on (−0.5, 0.5).
func uniform(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	a := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, rng.Float64()-0.5)
		}
	}
	return a
}

// symmetric is (A + Aᵀ)/2 + shift·I.
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
	each(b, func(b *testing.B, n int) {
		a, c := uniform(n), mat.NewDense(n, n, nil)
		for b.Loop() {
			c.Mul(a, a)
		}
		gflops(b, 2*math.Pow(float64(n), 3))
	})
}

// BenchmarkCholesky is the factorisation alone, of a copy, as stable's.
func BenchmarkCholesky(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		s, f := symmetric(n, float64(n)).RawSymmetric(), mat.NewSymDense(n, nil).RawSymmetric()
		for b.Loop() {
			copy(f.Data, s.Data)
			if _, ok := lapack64.Potrf(f); !ok {
				b.Fatal("not positive definite")
			}
		}
		gflops(b, math.Pow(float64(n), 3)/3)
	})
}

// BenchmarkCond is Factorize, which always estimates the condition number.
func BenchmarkCond(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		s := symmetric(n, float64(n))
		var c mat.Cholesky
		for b.Loop() {
			if !c.Factorize(s) {
				b.Fatal("not positive definite")
			}
		}
	})
}

func BenchmarkSolve(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		var c mat.Cholesky
		c.Factorize(symmetric(n, float64(n)))
		rhs, x := uniform(n).ColView(0), mat.NewVecDense(n, nil)
		for b.Loop() {
			if err := c.SolveVecTo(x, rhs); err != nil {
				b.Fatal(err)
			}
		}
		gflops(b, 2*float64(n)*float64(n))
	})
}

func BenchmarkEigSym(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		s := symmetric(n, 0)
		var e mat.EigenSym
		for b.Loop() {
			if !e.Factorize(s, true) {
				b.Fatal("no convergence")
			}
		}
	})
}

// BenchmarkTruncate/clipped is the projection onto {X ⪰ 0.1·I} as one writes it with gonum:
// eigenvectors, clamp, multiply back. It costs the same however many eigenvalues are clipped.
func BenchmarkTruncate(b *testing.B) {
	b.Run("clipped", func(b *testing.B) {
		each(b, func(b *testing.B, n int) {
			s, p := symmetric(n, 0), mat.NewSymDense(n, nil)
			var t truncator
			for b.Loop() {
				t.truncate(p, s, 0.1)
			}
		})
	})
}

type truncator struct {
	eig     mat.EigenSym
	values  []float64
	v, w, p mat.Dense
}

func (t *truncator) truncate(dst, s *mat.SymDense, mu float64) {
	if !t.eig.Factorize(s, true) {
		panic("no convergence")
	}
	n := s.SymmetricDim()
	if len(t.values) != n {
		t.values = make([]float64, n)
	}
	t.eig.Values(t.values)
	t.eig.VectorsTo(&t.v)
	t.w.Apply(func(_, j int, v float64) float64 { return v * math.Max(t.values[j], mu) }, &t.v)
	t.p.Mul(&t.w, t.v.T())
	for i := range n {
		for j := range i + 1 {
			dst.SetSym(i, j, t.p.At(i, j))
		}
	}
}
