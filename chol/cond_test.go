package chol_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// Exact up to order 32; the estimate lies between a third and all of it, mostly the latter.
func TestCondIsCloseToTheTrueOne(t *testing.T) { chol.EachKernel(t, testCondIsCloseToTheTrueOne) }

func testCondIsCloseToTheTrueOne(t *testing.T) {
	var c chol.Cholesky
	exact := 0
	for seed := range uint64(300) {
		n := 1 + int(seed)%60
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = math.Pow(10, -float64(seed%9)*float64(i)/float64(n))
		}
		a, inv := mattest.Spectrum(lambda, seed), mat.NewSym(n)
		mat.ScaleSym(a, []float64{1, 1e150, 1e-150}[seed/9%3], a)
		require.NoError(t, c.Factor(a))
		got, estimate := c.Cond(), chol.CondEstimate(&c)
		c.Inverse(inv)
		want := norm1(a) * norm1(inv)
		if n <= chol.CondExact {
			require.InEpsilon(t, want, got, 1e-6, "seed %d", seed)
		} else {
			require.Equal(t, estimate, got)
		}
		require.LessOrEqual(t, estimate, want*(1+1e-6), "seed %d", seed)
		require.Greater(t, estimate, want/3, "seed %d", seed)
		if estimate > want*(1-1e-6) {
			exact++
		}
	}
	require.GreaterOrEqual(t, exact, 190)
}

// Small integers make a start orthogonal to all that makes A or A⁻¹ large.
func TestCondOfIntegers(t *testing.T) {
	var c chol.Cholesky
	rng := mattest.Rand(1)
	trits := func(x []float64) []float64 {
		for i := range x {
			x[i] = float64(rng.IntN(3) - 1)
		}
		return x
	}
	for _, family := range []struct {
		name  string
		limit float64 // of κ₁ over the estimate
		make  func(a *mat.Sym)
	}{
		{"I + θwwᵀ", 1.01, func(a *mat.Sym) {
			mat.AddIdentity(a, 1)
			mat.RankOne(a, 1e5, trits(make([]float64, a.N)))
		}},
		{"BBᵀ + δI", 3, func(a *mat.Sym) {
			b := mat.NewDense(a.N, 1+rng.IntN(a.N))
			trits(b.Data)
			mat.RankK(a, 1, b)
			mat.AddIdentity(a, math.Pow(10, -7*rng.Float64()))
		}},
		{"LLᵀ, a diagonal of ones", 8, func(a *mat.Sym) {
			l := mat.NewDense(a.N, a.N)
			for i := range a.N {
				trits(l.Row(i)[:i])
				l.Set(i, i, 1)
			}
			mat.RankK(a, 1, l)
		}},
	} {
		worst, count := 1.0, 4000
		if testing.Short() {
			count = 1000
		}
		for k := range count {
			n := 3 + rng.IntN(8)
			if k%100 == 0 {
				n = 33 + rng.IntN(20)
			}
			a, inv := mat.NewSym(n), mat.NewSym(n)
			family.make(a)
			require.NoError(t, c.Factor(a))
			c.Inverse(inv)
			want := norm1(a) * norm1(inv)
			if !(want < 1e10) {
				continue // rounding
			}
			if n <= chol.CondExact {
				require.InEpsilon(t, want, c.Cond(), 1e-3, "%s, matrix %d", family.name, k)
			}
			worst = max(worst, want/chol.CondEstimate(&c))
		}
		assert.Less(t, worst, family.limit, family.name)
	}

	a := mat.NewSym(6)
	mat.AddIdentity(a, 1)
	mat.RankOne(a, 1e5, []float64{0, 1, 1, -1, -1, 0})
	require.NoError(t, c.Factor(a))
	assert.InEpsilon(t, 600001, c.Cond(), 1e-9)
	assert.InEpsilon(t, 600001, chol.CondEstimate(&c), 1e-9)
}

func norm1(s *mat.Sym) float64 {
	m := 0.0
	for i := range s.N {
		sum := 0.0
		for j := range s.N {
			sum += math.Abs(s.At(i, j))
		}
		m = max(m, sum)
	}
	return m
}
