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

type decomposition interface {
	Values() []float64
	VectorsT() *mat.Dense
}

type solver struct {
	decomposition
	name, bounds         string // bounds begins the names of its constants
	factor, factorValues func(a *mat.Sym) error
}

func solvers() []solver {
	j, s := new(eig.Jacobi), new(eig.Symmetric)
	return []solver{
		{j, "Jacobi", "", j.Factor, j.FactorValues},
		{s, "Symmetric", "symmetric, ", s.Factor, s.FactorValues},
	}
}

func TestNotFinite(t *testing.T) {
	for _, a := range mattest.NotFinite() {
		for _, e := range solvers() {
			require.NoError(t, e.factor(mattest.Sym(3, 1)))
			require.True(t, refused(t, a, e.factor(a)))
			require.True(t, refused(t, a, e.factorValues(a)))
			require.Empty(t, e.Values())
			require.PanicsWithValue(t, "eig: "+e.name+".VectorsT: no vectors", func() { e.VectorsT() })
		}
		var tr eig.Truncator
		p := mattest.Sym(a.N, 1)
		_, err := tr.Truncate(p, mattest.SPD(a.N, 1), 0.1)
		require.NoError(t, err)
		_, err = tr.Truncate(p, a, 0.1)
		require.True(t, refused(t, a, err))
		require.Equal(t, mattest.SPD(a.N, 1), p, "dst must stay as it was")
		require.PanicsWithValue(t, "eig: Truncator.SolveVec: no projection", func() { _ = tr.SolveVec(nil, nil) })
		require.PanicsWithValue(t, "eig: Truncator.Solve: no projection", func() { _ = tr.Solve(nil, nil) })
	}
	for _, mu := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := new(eig.Truncator).Truncate(mat.NewSym(3), mattest.SPD(3, 1), mu)
		require.ErrorIs(t, err, eig.ErrNotFinite)
		require.EqualError(t, err, fmt.Sprintf("eig: mu is %g", mu))
	}
}

func TestJacobiIsExactOnADiagonal(t *testing.T) {
	for _, d := range [][]float64{
		{3, -1, 4, 1e-300, -5}, {1e91, 1e-290}, {1e16, 1e-308}, {1, 0x1p-1074}, {1e-300, 0x1p-1074}, {1e299, 1e-290},
	} {
		a := mat.NewSym(len(d))
		mat.AddDiag(a, d)
		var e eig.Jacobi
		require.NoError(t, e.Factor(a))
		assert.Equal(t, slices.Sorted(slices.Values(d)), e.Values())
	}
}

// Of a and c at (0, 0) and (1, 1), b beside: c − b²/a and a, to the last digits.
func TestJacobiAtTheEndsOfTheRange(t *testing.T) {
	for _, v := range [][3]float64{{1e280, 0.5, 1e-280}, {1e-3, 1e-155, 1e-300}, {1e20, 1e-140, 1e-290}, {1e40, 1, 1e-39}} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			a, least := mat.NewSym(2), v[2]-v[1]/v[0]*v[1]
			a.Set(order[0], order[0], v[0])
			a.Set(1, 0, v[1])
			a.Set(order[1], order[1], v[2])
			var e eig.Jacobi
			require.NoError(t, e.Factor(a))
			assert.InEpsilonSlice(t, []float64{least, v[0]}, e.Values(), 8*mattest.Eps, "%g", v)
		}
	}
}

func TestMisusePanicsWithAConstant(t *testing.T) {
	a, torn := mattest.Sym(3, 1), mattest.Sym(3, 1)
	torn.Stride = 0
	const overlap = ": rows overlap, Stride is too small"
	for _, e := range solvers() {
		none := "eig: " + e.name + ".VectorsT: no vectors"
		assert.PanicsWithValue(t, none, func() { e.VectorsT() })
		require.NoError(t, e.factorValues(a))
		assert.PanicsWithValue(t, none, func() { e.VectorsT() })
		assert.PanicsWithValue(t, "eig: "+e.name+".Factor"+overlap, func() { _ = e.factor(torn) })
		assert.PanicsWithValue(t, "eig: "+e.name+".FactorValues"+overlap, func() { _ = e.factorValues(torn) })
	}
	data := make([]float64, 16)
	wide, narrow := &mat.Sym{N: 3, Stride: 4, Data: data}, &mat.Sym{N: 3, Stride: 3, Data: data}
	for _, c := range []struct {
		dst, a *mat.Sym
		want   string
	}{
		{mat.NewSym(2), a, ": dimension mismatch"},
		{a, torn, overlap},
		{torn, a, overlap},
		{wide, narrow, ": dst overlaps an operand"},
	} {
		assert.PanicsWithValue(t, "eig: Truncator.Truncate"+c.want, func() { _, _ = new(eig.Truncator).Truncate(c.dst, c.a, 0) })
	}
}

// Small orders follow larger ones; the others have each the workspace of the one before.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const n = 64
	all := []*mat.Sym{mattest.Sym(n, 1), mat.NewSym(n), dst1(n), dct4(n)}
	for n := 17; n >= 0; n-- {
		all = append(all, mattest.Sym(n, uint64(n)))
	}
	for _, e := range solvers() {
		for i, a := range all {
			for _, first := range all[:min(i+1, 4)] {
				require.NoError(t, e.factor(first))
				assert.Zero(t, testing.AllocsPerRun(2, func() { must(e.factor(a)) }), "%s, matrix %d", e.name, i)
				assert.Zero(t, testing.AllocsPerRun(2, func() { must(e.factorValues(a)) }), "%s, matrix %d", e.name, i)
				if a.N < n || e.name == "Jacobi" {
					break
				}
			}
		}
	}
}

func TestSymmetricOverflow(t *testing.T) {
	a := mat.SymOf(3, slices.Repeat([]float64{math.MaxFloat64}, 9))
	var e eig.Symmetric
	require.NoError(t, e.Factor(a))
	require.Len(t, e.Values(), 3)
	assert.True(t, math.IsInf(e.Values()[2], 1))
	v := e.VectorsT()
	assert.Less(t, mattest.Residual(v, mattest.Trans(v), mattest.One(3), 1), float64(bound))
}
