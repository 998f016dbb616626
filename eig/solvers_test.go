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

var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129}

// bound is what residuals in units of n·eps·norm must stay below; see mattest.
const bound = 16

func requireDecomposition(t *testing.T, a *mat.Sym, values []float64, vt *mat.Dense) {
	t.Helper()
	require.Len(t, values, a.N)
	v := mattest.Trans(vt)
	assert.Less(t, mattest.EigResidual(a, values, v), float64(bound))
	assert.Less(t, mattest.Orthogonality(v), float64(bound))
	assert.IsNonDecreasing(t, append([]float64{math.Inf(-1)}, values...))
}

func norm(a *mat.Sym) float64 { return mat.NormFrobSym(a) }

// solver is Jacobi or Symmetric.
type solver struct {
	decomposition
	name                 string
	factor, factorValues func(a *mat.Sym) error
}

func solvers() []solver {
	j, s := new(eig.Jacobi), new(eig.Symmetric)
	return []solver{
		{j, "Jacobi", j.Factor, j.FactorValues},
		{s, "Symmetric", s.Factor, s.FactorValues},
	}
}

// requireSolved decomposes a, and finds the same values without vectors.
func requireSolved(t *testing.T, e solver, a *mat.Sym) {
	t.Helper()
	require.NoError(t, e.factor(a))
	requireDecomposition(t, a, e.Values(), e.VectorsT())
	values := slices.Clone(e.Values())
	require.NoError(t, e.factorValues(a))
	require.Equal(t, values, slices.Clone(e.Values()), "values depend on whether vectors are wanted")
}

func TestHardList(t *testing.T) {
	for _, e := range solvers() { // one for all: nothing may be left of the matrix before
		for _, c := range mattest.Hard() {
			t.Run(e.name+"/"+c.Name, func(t *testing.T) {
				if !c.Finite {
					var bad *eig.NotFiniteError
					err := e.factor(c.A)
					require.ErrorIs(t, err, eig.ErrNotFinite)
					require.ErrorAs(t, err, &bad)
					require.False(t, mattest.Finite(c.A.At(bad.I, bad.J)))
					require.ErrorIs(t, e.factorValues(c.A), eig.ErrNotFinite)
					require.Empty(t, e.Values())
					require.PanicsWithValue(t, "eig: "+e.name+".VectorsT: no vectors", func() { e.VectorsT() })
					return
				}
				requireSolved(t, e, c.A)
				if c.Eig != nil {
					assert.InDeltaSlice(t, c.Eig, e.Values(), bound*float64(c.A.N)*mattest.Eps*norm(c.A))
				}
			})
		}
	}
}

func TestAllOrdersAndStrides(t *testing.T) {
	both := solvers() // they must shrink and grow
	for _, n := range sizes {
		for _, pad := range mattest.Strides {
			if testing.Short() && n > 65 && pad == 0 {
				continue
			}
			a := mattest.PadSym(mattest.Sym(n, uint64(n)), pad)
			for _, e := range both {
				requireSolved(t, e, a)
				mattest.CheckPadSym(t, a)
			}
			assert.InDeltaSlice(t, both[0].Values(), both[1].Values(), bound*float64(n)*mattest.Eps*norm(a))
		}
	}
}

// An eigenvalue may be as small beside ‖A‖ as a float64 allows.
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

// Repeated eigenvalues take twice as many rotations, most by large angles.
func TestJacobiStaysOrthogonal(t *testing.T) {
	orders := []int{48, 64, 130}
	if testing.Short() {
		orders = orders[:2]
	}
	for _, n := range orders {
		for name, a := range map[string]*mat.Sym{"repeated": repeated(n, 1), "random": mattest.Sym(n, 1)} {
			var e eig.Jacobi
			require.NoError(t, e.Factor(a))
			assert.Less(t, mattest.Orthogonality(mattest.Trans(e.VectorsT())), 4., "%s, n=%d", name, n)
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
			requireSolved(t, solvers()[1], a)
		})
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

// An eigenvalue beyond the range is infinite, and nothing else happens.
func TestSymmetricOverflow(t *testing.T) {
	a := mat.SymOf(3, slices.Repeat([]float64{math.MaxFloat64}, 9))
	var e eig.Symmetric
	require.NoError(t, e.Factor(a))
	require.Len(t, e.Values(), 3)
	assert.True(t, math.IsInf(e.Values()[2], 1))
	assert.Less(t, mattest.Orthogonality(mattest.Trans(e.VectorsT())), float64(bound))
}
