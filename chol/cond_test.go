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

func TestCondOfIntegers(t *testing.T) { mattest.EachKernel(t, testCondOfIntegers) }

// Exact up to order 16, else an estimate: small integers make its start orthogonal to all that makes
// A or A⁻¹ large, and the diagonals of Kahan's and of graded matrices hide what does.
func testCondOfIntegers(t *testing.T) {
	var c chol.Cholesky
	rng := mattest.Rand(1)
	trits := func(n int) []float64 { return mattest.List(n, func(int) float64 { return float64(rng.IntN(3) - 1) }) }
	for _, family := range []struct {
		name  string
		limit float64 // of κ₁ over the estimate
		make  func(a *mat.Sym)
	}{
		{"I + θwwᵀ", 1.01, func(a *mat.Sym) {
			mat.AddIdentity(a, 1)
			mat.RankOne(a, 1e5, trits(a.N))
		}},
		{"BBᵀ + δI", 4, func(a *mat.Sym) {
			k := 1 + rng.IntN(a.N)
			mat.RankK(a, 1, mat.DenseOf(a.N, k, trits(a.N*k)))
			mat.AddIdentity(a, math.Pow(10, -7*rng.Float64()))
		}},
		{"a random spectrum", 3, func(a *mat.Sym) {
			span := 8 * rng.Float64()
			lambda := mattest.List(a.N, func(i int) float64 { return math.Pow(10, -span*float64(i)/float64(a.N)) })
			mat.CopySym(a, mattest.Spectrum(lambda, rng.Uint64()))
		}},
		{"LLᵀ, a diagonal of ones", 5, func(a *mat.Sym) {
			l := mat.NewDense(a.N, a.N)
			for i := range a.N {
				copy(l.Row(i), append(trits(i), 1))
			}
			mat.RankK(a, 1, l)
		}},
		{"RᵀR, Kahan's R", 2, func(a *mat.Sym) {
			l, cos := mat.NewDense(a.N, a.N), 0.05+0.25*rng.Float64()
			for i := range a.N {
				r := l.Row(i)[:i+1]
				for j := range r {
					r[j] = -cos * math.Pow(1-cos*cos, float64(j)/2)
				}
				r[i] /= -cos
			}
			mat.RankK(a, 1, l)
		}},
		{"BBᵀ, graded", 2, func(a *mat.Sym) {
			mat.AddIdentity(a, 1e-8)
			b := mat.NewDense(a.N, 2*a.N)
			for i := range a.N {
				mat.Axpy(b.Row(i), math.Pow(10, -3*float64(i)/float64(a.N)), trits(2*a.N))
			}
			mat.RankK(a, 1, b)
		}},
	} {
		worst := 1.0
		for k := range mattest.Count(1000, 4000, 4000) {
			n := 3 + rng.IntN(8)
			if k%100 == 0 {
				n = 17 + rng.IntN(44)
			}
			a, inv := mat.NewSym(n), mat.NewSym(n)
			family.make(a)
			require.NoError(t, c.Factor(a))
			if k%3 == 0 {
				require.NoError(t, c.Update(make([]float64, n)))
			}
			c.Inverse(inv)
			want := mattest.ExactSym(a).Norm1() * mattest.ExactSym(inv).Norm1()
			if !(want < 1e10) {
				continue // rounding
			}
			estimate := chol.CondEstimate(&c)
			if n <= chol.CondExact {
				require.InEpsilon(t, want, c.Cond(), 1e-3, "%s, matrix %d", family.name, k)
			} else {
				require.Equal(t, estimate, c.Cond(), "%s, matrix %d", family.name, k)
			}
			require.LessOrEqual(t, estimate, want*1.001, "%s, matrix %d", family.name, k)
			worst = max(worst, want/estimate)
		}
		assert.Less(t, worst, family.limit, family.name)
	}
}
