package bilevel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

// What the problem has is passed on; what it lacks is made of its matrices, or missing.
func TestComplete(t *testing.T) {
	p := newQuadratic(t)
	has, lacks := bilevel.Complete(p), bilevel.Complete(struct{ bilevel.Problem }{p})
	x, y, v := []float64{1, 2, -1}, []float64{0.5, 1, 2, -3}, []float64{1, -1, 3, 2}
	batch := []bilevel.Sample{3, 4}
	for name, call := range map[string]func(c *bilevel.Completed, dst []float64) (float64, error){
		"HessVecG": func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.HessVecG(dst, x, y, v, batch) },
		"CrossVecG": func(c *bilevel.Completed, dst []float64) (float64, error) {
			return 0, c.CrossVecG(dst[:3], x, y, v, batch)
		},
		"GradXG":    func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.GradXG(dst[:3], x, y, batch) },
		"Solution":  func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.Solution(dst, x) },
		"Objective": func(c *bilevel.Completed, dst []float64) (float64, error) { return c.Objective(dst[:3], x) },
		"ValueF":    func(c *bilevel.Completed, _ []float64) (float64, error) { return c.ValueF(x, y, batch) },
		"ValueG":    func(c *bilevel.Completed, _ []float64) (float64, error) { return c.ValueG(x, y, batch) },
	} {
		got, made := make([]float64, 4), make([]float64, 4)
		value, err := call(has, got)
		require.NoError(t, err, name)
		assert.NotZero(t, value+got[0], name)
		if _, err = call(lacks, made); name == "HessVecG" || name == "CrossVecG" {
			require.NoError(t, err, name)
			assert.InDeltaSlice(t, got, made, 1e-13, name)
			continue
		}
		require.ErrorIs(t, err, bilevel.ErrMissing, name)
		assert.ErrorContains(t, err, name)
	}
	assert.Equal(t, p.ConvexityAt(x), has.ConvexityAt(x))
	assert.Equal(t, math.Inf(-1), lacks.ConvexityAt(x))
}
