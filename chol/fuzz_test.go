package chol_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

const below = 0x1p-1060

func FuzzFactor(f *testing.F) {
	for _, s := range mattest.Seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := mattest.Bytes(data)
		a := b.Sym()
		before := slices.Clone(a.Data)
		var c chol.Cholesky
		err := c.Factor(a)
		requireBits(t, before, a.Data)
		if err != nil {
			requireNotPosDef(t, err, a.N)
			require.False(t, c.Valid())
			require.False(t, c.PosDef(a, 0))
			require.Error(t, c.FactorShifted(a, 0))
			return
		}
		require.True(t, mattest.FiniteSym(a))
		n := float64(a.N)
		l := factorOf(t, &c)
		low := mattest.ExactDense(l)
		diff := low.MulTrans(low).Sub(mattest.ExactSym(a)).Norm()
		require.LessOrEqual(t, diff, constants["factor"]*n*mattest.Eps*mattest.ExactSym(a).Norm()+below)
		require.True(t, mattest.Finite(c.LogDet()))
		require.False(t, !(c.Cond() >= 1), "condition %v", c.Cond())

		rhs := b.Vec(a.N)
		x := make([]float64, a.N)
		c.SolveVec(x, rhs)
		if size := mat.NormFrobSym(a); size > 1e-140 && size < 1e140 && mat.Norm(x) < 1e140 && mat.Norm(rhs) > 1e-140 {
			xe := mattest.ExactVec(x)
			residual := mattest.ExactVec(rhs).Sub(mattest.ExactSym(a).MulTrans(xe.Trans())).Norm()
			require.LessOrEqual(t, residual, constants["residual"]*n*mattest.Eps*size*mat.Norm(x)+below)
		}
		inv := mattest.PadSym(mat.NewSym(a.N), 1)
		c.Inverse(inv)
		mattest.CheckPadSym(t, inv)

		// A failed update or downdate leaves the factor; a good one leaves a factor.
		for _, change := range []func([]float64) error{c.Update, c.Downdate} {
			l = factorOf(t, &c)
			if err := change(rhs); err != nil {
				require.ErrorIs(t, err, chol.ErrNotPosDef)
				after := factorOf(t, &c)
				for i := range a.N {
					requireBits(t, l.Row(i), after.Row(i))
				}
			}
			for i := range a.N {
				require.True(t, mattest.Finite(factorOf(t, &c).Row(i)...))
			}
		}

		shift := b.Float()
		yes := c.PosDef(a, shift)
		err = c.FactorShifted(a, shift)
		require.Equal(t, err == nil, yes, "PosDef says %v, Factor %v", yes, err)
		require.True(t, err == nil || errors.Is(err, chol.ErrNotPosDef))
		mattest.CheckPadSym(t, a)
	})
}

func requireBits(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, v := range want {
		require.Equal(t, math.Float64bits(v), math.Float64bits(got[i]))
	}
}
