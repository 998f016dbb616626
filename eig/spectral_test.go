package eig_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

// tridiagonal is the symmetric matrix with diagonal d(i) and off-diagonal e(i) between i and i+1.
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

// hardTridiagonal are matrices on which methods for tridiagonal eigenvectors have failed.
func hardTridiagonal() map[string]*mat.Sym {
	wilkinson := func(i int) float64 { return math.Abs(float64(i%21) - 10) }
	cases := map[string]*mat.Sym{
		"second difference": tridiagonal(100, constant(2), constant(-1)),
		// pairs of eigenvalues that agree to 14 digits, in an unreduced matrix (Wilkinson, The
		// Algebraic Eigenvalue Problem, 5.45)
		"Wilkinson": tridiagonal(21, wilkinson, constant(1)),
		// hollow, the spectrum symmetric around 0, with the binomial eigenvalues −(n−1), −(n−3), …,
		// n−1 (Kac, Sylvester, Clement)
		"Clement":       tridiagonal(50, constant(0), func(i int) float64 { return math.Sqrt(float64((i + 1) * (49 - i))) }),
		"graded up":     tridiagonal(40, func(i int) float64 { return math.Pow(2, float64(i)) }, func(i int) float64 { return math.Pow(2, float64(i)-1) }),
		"graded down":   tridiagonal(40, func(i int) float64 { return math.Pow(2, -float64(i)) }, func(i int) float64 { return math.Pow(2, -float64(i)-2) }),
		"nearly split":  tridiagonal(64, func(i int) float64 { return float64(i % 4) }, func(i int) float64 { return math.Pow(10, -float64(i%20)) }),
		"one big entry": tridiagonal(30, func(i int) float64 { return 1 }, func(i int) float64 { return map[bool]float64{true: 1e10, false: 1e-3}[i == 13] }),
	}
	// copies of Wilkinson's matrix glued by small entries: clusters of many (Dhillon, Parlett and
	// Vömel, BIT 45 (2005))
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

func TestTridiagonalVectors(t *testing.T) {
	for name, a := range hardTridiagonal() {
		t.Run(name, func(t *testing.T) {
			for _, mu := range []float64{math.Inf(1), 1, 0.3, 0} {
				lambda, z, ok := eig.Tridiagonal(a, mu)
				require.True(t, ok, "declined")
				v := mattest.Trans(z)
				require.Less(t, mattest.EigResidual(a, lambda, v), float64(bound))
				require.Less(t, mattest.Orthogonality(v), float64(bound))
			}
		})
	}
}

// TestTridiagonalOfRepeatedEigenvalues has three eigenvalues, each many times: T has whole clusters
// in one unreduced block.
func TestTridiagonalOfRepeatedEigenvalues(t *testing.T) {
	for seed := range uint64(60) {
		rng := mattest.Rand(seed)
		lambda := make([]float64, 10+rng.IntN(50))
		for i := range lambda {
			lambda[i] = float64(rng.IntN(3) - 1)
		}
		a := mattest.Spectrum(lambda, seed)
		got, z, ok := eig.Tridiagonal(a, math.Inf(1))
		require.True(t, ok, "declined")
		v := mattest.Trans(z)
		require.Less(t, mattest.EigResidual(a, got, v), float64(bound))
		require.Less(t, mattest.Orthogonality(v), float64(bound))
	}
}

func TestTridiagonalAtAllOrders(t *testing.T) {
	for _, n := range append([]int{200, 257}, sizes...) {
		a := mattest.Sym(n, uint64(n))
		var e eig.Jacobi
		_, err := e.FactorValues(a)
		require.NoError(t, err)
		unit := bound * float64(n) * mattest.Eps * norm(a)
		for _, k := range []int{1, 2, n / 16, n / 2, n} { // one, few by bisection, half and all by QL
			if k < 1 || k > n {
				continue
			}
			mu := math.Inf(1)
			if k < n {
				mu = (e.Values()[k-1] + e.Values()[k]) / 2
			}
			lambda, z, ok := eig.Tridiagonal(a, mu)
			require.True(t, ok)
			require.Len(t, lambda, k)
			assert.InDeltaSlice(t, e.Values()[:k], lambda, unit)
			v := mattest.Trans(z)
			require.Less(t, mattest.EigResidual(a, lambda, v), float64(bound))
			require.Less(t, mattest.Orthogonality(v), float64(bound))
		}
	}
}

// TestRoutesAgree runs each route by itself over the hard lists: each one gives the projection, so
// they differ by rounding only.
func TestRoutesAgree(t *testing.T) {
	cases := hardTridiagonal()
	for _, c := range mattest.Hard() {
		if c.Finite {
			cases[c.Name] = c.A
		}
	}
	for _, n := range []int{33, 64, 100} {
		cases[fmt.Sprintf("few of %d", n)] = few(n, 3, 0.1)
	}
	for name, a := range cases {
		t.Run(name, func(t *testing.T) {
			for _, mu := range thresholds(a) {
				want := mat.NewSym(a.N)
				var tr eig.Truncator
				_, ok := tr.TruncateBy(eig.RouteJacobi, want, a, mu)
				require.True(t, ok)
				requireProjection(t, a, want, mu)
				for _, r := range []eig.Route{eig.RouteTridiagonal} {
					p := mat.NewSym(a.N)
					rep, ok := tr.TruncateBy(r, p, a, mu)
					require.True(t, ok, "%v declined", r)
					requireProjection(t, a, p, mu)
					requireReport(t, rep, a, p, mu)
					assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, mu), "%v", r)
				}
			}
		})
	}
}
