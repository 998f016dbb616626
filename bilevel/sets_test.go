package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Answers that are known, at scales where plain formulas overflow or cancel.
func TestSetsProjectExtreme(t *testing.T) {
	const r3 = 1.7320508075688772
	for _, c := range []struct {
		set        MetricSet
		x, w, want []float64 // without w: Project
		within     float64
	}{
		{Ball{Radius: 3}, []float64{1e200, -1e200, 1e200}, nil, []float64{r3, -r3, r3}, 1e-15},
		{Simplex{}, []float64{1e15 + 0.5, 1e15, -1e15}, nil, []float64{0.75, 0.25, 0}, 0},
		{Simplex{}, []float64{1e300, -1e300, 1e300}, nil, []float64{0.5, 0, 0.5}, 0},
		{HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}, []float64{0x1p525, 7}, nil,
			[]float64{0x1p523, 7}, 0}, // Aᵀx is 2¹⁰²⁵

		{Simplex{}, []float64{1, 1}, []float64{1, 3}, []float64{0.25, 0.75}, 0},
		{Simplex{}, []float64{0.5, 0.1}, []float64{1e150, 1e-150}, []float64{0.5, 0.5}, 0},
		{Simplex{}, []float64{0.5, 0.1}, []float64{1e-150, 1e150}, []float64{0.9, 0.1}, 1e-16},
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{1e-300, 1e-300}, []float64{0.75, 0.25}, 0}, // a common offset
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{7, 7}, []float64{0.75, 0.25}, 0},
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{1e300, 1e300}, []float64{0.75, 0.25}, 0},
		// The heavy entry keeps what there is, whatever rounding makes of a multiplier of 100 digits.
		{Simplex{}, []float64{48, 48, 48, 1 + 0x1p-52, 48}, []float64{0.78, 56, 88, 2e117, 1},
			[]float64{0, 0, 0, 1, 0}, 1e-13},
		{Simplex{32}, []float64{48, 48, 48, 48, 48}, []float64{48, 2e117, 50, 48, 1}, []float64{0, 32, 0, 0, 0}, 1e-13},

		// The light entry goes to 0 before the heavy one moves.
		{Ball{Radius: 1e-100}, []float64{5e-101, 2e-100}, []float64{1e200, 1e-100},
			[]float64{5e-101, r3 / 2 * 1e-100}, 1e-114},
		{Ball{Radius: 1}, []float64{0.5, 2}, []float64{1e200, 1e-100}, []float64{0.5, r3 / 2}, 1e-14},
		{Ball{Radius: 1e100}, []float64{5e99, 2e100}, []float64{1e200, 1e-100}, []float64{5e99, r3 / 2 * 1e100}, 1e86},
		{Ball{Radius: 3}, []float64{1e200, -1e200}, []float64{1e-250, 1e-250},
			[]float64{3 / math.Sqrt2, -3 / math.Sqrt2}, 1e-14},
		{Ball{Radius: 1}, []float64{2, 2}, []float64{1e200, 1e-200}, []float64{1, 0}, 0},
		{Ball{Center: []float64{1, 2}}, []float64{5, 7}, []float64{1, 2}, []float64{1, 2}, 0},
		{Ball{Radius: 1e-200}, []float64{1e200, 0}, []float64{1, 2}, []float64{0, 0}, 1e-200},

		{HalfSpace{[]float64{1e-100, 1}, 1}, []float64{0, 3}, []float64{1e250, 1e-200}, []float64{0, 1}, 0},
		{HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}, []float64{0x1p525, 7}, []float64{4, 1}, []float64{0x1p523, 7}, 0},
	} {
		p := make([]float64, len(c.x))
		if c.w == nil {
			c.set.Project(p, c.x)
		} else {
			c.set.ProjectMetric(p, c.x, c.w)
		}
		assert.InDeltaSlice(t, c.want, p, c.within, "%#v of %v in %v", c.set, c.x, c.w)
	}
}

// NaN and Inf, in the point and in the weights, end no later than numbers, and NaN shows.
func TestSetsProjectNotFinite(t *testing.T) {
	for _, set := range []MetricSet{Space{}, UniformBox(3, -0.5, 1), NonNegative{}, Ball{[]float64{-1, 0, 1}, 1.5},
		Simplex{2}, HalfSpace{[]float64{1, 0.5, -0.4}, -0.5}} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p := make([]float64, 3)
			set.ProjectMetric(p, []float64{100, bad, 100}, []float64{1, 2, 3})
			hides := math.IsNaN(bad) && !math.IsNaN(p[1])
			set.Project(p, []float64{100, bad, 100})
			if _, bounds := set.(BoundedSet); bounds {
				hides = hides || math.IsNaN(bad) && !math.IsNaN(p[1])
			}
			assert.False(t, hides, "%T hides a NaN", set)
			set.ProjectMetric(p, []float64{100, 90, 100}, []float64{1, bad, 3})
		}
	}
}

func TestSetsValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, s := range map[string]Set{
		"Box has 2 lower and 3 upper":   Box{make([]float64, 2), make([]float64, 3)},
		"Box is empty at index 1":       Box{[]float64{0, 1, 0}, []float64{0, 0.5, 0}},
		"Box is empty at index 2":       Box{[]float64{0, 0, nan}, []float64{0, 0.5, 0}},
		"Box is empty at index 0":       Box{[]float64{inf, 0, 0}, []float64{inf, 0.5, 0}},
		"Ball.Center has length 1":      Ball{[]float64{0}, 1},
		"Ball.Center is NaN at index 2": Ball{[]float64{0, 0, nan}, 1},
		"Ball.Radius is -1":             Ball{nil, -1},
		"Ball.Radius is NaN":            Ball{nil, nan},
		"Simplex.Sum is -1":             Simplex{-1},
		"HalfSpace.A has length 2":      HalfSpace{[]float64{1, 1}, 0},
		"want a finite A ≠ 0":           HalfSpace{[]float64{0, 0, 0}, 0},
		"want a finite A ≠ 0 an":        HalfSpace{[]float64{0, nan, 0}, 0},
		"want a finite A ≠ 0 a":         HalfSpace{[]float64{0, 1e-160, 0}, 0},
	} {
		err := s.Validate(3)
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorIs(t, Simplex{}.Validate(0), ErrOption)
}

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		set  Set
		want float64
	}{
		{Space{}, 1}, {NonNegative{}, 1}, {HalfSpace{A: []float64{1}, B: 2}, 1}, {UniformBox(2, -3, 1), 4},
		{UniformBox(2, 1, 1), 1}, {UniformBox(2, 0, math.Inf(1)), 1}, {Ball{Radius: 3}, 6}, {Ball{}, 1},
		{Simplex{}, 1}, {Simplex{Sum: 5}, 5}, {struct{ Box }{UniformBox(2, -3, 1)}, 4},
		{struct{ Set }{UniformBox(2, -3, 1)}, 1},
	} {
		assert.Equal(t, c.want, Width(c.set, 1), "%#v", c.set)
	}
}
