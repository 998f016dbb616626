package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// τ = 1 forgets the past: H is the projected plain estimate.
func TestEstimatorTauOne(t *testing.T) {
	w := newWavy(0.5)
	e, err := NewEstimator(w, 0.5, math.Inf(1))
	require.NoError(t, err)
	fresh, err := NewEstimator(w, 0.5, math.Inf(1))
	require.NoError(t, err)
	require.NoError(t, e.Init(make([]float64, 3), make([]float64, 4), []Sample{1}))
	for k := range 10 {
		x, y := []float64{float64(k), 1, 2}, []float64{1, float64(k), 0, 1}
		phi := []Sample{Sample(k), Sample(k + 3)}
		require.NoError(t, e.Update(1, x, y, phi))
		require.NoError(t, fresh.Init(x, y, phi))
		assert.Equal(t, fresh.Hxy(), e.Hxy())
		assert.Equal(t, fresh.Hyy(), e.Hyy())
	}
}

// Exact oracles and an exact H⁰ keep H exact for every τ, wherever the path goes.
func TestEstimatorExact(t *testing.T) {
	for _, tau := range []float64{0, 0.3, 1} {
		w := newWavy(0.2)
		e, err := NewEstimator(w, 1e-3, math.Inf(1))
		require.NoError(t, err)
		x, y := make([]float64, 3), make([]float64, 4)
		require.NoError(t, e.Init(x, y, nil))
		gxy, gyy := mat.NewDense(3, 4), mat.NewSym(4)
		for k := range 50 {
			for i := range x {
				x[i] = math.Sin(float64(k + i))
			}
			for i := range y {
				y[i] = 2 * math.Cos(float64(k*i))
			}
			require.NoError(t, e.Update(tau, x, y, nil))
			require.NoError(t, w.CrossG(gxy, x, y, nil))
			require.NoError(t, w.HessG(gyy, x, y, nil))
			assert.InDeltaSlice(t, gxy.Data, e.Hxy().Data, 1e-13)
			for i := range 4 {
				assert.InDeltaSlice(t, gyy.Row(i), e.Hyy().Row(i), 1e-13)
			}
		}
	}
}

// The report's norm of g_yy is that of the batch at the new point, whatever H_yy is.
func TestEstimatorHessNorm(t *testing.T) {
	w := newWavy(0.5)
	e, err := NewEstimator(w, 0.5, math.Inf(1))
	require.NoError(t, err)
	x, y, gyy := make([]float64, 3), make([]float64, 4), mat.NewSym(4)
	for k := range 5 {
		phi := []Sample{Sample(k), Sample(2 * k)}
		if k == 0 {
			require.NoError(t, e.Init(x, y, phi))
		} else {
			require.NoError(t, e.Update(0.3, x, y, phi))
		}
		require.NoError(t, w.HessG(gyy, x, y, phi))
		assert.Equal(t, mat.NormFrobSym(gyy), e.Report().HessNorm)
		y[k%4] += 1.5
	}
}

// Init forgets all that was before it: estimates, report, and the number of updates that an error
// gives.
func TestEstimatorInitAgain(t *testing.T) {
	start := func() (*Estimator, *faulty) {
		f := &faulty{Problem: newWavy(0.5), Quantity: "H_yy", After: math.MaxInt, Fault: func(v []float64) error { v[0] = math.NaN(); return nil }}
		e, err := NewEstimator(f, 0.9, 1.5)
		require.NoError(t, err)
		return e, f
	}
	used, problem := start()
	require.NoError(t, used.Init([]float64{1, 2, 3}, []float64{4, 3, 2, 1}, []Sample{1, 2}))
	for k := range 3 {
		require.NoError(t, used.Update(0.2, []float64{1, -1, float64(k)}, make([]float64, 4), []Sample{Sample(k)}))
	}
	fresh, _ := start()
	x, y := []float64{0.3, 0, -0.2}, []float64{0, 1, 0, -1}
	both := func(step func(e *Estimator) error) {
		require.NoError(t, step(used))
		require.NoError(t, step(fresh))
		assert.Equal(t, fresh.Hxy(), used.Hxy())
		assert.Equal(t, fresh.Hyy(), used.Hyy())
		assert.Equal(t, fresh.Report(), used.Report())
	}
	both(func(e *Estimator) error { return e.Init(x, y, []Sample{7}) })
	both(func(e *Estimator) error { return e.Update(0.4, []float64{0, 1, 0}, y, []Sample{8, 9}) })

	problem.After = 0
	var d *DivergedError
	require.ErrorAs(t, used.Update(0.4, x, y, []Sample{3}), &d)
	assert.Equal(t, 2, d.Step)
}

func TestNewEstimatorRefuses(t *testing.T) {
	inf := math.Inf(1)
	for want, c := range map[string]struct {
		dx, dy    int
		mu, bound float64
	}{
		"option: MuG is 0, want":    {3, 4, 0, 1},
		"option: MuG is +Inf, want": {3, 4, inf, 1},
		"option: MuG is NaN, want":  {3, 4, math.NaN(), 1},
		"option: CGxy is 0, want":   {3, 4, 1, 0},
		"option: CGxy is NaN, want": {3, 4, 1, math.NaN()},
		"dx = 0, dy = 4":            {0, 4, 1, inf},
		"dx = 3, dy = 0":            {3, 0, 1, inf},
	} {
		_, err := NewEstimator(shaped{nil, c.dx, c.dy}, c.mu, c.bound)
		require.ErrorIs(t, err, ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := NewEstimator(shaped{nil, 1, 1}, 1e-300, 1e-300)
	assert.NoError(t, err)
}
