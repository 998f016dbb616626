package eig_test

import (
	"math"
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

func TestJacobiHardList(t *testing.T) {
	for _, c := range mattest.Hard() {
		t.Run(c.Name, func(t *testing.T) {
			var e eig.Jacobi
			rep, err := e.Factor(c.A)
			if !c.Finite {
				var bad *eig.NotFiniteError
				require.ErrorIs(t, err, eig.ErrNotFinite)
				require.ErrorAs(t, err, &bad)
				v := c.A.At(bad.I, bad.J)
				require.True(t, math.IsNaN(v) || math.IsInf(v, 0))
				return
			}
			require.NoError(t, err)
			requireDecomposition(t, c.A, e.Values(), e.VectorsT())
			unit := float64(c.A.N) * mattest.Eps * norm(c.A)
			assert.LessOrEqual(t, rep.OffNorm, unit)
			if c.Eig != nil {
				assert.InDeltaSlice(t, c.Eig, e.Values(), bound*unit)
			}
			vectors := append([]float64(nil), e.Values()...)
			_, err = e.FactorValues(c.A)
			require.NoError(t, err)
			assert.Equal(t, vectors, e.Values(), "values depend on whether vectors are wanted")
		})
	}
}

func TestJacobiAtAllOrdersAndStrides(t *testing.T) {
	var e eig.Jacobi // one for all orders: it must shrink and grow
	for _, n := range sizes {
		for _, pad := range mattest.Strides {
			if testing.Short() && n > 65 && pad == 0 {
				continue
			}
			a := mattest.PadSym(mattest.Sym(n, uint64(n)), pad)
			_, err := e.Factor(a)
			require.NoError(t, err)
			requireDecomposition(t, a, e.Values(), e.VectorsT())
			mattest.CheckPadSym(t, a)
		}
	}
}

func TestJacobiIsExactOnADiagonal(t *testing.T) {
	a := mat.NewSym(5)
	for i, v := range []float64{3, -1, 4, 1e-300, -5} {
		a.Set(i, i, v)
	}
	var e eig.Jacobi
	rep, err := e.Factor(a)
	require.NoError(t, err)
	assert.Equal(t, eig.JacobiReport{Sweeps: rep.Sweeps}, rep)
	assert.Equal(t, []float64{-5, -1, 1e-300, 3, 4}, e.Values())
}

// An eigenvalue may be as small beside ‖A‖ as a float64 allows.
func TestJacobiLosesNothingToScaling(t *testing.T) {
	for _, d := range [][2]float64{
		{1e-290, 1e91}, {1e-308, 1e16}, {0x1p-1074, 1}, {0x1p-1074, 1e-300}, {1e-290, 1e299},
	} {
		a := mat.NewSym(2)
		a.Set(0, 0, d[1])
		a.Set(1, 1, d[0])
		var e eig.Jacobi
		_, err := e.Factor(a)
		require.NoError(t, err)
		assert.Equal(t, d[:], e.Values())
	}
}

// Repeated eigenvalues take twice as many rotations, most by large angles.
func TestJacobiStaysOrthogonal(t *testing.T) {
	orders := []int{48, 64, 130}
	if testing.Short() {
		orders = orders[:2]
	}
	for _, n := range orders {
		lambda, rng := make([]float64, n), mattest.Rand(uint64(n))
		for i := range lambda {
			lambda[i] = float64(rng.IntN(3) - 1)
		}
		for name, a := range map[string]*mat.Sym{"repeated": mattest.Spectrum(lambda, 1), "random": mattest.Sym(n, 1)} {
			var e eig.Jacobi
			_, err := e.Factor(a)
			require.NoError(t, err)
			assert.Less(t, mattest.Orthogonality(mattest.Trans(e.VectorsT())), 4., "%s, n=%d", name, n)
		}
	}
}

func TestJacobiSteadyStateAllocatesNothing(t *testing.T) {
	const n = 24
	a := mattest.Sym(n, 1)
	var e eig.Jacobi
	for name, f := range map[string]func() (eig.JacobiReport, error){
		"Factor":       func() (eig.JacobiReport, error) { return e.Factor(a) },
		"FactorValues": func() (eig.JacobiReport, error) { return e.FactorValues(a) },
	} {
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			if _, err := f(); err != nil {
				panic(err)
			}
		}), name)
	}
}

func TestMisusePanicsWithAConstant(t *testing.T) {
	a := mattest.Sym(3, 1)
	var e eig.Jacobi
	var tr eig.Truncator
	assert.PanicsWithValue(t, "eig: Jacobi.VectorsT: no vectors", func() { e.VectorsT() })
	_, err := e.FactorValues(a)
	require.NoError(t, err)
	assert.PanicsWithValue(t, "eig: Jacobi.VectorsT: no vectors", func() { e.VectorsT() })
	assert.PanicsWithValue(t, "eig: Truncator.Truncate: dimension mismatch", func() { _, _ = tr.Truncate(mat.NewSym(2), a, 0) })
}

func TestAliasing(t *testing.T) {
	a, torn := mattest.Sym(3, 1), mattest.Sym(3, 1)
	torn.Stride = 0
	var e eig.Jacobi
	var tr eig.Truncator
	var s eig.Symmetric
	for name, calls := range map[string][]func(){
		"Jacobi.Factor":          {func() { _, _ = e.Factor(torn) }},
		"Jacobi.FactorValues":    {func() { _, _ = e.FactorValues(torn) }},
		"Symmetric.Factor":       {func() { _ = s.Factor(torn) }},
		"Symmetric.FactorValues": {func() { _ = s.FactorValues(torn) }},
		"Truncator.Truncate":     {func() { _, _ = tr.Truncate(a, torn, 0) }, func() { _, _ = tr.Truncate(torn, a, 0) }},
	} {
		for i, f := range calls {
			assert.PanicsWithValue(t, "eig: "+name+": rows overlap, Stride is too small", f, "%s, call %d", name, i)
		}
	}
	data := make([]float64, 16)
	assert.PanicsWithValue(t, "eig: Truncator.Truncate: dst overlaps an operand", func() {
		_, _ = tr.Truncate(&mat.Sym{N: 3, Stride: 4, Data: data}, &mat.Sym{N: 3, Stride: 3, Data: data}, 0)
	})
}
