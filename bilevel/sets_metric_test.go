package bilevel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// spread draws x and w over the given numbers of decades around 1.
func spread(rng *rand.Rand, x, w []float64, decadesX, decadesW float64) {
	for i := range x {
		x[i] = rng.NormFloat64() * math.Pow(10, decadesX*(rng.Float64()-0.5))
		w[i] = math.Pow(10, decadesW*(rng.Float64()-0.5))
	}
}

// Answers that are known, at scales where plain formulas overflow or cancel.
func TestSetsProjectMetricExtreme(t *testing.T) {
	p := make([]float64, 2)
	Simplex{}.ProjectMetric(p, []float64{1, 1}, []float64{1, 3})
	assert.Equal(t, []float64{0.25, 0.75}, p)
	Simplex{}.ProjectMetric(p, []float64{0.5, 0.1}, []float64{1e150, 1e-150})
	assert.Equal(t, []float64{0.5, 0.5}, p)
	Simplex{}.ProjectMetric(p, []float64{0.5, 0.1}, []float64{1e-150, 1e150})
	assert.InDeltaSlice(t, []float64{0.9, 0.1}, p, 1e-16)
	for _, w := range []float64{1e-300, 7, 1e300} { // a common offset
		Simplex{}.ProjectMetric(p, []float64{1e15 + 0.5, 1e15}, []float64{w, w})
		assert.Equal(t, []float64{0.75, 0.25}, p)
	}

	// The heavy entry keeps what there is, whatever rounding makes of a multiplier of a hundred
	// digits.
	q := make([]float64, 5)
	Simplex{}.ProjectMetric(q, []float64{48, 48, 48, 1 + 0x1p-52, 48}, []float64{0.78, 56, 88, 2e117, 1})
	assert.InDeltaSlice(t, []float64{0, 0, 0, 1, 0}, q, 1e-13)
	Simplex{32}.ProjectMetric(q, []float64{48, 48, 48, 48, 48}, []float64{48, 2e117, 50, 48, 1})
	assert.InDeltaSlice(t, []float64{0, 32, 0, 0, 0}, q, 1e-13)

	// The light entry gives way first: it goes to 0 before the heavy one moves.
	for _, scale := range []float64{1e-100, 1, 1e100} {
		Ball{Radius: scale}.ProjectMetric(p, []float64{0.5 * scale, 2 * scale}, []float64{1e200, 1e-100})
		assert.InDeltaSlice(t, []float64{0.5, math.Sqrt(0.75)}, []float64{p[0] / scale, p[1] / scale}, 1e-14)
	}
	Ball{Radius: 3}.ProjectMetric(p, []float64{1e200, -1e200}, []float64{1e-250, 1e-250})
	assert.InDeltaSlice(t, []float64{3 / math.Sqrt2, -3 / math.Sqrt2}, p, 1e-14)
	Ball{Radius: 1}.ProjectMetric(p, []float64{2, 2}, []float64{1e200, 1e-200})
	assert.Equal(t, []float64{1, 0}, p)
	Ball{Center: []float64{1, 2}}.ProjectMetric(p, []float64{5, 7}, []float64{1, 2})
	assert.Equal(t, []float64{1, 2}, p, "radius 0")
	Ball{Radius: 1e-200}.ProjectMetric(p, []float64{1e200, 0}, []float64{1, 2})
	assert.InDelta(t, 0, p[0], 1e-200)

	HalfSpace{[]float64{1e-100, 1}, 1}.ProjectMetric(p, []float64{0, 3}, []float64{1e250, 1e-200})
	assert.Equal(t, []float64{0, 1}, p)
	HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}.ProjectMetric(p, []float64{0x1p525, 7}, []float64{4, 1}) // Aᵀx is 2¹⁰²⁵
	assert.Equal(t, []float64{0x1p523, 7}, p)
}

// NaN and Inf, in the point and in the weights, end no later than numbers, and show.
func TestSetsProjectMetricNotFinite(t *testing.T) {
	for name, set := range oneOfEach(3) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p := make([]float64, 3)
			set.ProjectMetric(p, []float64{100, bad, 100}, []float64{1, 2, 3})
			if math.IsNaN(bad) {
				assert.True(t, math.IsNaN(p[1]), "%s hides a NaN", name)
			}
			set.ProjectMetric(p, []float64{100, 90, 100}, []float64{1, bad, 3})
		}
	}
}
