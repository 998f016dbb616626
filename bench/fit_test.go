package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Quantiles of Student's distribution at 97.5 % on one side, from Abramowitz and Stegun, table
// 26.10.
func TestStudent(t *testing.T) {
	for n, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 7: 2.365, 10: 2.228, 30: 2.042, 120: 1.980} {
		assert.InDelta(t, want, student(n, 0.95), 6e-4, n)
	}
	assert.InDelta(t, 636.619, student(1, 0.999), 6e-4)
	assert.InDelta(t, 4.437, student(11, 0.999), 6e-4)
}

// Curves of a known power law with noise, in groups: the interval covers the exponent as often as
// it says. Of 1000 draws a fit with 95 % covers 950 ± 7; the bounds are four deviations wide.
func TestFitCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	k := ratios(100, 1e4, 15)
	covered := 0
	for range 1000 {
		var slopes []float64
		for range 6 {
			y := make([]float64, len(k))
			for i, x := range k {
				y[i] = 3 * math.Pow(x, -1.25) * math.Exp(0.3*rng.NormFloat64())
			}
			slopes = append(slopes, exponent(k, y))
		}
		if meanOf(slopes).covers(-1.25) {
			covered++
		}
	}
	assert.InDelta(t, 950, covered, 28)
}

// The whole fit of Table 1 on curves of n ~ ε^(−p): exponents, and their interval.
func TestComplexityFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	v := view{of: func(r reading) []float64 { return r.Upper }}
	covered := 0
	for range 200 {
		var groups []reading
		for range 8 {
			r := newReading(30)
			copy(r.Xi, ratios(10, 1e5, 30))
			for i, n := range r.Xi {
				r.Phi[i] = n * n
				r.Upper[i] = 5 * math.Pow(n, -1/1.5) * math.Exp(0.05*rng.NormFloat64())
			}
			groups = append(groups, r)
		}
		xi, phi := v.fit(groups, streams[0].cost), v.fit(groups, streams[1].cost)
		assert.InDelta(t, 1.5, xi.exponent.Mean, 0.1)
		assert.InDelta(t, 2*xi.exponent.Mean, phi.exponent.Mean, 1e-9)
		assert.InDelta(t, 100, xi.from/xi.to, 1e-9, "two decades")
		if xi.exponent.covers(1.5) {
			covered++
		}
	}
	assert.Greater(t, covered, 170) // of 200; the last crossing leans to the later of two near ones
}

func TestReach(t *testing.T) {
	cost, err := []float64{1, 10, 100, 1000}, []float64{1, 0.1, 0.2, 0.02}
	n, ok := reach(cost, err, 0.1)
	assert.True(t, ok)
	assert.InEpsilon(t, 100*math.Pow(10, math.Log(2)/math.Log(10)), n, 1e-12, "for good, not at the first visit")
	n, ok = reach(cost, err, 0.5)
	assert.True(t, ok)
	assert.InEpsilon(t, math.Pow(10, math.Log10(2)), n, 1e-12)
	for _, eps := range []float64{0.01, 2} {
		_, ok = reach(cost, err, eps)
		assert.False(t, ok, eps)
	}
}

func TestMeanOfOne(t *testing.T) {
	assert.Equal(t, estimate{3, math.Inf(1)}, meanOf([]float64{3}))
	assert.Equal(t, estimate{2, 0}, meanOf([]float64{2, 2, 2}))
}

// covers says whether v lies within the interval.
func (e estimate) covers(v float64) bool { return math.Abs(v-e.Mean) <= e.Half }
