package chol_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func TestFailedDowndateLeavesTheFactor(t *testing.T) {
	mattest.EachKernel(t, testFailedDowndateLeavesTheFactor)
}

func testFailedDowndateLeavesTheFactor(t *testing.T) {
	for _, n := range []int{1, 2, 5, 17, 65} {
		s := mattest.SPD(n, 1)
		var c, d chol.Cholesky
		require.NoError(t, c.Factor(s))
		before := factorOf(t, &c)
		for p := range n {
			// With x = L·q, blocks of A − xxᵀ are positive definite while ‖q_0…q_k−1‖ < 1.
			q, x := make([]float64, n), make([]float64, n)
			for i := range p {
				q[i] = 0.7 / math.Sqrt(float64(p))
			}
			q[p] = 2
			mat.MulVec(x, before, q)
			err := c.Downdate(x)
			requireNotPosDef(t, err, n)
			var got, want *chol.NotPosDefError
			require.ErrorAs(t, err, &got)
			require.Equal(t, p, got.Pivot)
			down := mat.NewSym(n)
			mat.CopySym(down, s)
			mat.RankOne(down, -1, x)
			require.ErrorAs(t, d.Factor(down), &want)
			require.Equal(t, p, want.Pivot)
			require.InEpsilon(t, want.Value, got.Value, 1e-12)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} { // the square of the last is infinite
				x[p] = bad
				requireNotPosDef(t, c.Downdate(x), n)
				requireNotPosDef(t, c.Update(x), n)
			}
		}
		require.True(t, c.Valid())
		require.Zero(t, mattest.MaxDiff(before, factorOf(t, &c)))
	}
}

func TestUpdateBeyondTheRange(t *testing.T) {
	const n = 3
	var c, big chol.Cholesky
	s, x := mattest.SPD(n, 1), []float64{1.9, -1.9, 1.9}
	require.NoError(t, c.Factor(s))
	require.NoError(t, c.Update(x))
	mat.ScaleSym(s, 0x1p1022, s)
	for i := range x {
		x[i] *= 0x1p511
	}
	require.NoError(t, big.Factor(s))
	require.NoError(t, big.Update(x))
	l := factorOf(t, &big)
	mat.Scale(l, 0x1p-511, l)
	require.LessOrEqual(t, mattest.MaxDiff(factorOf(t, &c), l), 1e-15)
}
