package compose

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// waves is h(x; φ) = B_φᵀ sin(x) and f(y; ξ) = ½‖y‖² − b_ξᵀy, of Wavy's terms.
type waves struct {
	*bileveltest.Wavy[bilevel.Sample]
}

func newWaves() waves {
	w := bileveltest.NewWavy[bilevel.Sample](0.3)
	w.Kappa, w.Identity = 0, true
	return waves{w}
}

func (w waves) Inner(h, x []float64, phi []bilevel.Sample) error {
	err := w.GradG(h, x, make([]float64, w.Dy), phi)
	mat.Axpy(h, -2, h)
	return err
}

func (w waves) Gradients(dh *mat.Dense, x []float64, phi []bilevel.Sample) error {
	err := w.CrossG(dh, x, nil, phi)
	mat.Scale(dh, -1, dh)
	return err
}

func (w waves) Outer(df, y []float64, xi []bilevel.Sample) (float64, error) {
	if df == nil {
		df = make([]float64, w.Dy)
	}
	err := w.GradF(nil, df, nil, y, xi)
	return mat.Dot(df, y) - mat.Dot(y, y)/2, err
}

func TestAdaptedProblemsAreRight(t *testing.T) {
	for name, c := range map[string]Composition{
		"sum":           newWaves(),
		"mean variance": portfolio(t, 4, 12),
		"one asset":     portfolio(t, 1, 5),
	} {
		r := bileveltest.Must(check.Problem(Adapt(c), check.Options{MuG: 1}))
		assert.NoError(t, r.Err(), name)
		var done []string
		for _, p := range r.Passed {
			done = append(done, p.Check, p.Oracle)
		}
		assert.Subset(t, done, []string{check.Derivative, check.BatchMean, check.Unbiased, check.Product, check.Truth,
			check.Convexity, "ConvexityAt"}, name)
	}
}

type inexact struct{ waves }

func (inexact) Inner(_, _ []float64, _ []bilevel.Sample) error { return bilevel.ErrNoExact }
func (inexact) Gradients(_ *mat.Dense, _ []float64, _ []bilevel.Sample) error {
	return bilevel.ErrNoExact
}

func TestErrorsComeThrough(t *testing.T) {
	w := newWaves()
	p, x, y := Adapt(inexact{w}), make([]float64, w.Dx), make([]float64, w.Dy)
	assert.ErrorIs(t, p.GradG(y, x, y, nil), bilevel.ErrNoExact)
	assert.ErrorIs(t, p.CrossG(mat.NewDense(w.Dx, w.Dy), x, y, nil), bilevel.ErrNoExact)
	assert.ErrorIs(t, p.CrossVecG(x, x, y, y, nil), bilevel.ErrNoExact)
	assert.ErrorIs(t, p.GradXG(x, x, y, nil), bilevel.ErrNoExact)
	assert.ErrorIs(t, p.Solution(y, x), bilevel.ErrNoExact)
	_, err := p.ValueG(x, y, nil)
	assert.ErrorIs(t, err, bilevel.ErrNoExact)
	_, err = p.Objective(nil, x)
	assert.ErrorIs(t, err, bilevel.ErrNoExact)
}

func portfolio(t testing.TB, assets, scenarios int) *MeanVariance {
	r := mattest.Dense(scenarios, assets, 9)
	for i := range scenarios {
		for j := range assets {
			r.Set(i, j, r.At(i, j)+0.1*float64(j+1))
		}
	}
	return bileveltest.Must(NewMeanVariance(r, 0.7))
}

func TestMeanVarianceOptimum(t *testing.T) {
	m := portfolio(t, 5, 40)
	x, want, err := m.Optimum()
	require.NoError(t, err)
	grad := make([]float64, 5)
	f := bileveltest.Must(Adapt(m).Objective(grad, x))
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
	f = bileveltest.Must(Adapt(m).Objective(nil, x))
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
	assert.Error(t, m.Gradients(mat.NewDense(5, 2), x, []bilevel.Sample{40}))
}
