package bilevel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The estimates of a running STABLE belong to the iterate before the last step.
func TestEstimatorPoint(t *testing.T) {
	s, err := New(newWavy(0.5), STABLE{Alpha: Constant(0.1), Beta: Constant(0.1), MuG: 0.5},
		Options{Y0: []float64{1, 2, 3, 4}})
	require.NoError(t, err)
	for range 5 {
		x, y := slices.Clone(s.X()), slices.Clone(s.Y())
		require.NoError(t, s.Step())
		gotX, gotY := s.Estimator().Point()
		assert.Equal(t, x, gotX)
		assert.Equal(t, y, gotY)
		assert.NotEqual(t, s.Y(), gotY)
	}
}
