package bilevel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

// On a sum of some hundred terms, ten passes take the error further than with terms drawn
// uniformly, or with tables that stay where they were.
func TestUntunedSums(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 5, Dy: 5, Terms: 300, CrossNorm: 3, Seed: 18}))
	require.NoError(t, err)
	_, best := p.Optimum()
	after := func(a bilevel.Ablation, steps int) (worst float64) {
		for seed := range uint64(4) {
			s, err := bilevel.New(p, bilevel.Untuned{Ablate: a}, bilevel.Options{Seed: seed})
			require.NoError(t, err)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: steps})
			require.NoError(t, err)
			f, err := p.Objective(nil, s.X())
			require.NoError(t, err)
			worst = max(worst, f-best)
		}
		return worst
	}
	const steps = 10 * 300
	whole := after(0, steps)
	assert.Less(t, whole, after(bilevel.AblatePasses, steps)/2)
	assert.Less(t, whole, after(bilevel.AblateCarry, steps)/2)
}

// On a finite sum the error falls at a linear rate: by ten passes it is at the rounding of F. Where
// rows follow all corrections, errors of one pass come back in the next, and it is far above.
func TestUntunedSumsArrive(t *testing.T) {
	run := func(seed uint64, a bilevel.Ablation) float64 {
		p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 5, Dy: 5, Terms: 100, Seed: 40 + seed, CrossNorm: 3}))
		require.NoError(t, err)
		xs, best := p.Optimum()
		x0 := make([]float64, len(xs))
		first, err := p.Objective(nil, x0)
		require.NoError(t, err)
		s, err := bilevel.New(p, bilevel.Untuned{Ablate: a}, bilevel.Options{X0: x0, Seed: seed})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 1000})
		require.NoError(t, err)
		f, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		return (f - best) / (first - best)
	}
	for seed := range uint64(3) {
		assert.Less(t, run(seed, 0), 1e-12, "seed %d", seed)
		assert.Greater(t, run(seed, bilevel.AblateHeld), 3e-12, "seed %d", seed)
	}
}
