package bilevel_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

// A run that stops on Run.Gap is where it says: of 30 runs, 29 have at most three times the gap
// left, and half of them at most the gap. It does not go on for ever, either.
func TestGapStopsWhereItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, c := range map[string]struct {
		o   quadratic.Options
		gap []float64
	}{
		"base":      {noisy(0.5, quadratic.Options{Seed: 51, CrossNorm: 3}), []float64{1e-2, 1e-4}},
		"noise 10":  {noisy(10, quadratic.Options{Seed: 52, CrossNorm: 3}), []float64{1, 0.1}},
		"quiet":     {noisy(1e-3, quadratic.Options{Seed: 53, CrossNorm: 3}), []float64{1e-9}},
		"nonconvex": {noisy(0.5, quadratic.Options{Seed: 54, CrossNorm: 3, Nonconvex: 1}), []float64{1e-4}},
		"F of 1e4":  {noisy(0.5, quadratic.Options{Seed: 55, CrossNorm: 3, LP: 1e4}), []float64{1e-4}},
		"sum":       {noisy(0.5, quadratic.Options{Seed: 56, CrossNorm: 3, Terms: 200}), []float64{1e-4, 1e-6}},
		"exact":     {quadratic.Options{Seed: 57, LG: 100, LP: 100}, []float64{1e-12}},
	} {
		p, err := quadratic.New(c.o)
		require.NoError(t, err)
		_, best := p.Optimum()
		for _, gap := range c.gap {
			var left []float64
			for seed := range uint64(30) {
				s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed})
				require.NoError(t, err)
				r, err := s.Run(t.Context(), bilevel.Run{Gap: gap, Steps: 20000})
				require.NoError(t, err)
				require.Equal(t, bilevel.GapReached, r.Reason, "%s: seed %d", name, seed)
				h, _ := s.Health()
				assert.LessOrEqual(t, h.Gap, gap)
				f, err := p.Objective(nil, r.X)
				require.NoError(t, err)
				left = append(left, (f-best)/gap)
			}
			slices.Sort(left)
			assert.Less(t, left[28], 3., "%s: gap %g", name, gap)
			assert.Less(t, left[15], 1.2, "%s: gap %g", name, gap)
		}
	}
}

// The window is one of steps, and starts anew where a look says that more is left.
func TestGapWindow(t *testing.T) {
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Seed: 1}))
	require.NoError(t, err)
	steps := func(window int) int {
		s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: 1})
		require.NoError(t, err)
		r, err := s.Run(t.Context(), bilevel.Run{Gap: 1e-3, Window: window, Steps: 5000})
		require.NoError(t, err)
		require.Equal(t, bilevel.GapReached, r.Reason)
		assert.Equal(t, "gap reached", r.Reason.String())
		assert.Equal(t, s.Activity(), r.Activity)
		return r.Steps
	}
	short, long := steps(1), steps(200)
	assert.Greater(t, short, 10)
	assert.GreaterOrEqual(t, long, short+199)
}

// Beyond 400 entries of x no curvature is learned, and how much is left is not known.
func TestGapIsRefused(t *testing.T) {
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 401, Dy: 3}))
	require.NoError(t, err)
	s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{})
	require.NoError(t, err)
	_, err = s.Run(t.Context(), bilevel.Run{Gap: 1e-3, Steps: 10})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "Run.Gap is 0.001, but STABLE-untuned does not tell")
	assert.Zero(t, s.K())
}
