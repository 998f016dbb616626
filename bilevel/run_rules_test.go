package bilevel_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
)

func noisy(size float64, o quadratic.Options) quadratic.Options {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = size, size, size, size, size
	return o
}

// Of 30 runs, 29 have at most three times the gap left, and half at most the gap.
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
				s, err := bilevel.New(p, saa.Newton{}, bilevel.Options{Seed: seed})
				require.NoError(t, err)
				r, err := s.Run(t.Context(), bilevel.Run{Gap: gap, Steps: 20000})
				require.NoError(t, err)
				if r.Reason != bilevel.Arrived { // a sum may be at its minimum before the window is over
					require.Equal(t, bilevel.GapReached, r.Reason, "%s: seed %d", name, seed)
					h, _ := s.Health()
					assert.LessOrEqual(t, h.Gap, gap)
				}
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
