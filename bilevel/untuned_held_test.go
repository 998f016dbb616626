package bilevel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// held is the mean over the terms of a product over the moves since each one's visit.
func TestGainHolds(t *testing.T) {
	g := gain{pass: 4, p: 3, s: 100}
	g.begin(0, 1, 1)
	assert.Zero(t, g.holds(0), "at first")
	want := []float64{0, 0, 0, 0}
	rng := rand.New(rand.NewPCG(1, 2))
	for k := 1; k <= 400; k++ {
		p, q := g.p, rng.Float64()
		mean := 0.0
		for i := range want {
			want[i] *= p / (p + q)
			mean += want[i] / 4
		}
		held := g.holds(q)
		if k > 100 { // the mean forgets a term in a pass, not at its visit
			assert.InDelta(t, mean, held, 0.3)
		}
		g.learn(k, 0.2, moments{rr: 100}, q)
		want[k%4] = 1
	}
	g.p = 1e-300
	assert.InDelta(t, 0, g.holds(1), 1e-200, "after a move whose noise is more than all there was")
	g.p = 0
	assert.False(t, math.IsNaN(g.holds(0)))
}

// Rows move by all of a change but for the share held of the correction.
func TestSweepTable(t *testing.T) {
	for _, held := range []float64{0, 0.25, 1} {
		e, now, old, d := []float64{1, -2}, []float64{5, 1}, []float64{3, 0.5}, []float64{0.5, 4}
		const tau, c = 0.5, 0.25
		sweepTable(e, now, old, d, tau, c, held)
		require.Equal(t, []float64{5 - 0.5*2 - 0.5*0.125, 1 - 0.5*2.5 - 0.5*1}, e)
		assert.Equal(t, []float64{2 + (1-held)*0.5*(2-0.125), 0.5 + (1-held)*0.5*(2.5-1)}, old, "held %v", held)
	}
}
