package bilevel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// What the method says is left of F − F*, and its standard error of the hypergradient, are what
// they are in the mean over runs, within 30 %.
func TestUntunedHealthIsHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, o := range map[string]quadratic.Options{
		"base":     noisy(0.5, quadratic.Options{Seed: 21}),
		"g of 100": noisy(0.5, quadratic.Options{Seed: 23, LG: 100, CrossNorm: 5}),
		"f_x":      {Seed: 25, SigmaFx: 0.5},
		"f_x, f_y": {Seed: 27, SigmaFx: 0.5, SigmaFy: 0.1},
		"g_xy":     {Seed: 29, SigmaGxy: 0.5},
	} {
		p, err := quadratic.New(o)
		require.NoError(t, err)
		xs, best := p.Optimum()
		var said, gap, stdErr, slope float64
		const runs = 30
		for seed := range uint64(runs) {
			s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed})
			require.NoError(t, err)
			_, ok := s.Health()
			require.False(t, ok)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: 1000})
			require.NoError(t, err)
			h, ok := s.Health()
			require.True(t, ok)
			grad := make([]float64, len(xs))
			f, err := p.Objective(grad, s.X())
			require.NoError(t, err)
			said, gap = said+h.Gap/runs, gap+(f-best)/runs
			stdErr, slope = stdErr+h.StdErr*h.StdErr/runs, slope+mat.Dot(grad, grad)/runs
			assert.False(t, h.LargeMuG)
			assert.True(t, math.IsNaN(h.LowerBound))
			assert.Less(t, h.Gradient, h.StdErr, "seed %d: x does not follow the root", seed)
		}
		assert.InDelta(t, 1, said/gap, 0.3, "%s: gap", name)
		assert.InDelta(t, 1, stdErr/slope, 0.3, "%s: standard error", name)
	}
}

// A μ_g five times too large is told, and does no harm; the right one is not told.
func TestUntunedLargeMuG(t *testing.T) {
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Seed: 4}))
	require.NoError(t, err)
	_, best := p.Optimum()
	for _, c := range []struct {
		mu   float64
		told bool
	}{{1, false}, {5, true}} {
		s, err := bilevel.New(p, bilevel.Untuned{MuG: c.mu}, bilevel.Options{Seed: 2})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 3000})
		require.NoError(t, err)
		h, ok := s.Health()
		require.True(t, ok)
		assert.Equal(t, c.told, h.LargeMuG)
		assert.Less(t, h.Clipped, 0.1)
		f, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		assert.Less(t, f-best, 3e-4)
		assert.Positive(t, h.LowerBound)
	}
}

// A warning says what was seen, and nothing of eigenvalues raised where none were.
func TestWarningsSayWhatWasSeen(t *testing.T) {
	h := bilevel.Health{MuG: 1e6, LargeMuG: true, Least: 2, LeastErr: 0.1}
	assert.Equal(t, []string{"μ_g = 1e+06 looks too large: the least eigenvalue of g_yy is 2 ± 0.1"}, h.Warnings())
	h.Clipped = 0.9
	assert.Contains(t, h.Warnings()[0], ", and H_yy was raised in 90 % of the late steps")
}
