package chol_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func TestPosDefFindsTheSmallestEigenvalue(t *testing.T) {
	mattest.EachKernel(t, testPosDefFindsTheSmallestEigenvalue)
}

func testPosDefFindsTheSmallestEigenvalue(t *testing.T) {
	var c chol.Cholesky
	for _, n := range []int{1, 2, 3, 8, 17, 33, 65} {
		for _, least := range []float64{-2, 0, 0.5} {
			lambda := make([]float64, n)
			for i := range lambda {
				lambda[i] = least + float64(i)/float64(n)
			}
			a := mattest.PadSym(mattest.Spectrum(lambda, uint64(n)), 3)
			require.True(t, c.PosDef(a, least-1e-12), "n=%d", n)
			require.False(t, c.Valid())
			require.False(t, c.PosDef(a, least+1e-12), "n=%d", n)
			require.True(t, c.PosDef(a, -100), "n=%d: diagonally dominant", n)
			require.False(t, c.PosDef(a, 100), "n=%d", n)
			for _, shift := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				require.False(t, c.PosDef(a, shift), "n=%d shift=%g", n, shift)
			}
			mattest.CheckPadSym(t, a)
		}
	}
}

// At the edge of dominance Factor may fail, and a sum may drop many small terms.
func TestPosDefOnTheEdgeOfDominance(t *testing.T) {
	mattest.EachKernel(t, testPosDefOnTheEdgeOfDominance)
}

func testPosDefOnTheEdgeOfDominance(t *testing.T) {
	var c chol.Cholesky
	failed := 0
	for seed := range uint64(10_000) {
		const n = 4
		a := mattest.Sym(n, seed)
		for i := range n {
			for j := range i {
				a.Set(i, j, -math.Abs(a.At(i, j)))
			}
		}
		for i := range n {
			sum := 0.0
			for j := range n {
				if j != i {
					sum -= a.At(i, j)
				}
			}
			a.Set(i, i, sum*(1+float64(seed%2)*0x1p-52))
		}
		positive := c.Factor(a) == nil
		require.Equal(t, positive, c.PosDef(a, 0), "seed %d", seed)
		if !positive {
			failed++
		}
	}
	require.Positive(t, failed)

	for _, n := range []int{15, 33, 100} {
		a := mat.NewSym(n)
		for i := range n {
			a.Set(i, i, 1+0x1p-50*float64(n))
			a.Set(i, 0, 0x1.fp-54)
		}
		a.Set(n-1, 0, 1)
		a.Set(0, 0, 1+0x1p-54*float64(n)) // less than the sum of the others, which is 1 + 1.94·2⁻⁵⁴·(n−2)
		require.False(t, chol.Dominant(a, 0), "n=%d", n)
		a.Set(0, 0, 1+0x1p-50*float64(n))
		require.True(t, chol.Dominant(a, 0), "n=%d", n)
	}
}
