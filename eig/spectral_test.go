package eig_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

func tridiagonal(n int, d, e func(i int) float64) *mat.Sym {
	a := mat.NewSym(n)
	for i := range n {
		a.Set(i, i, d(i))
		if i+1 < n {
			a.Set(i+1, i, e(i))
		}
	}
	return a
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

func hardTridiagonal() map[string]*mat.Sym {
	wilkinson := func(i int) float64 { return math.Abs(float64(i%21) - 10) }
	cases := map[string]*mat.Sym{
		"second difference": tridiagonal(100, constant(2), constant(-1)),
		// eigenvalues that agree to 14 digits (Wilkinson, The Algebraic Eigenvalue Problem, 5.45)
		"Wilkinson": tridiagonal(21, wilkinson, constant(1)),
		// hollow, eigenvalues −(n−1), −(n−3), …, n−1 (Kac, Sylvester, Clement)
		"Clement":       tridiagonal(50, constant(0), func(i int) float64 { return math.Sqrt(float64((i + 1) * (49 - i))) }),
		"graded up":     tridiagonal(40, func(i int) float64 { return math.Pow(2, float64(i)) }, func(i int) float64 { return math.Pow(2, float64(i)-1) }),
		"graded down":   tridiagonal(40, func(i int) float64 { return math.Pow(2, -float64(i)) }, func(i int) float64 { return math.Pow(2, -float64(i)-2) }),
		"nearly split":  tridiagonal(64, func(i int) float64 { return float64(i % 4) }, func(i int) float64 { return math.Pow(10, -float64(i%20)) }),
		"one big entry": tridiagonal(30, func(i int) float64 { return 1 }, func(i int) float64 { return map[bool]float64{true: 1e10, false: 1e-3}[i == 13] }),
	}
	// Wilkinson's, glued: clusters (Dhillon, Parlett, Vömel, BIT 45 (2005))
	for _, glue := range []float64{1e-4, 1e-8, 1e-12, 1e-15} {
		cases[fmt.Sprintf("glued %g", glue)] = tridiagonal(105, wilkinson, func(i int) float64 {
			if i%21 == 20 {
				return glue
			}
			return 1
		})
	}
	return cases
}

func requireVectors(t *testing.T, a *mat.Sym, mu float64, want []float64) {
	t.Helper()
	for _, ql := range []bool{false, true} {
		lambda, z, ok := eig.Tridiagonal(a, mu, ql)
		require.True(t, ok, "declined")
		v := mattest.Trans(z)
		require.Less(t, mattest.EigResidual(a, lambda, v), float64(bound))
		require.Less(t, mattest.Orthogonality(v)*float64(v.Cols), float64(bound*a.N))
		if want != nil {
			require.Len(t, lambda, len(want))
			slices.Sort(lambda)
			assert.InDeltaSlice(t, want, lambda, bound*float64(a.N)*mattest.Eps*norm(a))
		}
	}
}

func TestTridiagonalVectors(t *testing.T) {
	for name, a := range hardTridiagonal() {
		t.Run(name, func(t *testing.T) {
			for _, mu := range []float64{math.Inf(1), 1, 0.3, 0} {
				requireVectors(t, a, mu, nil)
			}
		})
	}
}

// repeated has three eigenvalues, each many times: whole clusters in one unreduced block.
func repeated(n int, seed uint64) *mat.Sym {
	lambda, rng := make([]float64, n), mattest.Rand(seed)
	for i := range lambda {
		lambda[i] = float64(rng.IntN(3) - 1)
	}
	return mattest.Spectrum(lambda, seed)
}

func TestTridiagonalOfRepeatedEigenvalues(t *testing.T) {
	for seed := range uint64(60) {
		a := repeated(10+int(seed)*5/6, seed)
		requireVectors(t, a, math.Inf(1), nil)
		requireVectors(t, a, 0.5, nil)
	}
}

func TestTridiagonalAtAllOrders(t *testing.T) {
	orders := sizes
	if !testing.Short() {
		orders = append([]int{200, 257}, sizes...)
	}
	for _, n := range orders {
		a := mattest.Sym(n, uint64(n))
		values := valuesOf(t, a)
		for _, k := range []int{1, 2, n / 16, n / 2, n} { // one, few by bisection, half and all by QL
			if k < 1 || k > n {
				continue
			}
			mu := math.Inf(1)
			if k < n {
				mu = (values[k-1] + values[k]) / 2
			}
			requireVectors(t, a, mu, values[:k])
		}
	}
}

func around(q *mat.Dense, width float64, seed uint64) (a, p *mat.Sym) {
	lambda, rng := make([]float64, q.Rows), mattest.Rand(seed)
	for i := range lambda {
		lambda[i] = float64(2*rng.IntN(2)-1) + width*rng.NormFloat64()
	}
	a = mattest.Compose(q, lambda)
	for i, v := range lambda {
		lambda[i] = max(v, 0)
	}
	return a, mattest.Compose(q, lambda)
}

// dst1 and dct4 are symmetric and their own inverses: (A + I)/2 projects onto {X ⪰ 0}.
func dst1(n int) *mat.Sym {
	return transform(n, n+1, func(i, j float64) float64 { return math.Sin((i + 1) * (j + 1) * math.Pi / float64(n+1)) })
}

func dct4(n int) *mat.Sym {
	return transform(n, n, func(i, j float64) float64 { return math.Cos((i + 0.5) * (j + 0.5) * math.Pi / float64(n)) })
}

func transform(n, half int, f func(i, j float64) float64) *mat.Sym {
	a := mat.NewSym(n)
	for i := range n {
		for j := range i + 1 {
			a.Set(i, j, math.Sqrt(2/float64(half))*f(float64(i), float64(j)))
		}
	}
	return a
}

// Clusters of half the spectrum, as wide as rounding.
func TestTruncateOfTightClusters(t *testing.T) {
	check := func(a, want *mat.Sym, where string) {
		t.Helper()
		p, _ := truncate(t, new(eig.Truncator), a, 0)
		assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, 0), where)
	}
	widths := []float64{3e-14, 1e-13, 4e-13, 1e-15, 1e-14, 1e-12}
	seeds, transforms := map[int]uint64{8: 60, 40: 20, 100: 5, 280: 1}, []*mat.Sym{dct4(300), dst1(492)}
	if testing.Short() {
		seeds, transforms = map[int]uint64{8: 20, 40: 6, 100: 2}, transforms[:1]
	}
	if mattest.Long() {
		transforms = append(transforms, dct4(577), dst1(985), dst1(1000), dct4(1000))
	}
	for n, count := range seeds {
		for seed := range count {
			q := mattest.Orthogonal(n, seed)
			for _, width := range widths[:min(6, 600/n)] {
				a, want := around(q, width, seed)
				check(a, want, fmt.Sprintf("n=%d, width %g, seed %d", n, width, seed))
			}
		}
	}
	for _, a := range transforms {
		want := mat.NewSym(a.N)
		mat.ScaleSym(want, 0.5, a)
		check(a, plus(want, 0.5), fmt.Sprintf("transform of order %d", a.N))
	}
}

func TestTridiagonalRoute(t *testing.T) {
	cases := hardTridiagonal()
	for _, n := range []int{33, 64, 100} {
		cases[fmt.Sprintf("few of %d", n)] = few(n, 3, 0.1)
	}
	requireRoute(t, eig.RouteTridiagonal, cases)
}
