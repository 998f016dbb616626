package bilevel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/recast"
)

// rareFeatures are rows with four dense features and sixteen that are 0 in all but a few.
func rareFeatures(rng *rand.Rand, n int) *hyperopt.Data {
	d := &hyperopt.Data{Dim: 20, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64() / 2
		for j := range 20 {
			if v := rng.NormFloat64(); j < 4 || rng.IntN(40) == 0 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
				score += v / float64(j%4+1)
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
	}
	return d
}

// Weights of features that hardly ever occur have no gradient until one does. The first samples
// that know them must not stop the steps of all others.
func TestUntunedRareFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	rng := rand.New(rand.NewPCG(1, 'r'))
	p, err := hyperopt.New(rareFeatures(rng, 400), rareFeatures(rng, 400),
		hyperopt.Options{Form: hyperopt.Raw, Lo: 0.001, Hi: 1})
	require.NoError(t, err)
	best, err := p.Minimise()
	require.NoError(t, err)
	lo, hi := p.Box()
	worst := 0.0
	for seed := range uint64(6) {
		x0 := make([]float64, 20)
		for i := range x0 {
			x0[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
		}
		s, err := bilevel.New(recast.Stream(p.Clone()), bilevel.Untuned{MuG: p.StrongConvexity()},
			bilevel.Options{X0: x0, Y0: make([]float64, 20), Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: seed})
		require.NoError(t, err)
		start, err := p.Objective(nil, x0)
		require.NoError(t, err)
		for range 4000 {
			require.NoError(t, s.Step())
		}
		end, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		worst = max(worst, (end-best.F)/(start-best.F))
	}
	require.Less(t, worst, 0.055) // 0.031; with the weights of bend and push that never let go 0.084
}
