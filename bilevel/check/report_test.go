package check

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// apart is f = ½‖x‖² + ½‖y − 1‖² over g of good: no other oracle contradicts a wrong f_y.
func apart(sign float64) *mutant {
	return &mutant{full: newGood(), after: func(c call) {
		copy(c.fx, c.x)
		for j := range c.fy {
			c.fy[j] = sign * (c.y[j] - 1)
		}
		if c.f != nil {
			*c.f = mat.Dot(c.x, c.x) / 2
			for _, v := range c.y {
				*c.f += (v - 1) * (v - 1) / 2
			}
		}
	}}
}

// Without Values the report is not complete, whether f_y is right or not, and says so.
func TestUnverifiedIsNoPass(t *testing.T) {
	require.NoError(t, run(t, apart(1), Options{}).Err())
	requireOnly(t, run(t, apart(-1), Options{}), Derivative, "GradF")
	for _, sign := range []float64{1, -1} {
		r := run(t, bare{apart(sign)}, Options{})
		require.Empty(t, r.Findings)
		require.ErrorIs(t, r.Err(), ErrIncomplete)
		require.NotErrorIs(t, r.Err(), ErrWrong)
		assert.ErrorContains(t, r.Err(), "derivative: GradF: no Values")
		assert.ErrorContains(t, r.Err(), "derivative: GradG: no Values")
		assert.Len(t, r.Gaps(), 2)
		first, _, _ := strings.Cut(r.String(), "\n")
		assert.Contains(t, first, "NOT COMPLETE")
	}

	// Where f mixes x and y, symmetry sees it.
	r := run(t, bare{&mutant{full: newGood(), after: func(c call) { times(-1, c.fy) }}}, Options{})
	requireOnly(t, r, Symmetry, "GradF")
	require.ErrorIs(t, r.Err(), ErrWrong)
	assert.True(t, strings.HasPrefix(r.String(), "WRONG, AND NOT COMPLETE: "), r)
}

func TestSameOptionsSameReport(t *testing.T) {
	o := Options{Seed: 4}
	assert.Equal(t, run(t, newQuadratic(t, noisy), o), run(t, newQuadratic(t, noisy), o))
	m := reshaped(1)
	assert.Equal(t, run(t, m, o).String(), run(t, m, o).String())
}

func TestReport(t *testing.T) {
	r := run(t, newGood(), Options{})
	require.NoError(t, r.Err())
	assert.True(t, strings.HasPrefix(r.String(), "RIGHT: 0 wrong, 0 could not be checked, "), r)
	r = run(t, bare{newGood()}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	assert.True(t, strings.HasPrefix(r.String(), "NOT COMPLETE: 0 wrong, 2 could not be checked, "), r)
	assert.Contains(t, r.String(), "\nNOT CHECKED ")
	assert.Contains(t, r.String(), "no Values")
	assert.NotContains(t, r.String(), "WRONG")

	r = run(t, &mutant{full: goodOf(4, 4, wholeSum), oracle: "CrossG",
		after: func(c call) { mat.Scale(c.gxy, 2, c.gxy) }}, Options{})
	f := requireOnly(t, r, Derivative, "CrossG")
	assert.True(t, strings.HasPrefix(r.String(), "WRONG, AND NOT COMPLETE: 5 wrong, 1 could not be checked, "), r)
	require.Len(t, f, 5, "the worst five")
	assert.Contains(t, f[4].Message, "and 11 more entries")
	for i := range 4 {
		assert.GreaterOrEqual(t, math.Abs(f[i].Got-f[i].Want), math.Abs(f[i+1].Got-f[i+1].Want))
	}
	assert.Len(t, f[0].Batch, 1)
	assert.Contains(t, r.String(), "g_xy[")
	assert.Equal(t, 5, strings.Count(r.Err().Error(), "derivative: CrossG: g_xy["))
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Points": {Points: -1}, "Samples": {Samples: 499}, "Center": {Center: []float64{1}},
		"CenterY": {CenterY: []float64{0, 0, math.NaN()}},
		"ScaleX":  {ScaleX: -1}, "ScaleY": {ScaleY: math.Inf(1)}, "Tol": {Tol: math.NaN()}, "MuG": {MuG: -1},
		"Box": {Set: bilevel.UniformBox(2, 0, 1)},
	} {
		r, err := Problem(newGood(), o)
		assert.Nil(t, r)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, name+" ")
	}
	_, err := Problem(noDims{newGood()}, Options{})
	assert.ErrorContains(t, err, "Dims")
}

type noDims struct{ *good }

func (noDims) Dims() (dx, dy int) { return 0, 3 }
