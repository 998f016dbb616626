package observe

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

// rows are n dense rows whose label is that of a noisy linear rule.
func rows(n, dim int, seed uint64) *data.Data {
	rng := rand.New(rand.NewPCG(seed, 9))
	d := &data.Data{Dim: dim, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64()
		for j := range dim {
			v := rng.NormFloat64()
			score += v / float64(j+1)
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		label := -1.0
		if score > 0 {
			label = 1
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, label)
	}
	return d
}

// At a minimum in the box x is near-stationary, though ∇F ≠ 0; along a run, errors fall.
func TestHyperparameters(t *testing.T) {
	p, err := hyperopt.New(rows(40, 4, 1), rows(30, 4, 2), hyperopt.Options{})
	require.NoError(t, err)
	best, err := p.Minimise()
	require.NoError(t, err)
	lo, hi := p.Box()
	o := observer(t, p, Options{Best: best.F, Rho: 5, Set: bilevel.Box{Lo: lo, Hi: hi}})
	m, err := o.At(best.X, best.Y)
	require.NoError(t, err)
	assert.Less(t, m.Near, 1e-15)
	assert.Less(t, m.Lower, 1e-10)
	assert.InDelta(t, 0, m.Gap, 1e-13)
	assert.Greater(t, m.Grad, 1e-3, "no bound holds at the minimum, which makes the test easy")

	s, err := bilevel.New(p, bilevel.STABLE{MuG: p.StrongConvexity()},
		bilevel.Options{Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: 1, LowerBatch: 8})
	require.NoError(t, err)
	var first, last Measurement
	_, err = s.Run(context.Background(), bilevel.Run{Steps: 2000, Every: 20, Progress: o.Progress(func(m Measurement) bool {
		if last = m; first.K == 0 {
			first = m
		}
		return true
	})})
	require.NoError(t, err)
	require.NoError(t, o.Err())
	for what, pair := range map[string][2]float64{
		"F − F*": {first.Gap, last.Gap}, "‖y − y*‖": {first.Lower, last.Lower},
		"near-stationarity": {first.Near, last.Near},
		"‖H_yy − g_yy‖":     {first.Hyy, last.Hyy}, "V": {first.Lyapunov, last.Lyapunov},
	} {
		assert.Less(t, pair[1], pair[0]/2, what)
		assert.Positive(t, pair[1], what)
	}
}
