package eig_test

import (
	"fmt"
	"testing"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

var benchSizes = []int{14, 22, 32, 54, 64, 100, 128, 200, 256, 512}

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

// BenchmarkEig is a cold Jacobi decomposition, values and vectors.
func BenchmarkEig(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		a := mattest.Sym(n, uint64(n))
		var e eig.Jacobi
		for b.Loop() {
			_, err := e.Factor(a)
			must(err)
		}
	})
}

// BenchmarkEigFrom is the same for a matrix that has moved by 1 %, from the eigenvectors that it had before.
func BenchmarkEigFrom(b *testing.B) {
	each(b, func(b *testing.B, n int) {
		a := mattest.Sym(n, uint64(n))
		var e eig.Jacobi
		_, err := e.Factor(a)
		must(err)
		v0 := mattest.Trans(e.VectorsT())
		a = moved(a)
		for b.Loop() {
			_, err := e.FactorFrom(a, v0)
			must(err)
		}
	})
}

// BenchmarkTruncate projects onto {X ⪰ 0.1·I}: with nothing to clip; with three eigenvalues to clip, half-way between the third and the
// fourth; with about half the spectrum to clip; and the same for a matrix that moves by 1 % from call to call.
func BenchmarkTruncate(b *testing.B) {
	const mu = 0.1
	for _, c := range []struct {
		name  string
		input func(n int) *mat.Sym
	}{
		{"clear", func(n int) *mat.Sym { return mattest.SPD(n, uint64(n)) }},
		{"few", func(n int) *mat.Sym { return few(n, 3, mu) }},
		{"clipped", func(n int) *mat.Sym { return mattest.Sym(n, uint64(n)) }},
		{"warm", func(n int) *mat.Sym { return mattest.Sym(n, uint64(n)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			each(b, func(b *testing.B, n int) {
				a, dst := c.input(n), mat.NewSym(n)
				next := a
				if c.name == "warm" {
					next = moved(a)
				}
				var t eig.Truncator
				for b.Loop() {
					_, err := t.Truncate(dst, a, mu)
					must(err)
					a, next = next, a
				}
			})
		})
	}
}

// moved is a, moved by 1 % of its norm.
func moved(a *mat.Sym) *mat.Sym {
	m, e := mat.NewSym(a.N), mattest.Sym(a.N, 77)
	mat.AddScaledSym(m, a, 0.01*norm(a)/norm(e), e)
	return m
}

// few is mattest.Sym shifted so that k eigenvalues are below mu, which is half-way to the next one.
func few(n, k int, mu float64) *mat.Sym {
	a := mattest.Sym(n, uint64(n))
	var e eig.Jacobi
	_, err := e.FactorValues(a)
	must(err)
	mat.AddIdentity(a, mu-(e.Values()[k-1]+e.Values()[k])/2)
	return a
}

// BenchmarkRoutes runs each route of Truncate by itself: the crossovers in the package are read from it.
func BenchmarkRoutes(b *testing.B) {
	const mu = 0.1
	for _, n := range []int{2, 3, 4, 6, 8, 11, 14, 54, 128, 160, 200, 256, 512} {
		for _, c := range []struct {
			input string
			a     *mat.Sym
			route eig.Route
			upTo  int
		}{
			{"clipped", mattest.Sym(n, uint64(n)), eig.RouteTridiagonal, 512},
			{"clipped", mattest.Sym(n, uint64(n)), eig.RouteJacobi, 54},
			{"few", few(n, min(3, n-1), mu), eig.RouteTridiagonal, 512},
			{"few", few(n, min(3, n-1), mu), eig.RouteKrylov, 512},
		} {
			if n > c.upTo || c.route == eig.RouteKrylov && n < 54 {
				continue
			}
			b.Run(fmt.Sprintf("%s/n=%d/route=%v", c.input, n, c.route), func(b *testing.B) {
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
