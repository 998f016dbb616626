package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Init forgets all that was before it: estimates, report, and the number of updates that an error
// gives.
func TestEstimatorInitAgain(t *testing.T) {
	start := func() (*Estimator, *faulty) {
		f := &faulty{Problem: newWavy(0.5), Quantity: "H_yy", After: math.MaxInt, Fault: lastEntry(math.NaN())}
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
	for want, c := range map[string]struct {
		dx, dy    int
		mu, bound float64
	}{
		"option: MuG is +Inf, want": {3, 4, math.Inf(1), 1},
		"option: CGxy is 0, want":   {3, 4, 1, 0},
		"dx = 0, dy = 4":            {0, 4, 1, math.Inf(1)},
	} {
		_, err := NewEstimator(shaped{nil, c.dx, c.dy}, c.mu, c.bound)
		require.ErrorIs(t, err, ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := NewEstimator(shaped{nil, 1, 1}, 1e-300, 1e-300)
	assert.NoError(t, err)
}
