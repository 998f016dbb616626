package bilevel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// oneOfEach are sets of every kind in R^d.
func oneOfEach(d int) map[string]MetricSet {
	box, center, a := UniformBox(d, -0.5, 1), make([]float64, d), make([]float64, d)
	box.Hi[d-1] = math.Inf(1)
	box.Lo[0], box.Hi[0] = 0.25, 0.25
	for i := range d {
		center[i], a[i] = float64(i)-1, math.Cos(float64(i))
	}
	return map[string]MetricSet{"Space": Space{}, "Box": box, "NonNegative": NonNegative{}, "Ball": Ball{center, 1.5},
		"Simplex": Simplex{2}, "HalfSpace": HalfSpace{a, -0.5}}
}

// Both projections are projections, in place too, and the same one where all weights are equal.
func TestSetsProject(t *testing.T) {
	for _, d := range []int{1, 2, 3, 7, 40} {
		for name, set := range oneOfEach(d) {
			require.NoError(t, set.Validate(d))
			rng, vec := rand.New(rand.NewPCG(5, uint64(d))), func() []float64 { return make([]float64, d) }
			x, z, w, p, q, ones, moved := vec(), vec(), vec(), vec(), vec(), vec(), 0
			for range 200 {
				scale := math.Pow(10, 4*rng.Float64()-2)
				for i := range x {
					x[i], z[i], w[i], ones[i] = scale*rng.NormFloat64(), 3*rng.NormFloat64(), math.Exp(3*rng.NormFloat64()), 1
				}
				requireProjection(t, set, x, z, ones, set.Project)
				requireProjection(t, set, x, z, w, func(dst, x []float64) { set.ProjectMetric(dst, x, w) })
				set.Project(p, x)
				set.ProjectMetric(q, x, ones)
				assert.InDeltaSlice(t, p, q, 1e-12*(1+mat.Norm(x)), name)
				if p[0] != x[0] {
					moved++
				}
			}
			assert.Equal(t, name != "Space", moved > 0, name)
			assert.Zero(t, testing.AllocsPerRun(10, func() { set.Project(p, x); set.ProjectMetric(p, x, w) }))
		}
	}
}

// Points far out and points with a large common offset keep their accuracy.
func TestSetsProjectExtreme(t *testing.T) {
	x := []float64{1e200, -1e200, 1e200}
	p := make([]float64, 3)
	Ball{Radius: 3}.Project(p, x)
	for i, want := range []float64{math.Sqrt(3), -math.Sqrt(3), math.Sqrt(3)} {
		assert.InDelta(t, want, p[i], 1e-15)
	}
	Simplex{}.Project(p, []float64{1e15 + 0.5, 1e15, -1e15})
	assert.Equal(t, []float64{0.75, 0.25, 0}, p)
	Simplex{}.Project(p, []float64{1e300, -1e300, 1e300})
	assert.Equal(t, []float64{0.5, 0, 0.5}, p)
	HalfSpace{[]float64{0x1p500, 0, 0}, 0x1p1023}.Project(p, []float64{0x1p525, 7, 0}) // Aᵀx is 2¹⁰²⁵
	assert.Equal(t, []float64{0x1p523, 7, 0}, p)
	for name, set := range oneOfEach(3) {
		set.Project(p, []float64{0, math.NaN(), 0})
		if name != "Space" && name != "Box" && name != "NonNegative" {
			continue
		}
		assert.True(t, math.IsNaN(p[1]), "%s hides a NaN", name)
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
