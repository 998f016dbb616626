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

func requireSymmetric(t *testing.T, e *eig.Symmetric, a *mat.Sym) {
	t.Helper()
	require.NoError(t, e.Factor(a))
	requireDecomposition(t, a, e.Values(), e.VectorsT())
	values := append([]float64(nil), e.Values()...)
	require.NoError(t, e.FactorValues(a))
	require.Equal(t, values, append([]float64(nil), e.Values()...), "values depend on whether vectors are wanted")
}

func TestSymmetricHardList(t *testing.T) {
	var e eig.Symmetric // one for all: nothing may be left of the matrix before
	for _, c := range mattest.Hard() {
		t.Run(c.Name, func(t *testing.T) {
			if !c.Finite {
				var bad *eig.NotFiniteError
				err := e.Factor(c.A)
				require.ErrorIs(t, err, eig.ErrNotFinite)
				require.ErrorAs(t, err, &bad)
				require.False(t, mattest.Finite(c.A.At(bad.I, bad.J)))
				require.ErrorIs(t, e.FactorValues(c.A), eig.ErrNotFinite)
				require.Empty(t, e.Values())
				require.PanicsWithValue(t, "eig: Symmetric.VectorsT: no vectors", func() { e.VectorsT() })
				return
			}
			requireSymmetric(t, &e, c.A)
			if c.Eig != nil {
				assert.InDeltaSlice(t, c.Eig, e.Values(), bound*float64(c.A.N)*mattest.Eps*norm(c.A))
			}
		})
	}
}

func TestSymmetricHardTridiagonal(t *testing.T) {
	cases := hardTridiagonal()
	for _, n := range []int{16, 65, 128} {
		cases[fmt.Sprintf("sine transform of %d", n)] = dst1(n)
		cases[fmt.Sprintf("cosine transform of %d", n)] = dct4(n)
	}
	q := mattest.Orthogonal(100, 1)
	for _, width := range []float64{1e-15, 1e-14, 1e-13, 1e-12} {
		cases[fmt.Sprintf("clusters of width %g", width)], _ = around(q, width, 1)
	}
	cases["cosine transform of 300"] = dct4(300) // too much for twisted factorisations
	for name, a := range cases {
		t.Run(name, func(t *testing.T) {
			var e eig.Symmetric
			requireSymmetric(t, &e, a)
		})
	}
}

func TestSymmetricAtAllOrdersAndStrides(t *testing.T) {
	var e eig.Symmetric
	for _, n := range append([]int{200}, sizes...) {
		for _, pad := range mattest.Strides {
			a := mattest.PadSym(mattest.Sym(n, uint64(n)), pad)
			requireSymmetric(t, &e, a)
			mattest.CheckPadSym(t, a)
			var j eig.Jacobi
			if pad == 0 && n < 200 {
				_, err := j.FactorValues(a)
				require.NoError(t, err)
				assert.InDeltaSlice(t, j.Values(), e.Values(), bound*float64(n)*mattest.Eps*norm(a))
			}
		}
	}
}

func TestSymmetricDoesNotDependOnHistory(t *testing.T) {
	var used eig.Symmetric
	a65 := mattest.Sym(65, 1)
	for i, a := range []*mat.Sym{a65, dct4(100), mattest.Sym(17, 1), mattest.SPD(65, 2), dst1(64), a65, mat.NewSym(3)} {
		var fresh eig.Symmetric
		require.NoError(t, used.Factor(a))
		require.NoError(t, fresh.Factor(a))
		require.Zero(t, mattest.MaxDiffVec(fresh.Values(), used.Values()), "matrix %d", i)
		require.Zero(t, mattest.MaxDiff(fresh.VectorsT(), used.VectorsT()), "matrix %d", i)
	}
}

func TestSymmetricSteadyStateAllocatesNothing(t *testing.T) {
	const n = 64
	cases := map[string]*mat.Sym{
		"random": mattest.Sym(n, 1), "blocks": mat.NewSym(n), "reflection": dst1(n), "clusters": dct4(n),
	}
	for name, first := range cases {
		var e eig.Symmetric
		require.NoError(t, e.Factor(first))
		for other, a := range cases {
			assert.Zero(t, testing.AllocsPerRun(3, func() { must(e.Factor(a)) }), "%s, then %s", name, other)
			assert.Zero(t, testing.AllocsPerRun(3, func() { must(e.FactorValues(a)) }), "%s, then %s", name, other)
		}
	}
}

func TestSymmetricSmallOrdersAllocateNothing(t *testing.T) {
	var all []*mat.Sym
	for n := 17; n >= 0; n-- {
		all = append(all, mattest.Sym(n, uint64(n)))
	}
	var e eig.Symmetric
	require.NoError(t, e.Factor(all[0]))
	for _, a := range all {
		assert.Zero(t, testing.AllocsPerRun(3, func() { must(e.Factor(a)) }), "n=%d", a.N)
		assert.Zero(t, testing.AllocsPerRun(3, func() { must(e.FactorValues(a)) }), "n=%d", a.N)
	}
}

// An eigenvalue beyond the range is infinite, and nothing else happens.
func TestSymmetricOverflow(t *testing.T) {
	a := mat.NewSym(3)
	for i := range 3 {
		for j := range i + 1 {
			a.Set(i, j, math.MaxFloat64)
		}
	}
	var e eig.Symmetric
	require.NoError(t, e.Factor(a))
	require.Len(t, e.Values(), 3)
	assert.True(t, math.IsInf(e.Values()[2], 1))
	assert.Less(t, mattest.Orthogonality(mattest.Trans(e.VectorsT())), float64(bound))
}
