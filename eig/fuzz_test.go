package eig_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

var seeds = [][]byte{
	{}, {1, 0, 4}, {2, 0, 4, 0, 2, 0, 3, 1}, {3, 0, 4, 0, 2, 0, 5, 0, 1, 0, 1, 0, 9}, {2, 6, 0, 0, 1, 0, 1}, {2, 0, 1,
		6, 1, 0, 1}, {1, 6, 5}, {2, 6, 6, 6, 6, 6, 6},
	{2, 6, 3, 0, 0, 6, 3}, {3, 0, 1, 0, 1, 6, 9, 0, 1, 0, 1, 0, 1}, {4, 5, 4, 100, 0, 0, 5, 4, 156, 0, 0, 0, 0, 0, 4, 0,
		0, 0, 0, 0, 0, 0, 4},
	{5, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1},
}

// below is underflow's share of a bound; from above on, nothing is promised.
const (
	below = 0x1p-1060
	above = 0x1p1020
)

func FuzzJacobi(f *testing.F)    { fuzzSolver(f, 0, "") }
func FuzzSymmetric(f *testing.F) { fuzzSolver(f, 1, "symmetric, ") }

func fuzzSolver(f *testing.F, which int, bounds string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := mattest.Bytes(data)
		a := b.Sym()
		e := solvers()[which]
		err := e.factor(a)
		mattest.CheckPadSym(t, a)
		if refused(t, a, err) {
			require.Empty(t, e.Values())
			return
		}
		require.Len(t, e.Values(), a.N)
		unit := float64(a.N) * mattest.Eps
		v := mattest.ExactDense(e.VectorsT())
		orthogonality := v.MulTrans(v).Sub(mattest.Identity(a.N)).Norm()
		require.LessOrEqual(t, orthogonality, constants[bounds+"orthogonality"]*unit)
		size := mattest.ExactSym(a).Norm()
		if !(size < above) {
			return
		}
		lambda, _ := mattest.ExactEig(a, e.VectorsT())
		for i, v := range e.Values() {
			require.LessOrEqual(t, distance(v, lambda[i]), constants[bounds+"eigenvalues"]*unit*size+below)
		}
		values := slices.Clone(e.Values())
		require.NoError(t, e.factorValues(a))
		require.Equal(t, values, slices.Clone(e.Values()))
	})
}

func FuzzTruncate(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := mattest.Bytes(data)
		a := b.Sym()
		mu := b.Float()
		p := mattest.PadSym(mat.NewSym(a.N), 1)
		var tr eig.Truncator
		rep, err := tr.Truncate(p, a, mu)
		mattest.CheckPadSym(t, a)
		mattest.CheckPadSym(t, p)
		if !mattest.Finite(mu) {
			require.ErrorIs(t, err, eig.ErrNotFinite)
			return
		}
		if refused(t, a, err) {
			require.Zero(t, mat.MaxAbsSym(p))
			return
		}
		n := float64(a.N)
		size := mattest.ExactSym(a).Norm() + math.Sqrt(n)*math.Abs(mu)
		if !(size < above) {
			return
		}
		unit := 16*n*mattest.Eps*size + below
		lambda, v := mattest.ExactEig(a, mattest.Orthogonal(a.N, 1))
		exact, change := exactProjection(a, mu, lambda, v)
		require.LessOrEqual(t, mattest.ExactSym(p).Sub(exact).Norm(), unit)
		require.InDelta(t, change, rep.Change, unit)
		if rep.Clipped > 0 {
			require.LessOrEqual(t, distance(rep.MinEigenvalue, lambda[0]), unit)
		}

		q := mat.NewSym(a.N)
		for _, route := range []eig.Route{eig.RouteKrylov, eig.RouteTridiagonal} {
			var by eig.Truncator
			if _, ok := by.TruncateBy(route, q, a, mu); ok {
				require.LessOrEqual(t, mattest.ExactSym(q).Sub(exact).Norm(), unit, route)
			}
		}
		_, err = tr.Truncate(q, p, mu)
		require.NoError(t, err)
		require.LessOrEqual(t, mattest.ExactSym(q).Sub(mattest.ExactSym(p)).Norm(), unit, "not idempotent")
		x := b.Vec(a.N)
		_ = tr.SolveVec(x, x)
	})
}

func refused(t *testing.T, a *mat.Sym, err error) bool {
	if mattest.FiniteSym(a) {
		require.NoError(t, err)
		return false
	}
	var bad *eig.NotFiniteError
	require.ErrorAs(t, err, &bad)
	require.False(t, mattest.Finite(a.At(bad.I, bad.J)))
	return true
}
