package kit

import (
	"math"
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

func TestMeanOf(t *testing.T) {
	assert.Equal(t, Estimate{3, math.Inf(1)}, MeanOf([]float64{3}))
	assert.Equal(t, Estimate{2, 0}, MeanOf([]float64{2, 2, 2}))
	e := MeanOf([]float64{1, 2, 6})
	assert.InDelta(t, 3, e.Mean, 1e-12)
	assert.InDelta(t, 4.303*math.Sqrt(7./3), e.Half, 1e-3)
}

// The slope is that of least squares: 2 over three points with residuals 1, −2, 1 around it.
func TestExponent(t *testing.T) {
	assert.InDelta(t, 2, Exponent([]float64{1, math.E, math.E * math.E}, []float64{math.E, 1, math.Exp(5)}), 1e-12)
	assert.True(t, math.IsNaN(Exponent([]float64{1}, []float64{1})))
}
