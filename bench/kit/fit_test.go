package kit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Abramowitz and Stegun, table 26.10, 97.5 % on one side.
func TestStudent(t *testing.T) {
	for n, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 7: 2.365, 10: 2.228, 30: 2.042,
		120: 1.980} {
		assert.InDelta(t, want, student(n, 0.95), 6e-4, n)
	}
	assert.InDelta(t, 636.619, student(1, 0.999), 6e-4)
	assert.InDelta(t, 4.437, student(11, 0.999), 6e-4)
}

// A fit with 95 % covers 950 ± 7 of 1000 draws; the bounds are four deviations wide.
func TestFitCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	k := Ratios(100, 1e4, 15)
	covered := 0
	for range 1000 {
		var slopes []float64
		for range 6 {
			y := make([]float64, len(k))
			for i, x := range k {
				y[i] = 3 * math.Pow(x, -1.25) * math.Exp(0.3*rng.NormFloat64())
			}
			slopes = append(slopes, Exponent(k, y))
		}
		if MeanOf(slopes).covers(-1.25) {
			covered++
		}
	}
	assert.InDelta(t, 950, covered, 28)
}

func TestReach(t *testing.T) {
	cost, err := []float64{1, 10, 100, 1000}, []float64{1, 0.1, 0.2, 0.02}
	n, ok := Reach(cost, err, 0.1)
	assert.True(t, ok)
	assert.InEpsilon(t, 100*math.Pow(10, math.Log(2)/math.Log(10)), n, 1e-12, "for good, not at the first visit")
	n, ok = Reach(cost, err, 0.5)
	assert.True(t, ok)
	assert.InEpsilon(t, math.Pow(10, math.Log10(2)), n, 1e-12)
	for _, eps := range []float64{0.01, 2} {
		_, ok = Reach(cost, err, eps)
		assert.False(t, ok, eps)
	}
}

func TestMeanOfOne(t *testing.T) {
	assert.Equal(t, Estimate{3, math.Inf(1)}, MeanOf([]float64{3}))
	assert.Equal(t, Estimate{2, 0}, MeanOf([]float64{2, 2, 2}))
}

func (e Estimate) covers(v float64) bool { return math.Abs(v-e.Mean) <= e.Half }
