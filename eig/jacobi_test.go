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

// sizes go around the edges of the kernels' tiles.
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

// norm is ‖a‖_F.
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
			a := mattest.PadSym(mattest.Sym(n, uint64(n)), pad)
			_, err := e.Factor(a)
			require.NoError(t, err)
			requireDecomposition(t, a, e.Values(), e.VectorsT())
			mattest.CheckPadSym(t, a)
		}
	}
}

func TestJacobiFromABasis(t *testing.T) {
	for _, n := range []int{1, 2, 9, 33, 64} {
		a := mattest.Sym(n, uint64(n))
		var cold, warm eig.Jacobi
		_, err := cold.Factor(a)
		require.NoError(t, err)
		v0 := mattest.Pad(mattest.Trans(cold.VectorsT()), 2)

		// the matrix moves by 0.1 %
		b := mat.NewSym(n)
		mat.AddScaledSym(b, a, 1e-3, mattest.Sym(n, 77))
		fromCold, err := cold.Factor(b)
		require.NoError(t, err)
		fromWarm, err := warm.FactorFrom(b, v0)
		require.NoError(t, err)
		requireDecomposition(t, b, warm.Values(), warm.VectorsT())
		assert.InDeltaSlice(t, cold.Values(), warm.Values(), bound*float64(n)*mattest.Eps*norm(b))
		assert.LessOrEqual(t, fromWarm.Sweeps, fromCold.Sweeps)
		if n > 8 {
			assert.Less(t, 3*fromWarm.Rotations, 2*fromCold.Rotations)
		}
		mattest.CheckPad(t, v0)

		_, err = warm.FactorFrom(b, mattest.Orthogonal(n, 3))
		require.NoError(t, err)
		requireDecomposition(t, b, warm.Values(), warm.VectorsT())
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

func TestJacobiSteadyStateAllocatesNothing(t *testing.T) {
	const n = 24
	a, v0 := mattest.Sym(n, 1), mattest.Orthogonal(n, 2)
	var e eig.Jacobi
	for name, f := range map[string]func() (eig.JacobiReport, error){
		"Factor":       func() (eig.JacobiReport, error) { return e.Factor(a) },
		"FactorValues": func() (eig.JacobiReport, error) { return e.FactorValues(a) },
		"FactorFrom":   func() (eig.JacobiReport, error) { return e.FactorFrom(a, v0) },
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
	assert.PanicsWithValue(t, "eig: Jacobi.FactorFrom: dimension mismatch", func() { _, _ = e.FactorFrom(a, mat.NewDense(3, 2)) })
	assert.PanicsWithValue(t, "eig: Truncator.Truncate: dimension mismatch", func() { _, _ = tr.Truncate(mat.NewSym(2), a, 0) })
}

func TestFactorFromRefusesABadBasis(t *testing.T) {
	var e eig.Jacobi
	for _, v := range []float64{math.NaN(), math.Inf(1), 3} {
		v0 := mattest.Orthogonal(4, 1)
		v0.Set(2, 1, v)
		_, err := e.FactorFrom(mattest.Sym(4, 1), v0)
		require.ErrorIs(t, err, eig.ErrNotFinite)
	}
}
