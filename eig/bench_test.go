package eig_test

import (
	"fmt"
	"testing"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func few(n, k int, mu float64) *mat.Sym {
	a := mattest.Sym(n, uint64(n))
	var e eig.Symmetric
	must(e.FactorValues(a))
	mat.AddIdentity(a, mu-(e.Values()[k-1]+e.Values()[k])/2)
	return a
}

func BenchmarkRoutes(b *testing.B) {
	for _, n := range []int{4, 6, 8, 11, 14, 32, 54, 64, 100, 128, 200, 256, 512} {
		for _, c := range []struct {
			input string
			a     *mat.Sym
			route eig.Route
		}{
			{"clipped", mattest.Sym(n, uint64(n)), eig.RouteTridiagonal},
			{"apart", spiked(n, -3, -2, -1), eig.RouteTridiagonal},
			{"apart", spiked(n, -3, -2, -1), eig.RouteKrylov},
		} {
			b.Run(fmt.Sprintf("%s/n=%d/route=%v", c.input, n, c.route), func(b *testing.B) {
				var t eig.Truncator
				dst := mat.NewSym(n)
				for b.Loop() {
					if _, ok := t.TruncateBy(c.route, dst, c.a, 0.1); !ok {
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
