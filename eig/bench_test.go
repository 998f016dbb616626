package eig_test

import (
	"fmt"
	"testing"

	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

var benchSizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

func each(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
		})
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func BenchmarkClear(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = 1 + 9*float64(i)/float64(n)
		}
		a, dst := mattest.Spectrum(lambda, uint64(n)), mat.NewSym(n)
		b.Run("truncate", func(b *testing.B) {
			var t eig.Truncator
			for b.Loop() {
				_, err := t.Truncate(dst, a, 0.1)
				must(err)
			}
		})
		b.Run("cholesky", func(b *testing.B) {
			var c chol.Cholesky
			for b.Loop() {
				must(c.Factor(a))
			}
		})
	})
}

func few(n, k int, mu float64) *mat.Sym {
	a := mattest.Sym(n, uint64(n))
	var e eig.Symmetric
	must(e.FactorValues(a))
	mat.AddIdentity(a, mu-(e.Values()[k-1]+e.Values()[k])/2)
	return a
}

func BenchmarkRoutes(b *testing.B) {
	const mu = 0.1
	tri := eig.RouteTridiagonal
	for _, n := range []int{2, 3, 4, 6, 8, 11, 14, 32, 54, 64, 100, 128, 200, 256, 512} {
		for _, c := range []struct {
			input    string
			a        *mat.Sym
			name     string
			route    eig.Route
			from, to int
		}{
			{"clipped", mattest.Sym(n, uint64(n)), "tridiagonal", tri, 2, 512},
			{"apart", spiked(max(n, 4), -3, -2, -1), "tridiagonal", tri, 14, 512},
			{"apart", spiked(max(n, 4), -3, -2, -1), "krylov", eig.RouteKrylov, 14, 512},
		} {
			if n < c.from || n > c.to {
				continue
			}
			b.Run(fmt.Sprintf("%s/n=%d/route=%s", c.input, n, c.name), func(b *testing.B) {
				var t eig.Truncator
				dst := mat.NewSym(n)
				for b.Loop() {
					if _, ok := t.TruncateBy(c.route, dst, c.a, mu); !ok {
						b.Skip("declined")
					}
				}
			})
		}
	}
}

// BenchmarkFew shows where one eigenvalue more makes Truncate take another route: -1, -2, … below mu.
func BenchmarkFew(b *testing.B) {
	for _, n := range []int{54, 100, 200} {
		q, dst := mattest.Orthogonal(n, uint64(n)), mat.NewSym(n)
		for k := 2; k <= n/2; k += n / 25 {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				var t eig.Truncator
				a := spike(q, k)
				for b.Loop() {
					_, err := t.Truncate(dst, a, 0.1)
					must(err)
				}
			})
		}
	}
}
