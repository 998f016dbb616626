package compose

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func portfolio(t testing.TB, assets, scenarios int) *MeanVariance {
	r := mattest.Dense(scenarios, assets, 9)
	for i := range scenarios {
		for j := range assets {
			r.Set(i, j, r.At(i, j)+0.1*float64(j+1))
		}
	}
	m, err := NewMeanVariance(r, 0.7)
	require.NoError(t, err)
	return m
}

func TestMeanVarianceOptimum(t *testing.T) {
	m := portfolio(t, 5, 40)
	x, want, err := m.Optimum()
	require.NoError(t, err)
	grad := make([]float64, 5)
	f, err := Adapt(m).Objective(grad, x)
	require.NoError(t, err)
	assert.InDelta(t, want, f, 1e-13)
	assert.Less(t, mat.Norm(grad), 1e-12)

	// F from its definition, −mean + λ·variance of the portfolio's returns.
	x = []float64{1, -2, 0.5, 3, 0.1}
	var mean, square float64
	for i := range 40 {
		v := mat.Dot(m.returns.Row(i), x)
		mean += v / 40
		square += v * v / 40
	}
	f, err = Adapt(m).Objective(nil, x)
	require.NoError(t, err)
	assert.InEpsilon(t, -mean+0.7*(square-mean*mean), f, 1e-12)

	_, _, err = portfolio(t, 3, 3).Optimum() // three scenarios span two directions
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	for want, bad := range map[string]MeanVariance{
		"returns is empty":      {nil, 1},
		"risk is 0":             {mat.NewDense(2, 2), 0},
		"returns[1, 0] is +Inf": {mat.DenseOf(2, 2, []float64{1, 2, math.Inf(1), 3}), 1},
	} {
		_, err := NewMeanVariance(bad.returns, bad.risk)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
	assert.Error(t, m.Inner(make([]float64, 2), x, []bilevel.Sample{40}), "a scenario that does not exist")
}
