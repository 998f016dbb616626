package compose

import (
	"context"
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
	for _, bad := range []func() error{
		func() error { _, err := NewMeanVariance(nil, 1); return err },
		func() error { _, err := NewMeanVariance(mat.NewDense(2, 2), 0); return err },
		func() error {
			r := mat.NewDense(2, 2)
			r.Set(1, 0, math.NaN())
			_, err := NewMeanVariance(r, 1)
			return err
		},
	} {
		assert.ErrorIs(t, bad(), bilevel.ErrOption)
	}
	assert.Error(t, m.Inner(make([]float64, 2), x, []bilevel.Sample{40}), "a scenario that does not exist")
}

func TestPortfolioConverges(t *testing.T) {
	m := portfolio(t, 4, 30)
	best, least, err := m.Optimum()
	require.NoError(t, err)
	for _, batch := range []int{bilevel.Full, 1} {
		steps, alpha, beta := 6000, bilevel.Schedule(bilevel.Constant(0.5)), bilevel.Schedule(bilevel.Constant(0.5))
		if batch == 1 {
			steps, alpha, beta = 10000, bilevel.Power{C: 40, K0: 200, P: 1}, bilevel.Power{C: 100, K0: 200, P: 1}
		}
		end := map[string][]float64{}
		for _, name := range []string{"SCGD", "SCSC"} {
			r := makeMethod(t, name, m, options{Alpha: alpha, Beta: beta, Seed: 1, InnerBatch: batch})
			for range steps {
				require.NoError(t, r.Step())
			}
			end[name] = r.X()
		}
		s, err := bilevel.New(Adapt(m), bilevel.STABLE{Alpha: alpha, Beta: beta, Tau: beta, MuG: 1, Plain: true},
			bilevel.Options{Seed: 1, LowerBatch: batch})
		require.NoError(t, err)
		r, err := s.Run(context.Background(), bilevel.Run{Steps: steps})
		require.NoError(t, err)
		end["STABLE"] = r.X
		for name, x := range end {
			f, err := Adapt(m).Objective(nil, x)
			require.NoError(t, err)
			t.Logf("%s, batch %d: F − F* = %.3g of %.3g", name, batch, f-least, -least)
			if batch == bilevel.Full {
				assert.InDeltaSlice(t, best, x, 1e-9, name)
			} else {
				assert.Less(t, f-least, 0.01*-least, name) // F(0) = 0
			}
		}
	}
}

// Over the simplex STABLE and SCSC end where ⟨∇F, e_i − x⟩ ≥ 0 for every corner.
func TestPortfolioOverSimplex(t *testing.T) {
	m := portfolio(t, 4, 30)
	set := bilevel.Simplex{}
	s, err := bilevel.New(Adapt(m),
		bilevel.STABLE{Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5), MuG: 1, Plain: true},
		bilevel.Options{Set: set, LowerBatch: bilevel.Full})
	require.NoError(t, err)
	_, err = s.Run(context.Background(), bilevel.Run{Steps: 3000})
	require.NoError(t, err)
	r := makeMethod(t, "SCSC",
		m, options{Set: set, Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5), InnerBatch: bilevel.Full})
	for range 3000 {
		require.NoError(t, r.Step())
	}
	for name, x := range map[string][]float64{"STABLE": s.X(), "SCSC": r.X()} {
		grad := make([]float64, 4)
		_, err := Adapt(m).Objective(grad, x)
		require.NoError(t, err)
		for i, g := range grad {
			assert.GreaterOrEqual(t, g-mat.Dot(grad, x), -1e-9, "%s: corner %d", name, i)
		}
	}
}
