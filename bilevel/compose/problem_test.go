package compose

import (
	"fmt"
	"math"
	"slices"
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
}

func newMethod(name string, alpha, beta bilevel.Schedule) bilevel.Method {
	if name == "SCSC" {
		return SCSC{Alpha: alpha, Beta: beta}
	}
	return SCGD{Alpha: alpha, Beta: beta}
}

func newSolver(t testing.TB, m bilevel.Method, c Composition, o bilevel.Options) *bilevel.Solver {
	t.Helper()
	return bileveltest.Must(bilevel.New(Adapt(c), m, o))
}

func TestMethodsFollowTheirPapers(t *testing.T) {
	const lo, hi = -0.5, 0.6
	alpha, beta := bilevel.Power{C: 0.3, P: 0.75}, bilevel.Power{C: 0.9, P: 0.5}
	for _, name := range []string{"SCGD", "SCSC"} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(t *testing.T) {
				c, mirror := newWaves(), newWaves()
				x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
				m := newSolver(t, newMethod(name, alpha, beta), c,
					bilevel.Options{Set: bilevel.UniformBox(3, lo, hi), X0: x, Y0: y, Seed: 7, UpperBatch: batch, LowerBatch: batch})
				h, old, df, dh := make([]float64, 4), make([]float64, 4), make([]float64, 4), mat.NewDense(3, 4)
				xOld, boxed := x, 0
				x, y = slices.Clone(x), slices.Clone(y)
				for k := range 50 {
					c.Log = []bileveltest.Call[bilevel.Sample]{}
					require.NoError(t, m.Step())
					phi, xi := c.Log[0].Batch, []bilevel.Sample(nil)
					for _, l := range c.Log {
						if l.Oracle == "GradF" {
							xi = l.Batch
							continue
						}
						require.Equal(t, phi, l.Batch, "%s draws another φ", l.Oracle)
					}
					require.Len(t, phi, batch)
					require.Len(t, xi, batch)
					require.NoError(t, mirror.Inner(h, x, phi))
					require.NoError(t, mirror.Inner(old, xOld, phi))
					b := beta.At(k)
					for j := range y {
						if name == "SCGD" {
							y[j] = (1-b)*y[j] + b*h[j]
						} else {
							y[j] = (1-b)*(y[j]+h[j]-old[j]) + b*h[j]
						}
					}
					require.NoError(t, mirror.Gradients(dh, x, phi))
					bileveltest.Must(mirror.Outer(df, y, xi))
					xOld, x = x, slices.Clone(x)
					for i := range x {
						v := x[i] - alpha.At(k)*mat.Dot(dh.Row(i), df)
						if x[i] = min(max(v, lo), hi); x[i] != v {
							boxed++
						}
					}
					require.InDeltaSlice(t, x, m.X(), 1e-13)
					require.InDeltaSlice(t, y, m.Y(), 1e-13)
				}
				assert.Positive(t, boxed, "the box never acted")
				n := uint64(50 * batch)
				want := bilevel.Counts{Xi: n, Phi: n, GradF: n, GradG: n, CrossVecG: n}
				if name == "SCSC" {
					want.GradG = 2*n - uint64(batch)
				}
				assert.Equal(t, want, m.Counts())
				assert.Equal(t, name, m.Method().Name())
			})
		}
	}
}

func TestWeightAboveOneIsRefused(t *testing.T) {
	one := bilevel.Constant(1)
	for _, name := range []string{"SCGD", "SCSC"} {
		_, err := bilevel.New(Adapt(newWaves()), newMethod(name, one, bilevel.Constant(1.5)), bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, name+".Beta at step 0 is 1.5")
		s := newSolver(t, newMethod(name, one, bilevel.Power{C: 0.5, P: -1}), newWaves(), bilevel.Options{})
		r, err := s.Run(t.Context(), bilevel.Run{Steps: 5})
		assert.ErrorContains(t, err, "Beta at step 2 is 1.5")
		assert.Equal(t, 2, r.Steps)
	}
}
