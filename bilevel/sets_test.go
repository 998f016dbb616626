package bilevel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// setCase is a set with an independent test of membership, and a way to draw feasible points.
type setCase struct {
	set    Set
	inside func(x []float64, tol float64) bool
	sample func(rng *rand.Rand, z []float64)
}

func setCases(d int) map[string]setCase {
	normal := func(rng *rand.Rand, z []float64) {
		for i := range z {
			z[i] = 3 * rng.NormFloat64()
		}
	}
	box := UniformBox(d, -0.5, 1)
	box.Hi[d-1] = math.Inf(1)
	box.Lo[0], box.Hi[0] = 0.25, 0.25
	center, a := make([]float64, d), make([]float64, d)
	for i := range d {
		center[i], a[i] = float64(i)-1, math.Cos(float64(i))
	}
	return map[string]setCase{
		"Space": {Space{}, func([]float64, float64) bool { return true }, normal},
		"Box": {box, func(x []float64, tol float64) bool {
			for i, v := range x {
				if v < box.Lo[i]-tol || v > box.Hi[i]+tol {
					return false
				}
			}
			return true
		}, func(rng *rand.Rand, z []float64) {
			for i := range z {
				z[i] = box.Lo[i] + rng.Float64()*(min(box.Hi[i], 9)-box.Lo[i])
			}
		}},
		"NonNegative": {NonNegative{}, func(x []float64, tol float64) bool {
			for _, v := range x {
				if v < -tol {
					return false
				}
			}
			return true
		}, func(rng *rand.Rand, z []float64) {
			for i := range z {
				z[i] = rng.ExpFloat64()
			}
		}},
		"Ball": {Ball{center, 1.5}, func(x []float64, tol float64) bool {
			var s float64
			for i, v := range x {
				s += (v - center[i]) * (v - center[i])
			}
			return math.Sqrt(s) <= 1.5+tol
		}, func(rng *rand.Rand, z []float64) {
			normal(rng, z)
			n := mat.Norm(z)
			for i := range z {
				z[i] = center[i] + 1.5*rng.Float64()*z[i]/n
			}
		}},
		"Simplex": {Simplex{2}, func(x []float64, tol float64) bool {
			var s float64
			for _, v := range x {
				if v < -tol {
					return false
				}
				s += v
			}
			return math.Abs(s-2) <= tol
		}, func(rng *rand.Rand, z []float64) {
			var s float64
			for i := range z {
				z[i] = rng.ExpFloat64()
				s += z[i]
			}
			for i := range z {
				z[i] *= 2 / s
			}
		}},
		"HalfSpace": {HalfSpace{a, -0.5}, func(x []float64, tol float64) bool {
			return mat.Dot(a, x) <= -0.5+tol
		}, func(rng *rand.Rand, z []float64) {
			normal(rng, z)
			mat.Axpy(z, -(mat.Dot(a, z)+0.5+rng.ExpFloat64())/mat.Dot(a, a), a)
		}},
	}
}

// A projection is feasible, idempotent and nearest: ⟨x − P(x), z − P(x)⟩ ≤ 0 for every feasible z.
func TestSetsProject(t *testing.T) {
	for _, d := range []int{1, 2, 3, 7, 40} {
		for name, c := range setCases(d) {
			t.Run(fmt.Sprintf("%s/d=%d", name, d), func(t *testing.T) {
				require.NoError(t, c.set.Validate(d))
				rng := rand.New(rand.NewPCG(5, uint64(d)))
				x, p, again, z := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
				moved := 0
				for range 200 {
					scale := math.Pow(10, 4*rng.Float64()-2)
					for i := range x {
						x[i] = scale * rng.NormFloat64()
					}
					c.set.Project(p, x)
					tol := 1e-14 * (1 + mat.Norm(x)) * float64(d)
					require.True(t, c.inside(p, tol), "not feasible: %v", p)

					c.set.Project(again, p)
					mat.Axpy(again, -1, p)
					require.LessOrEqual(t, mat.Norm(again), tol, "not idempotent")

					c.sample(rng, z)
					require.True(t, c.inside(z, 1e-12), "the test's own point is not feasible")
					var inner float64
					for i := range x {
						inner += (x[i] - p[i]) * (z[i] - p[i])
					}
					require.LessOrEqual(t, inner, tol*(1+mat.Norm(x)+mat.Norm(z)), "not nearest")

					copy(z, x)
					c.set.Project(z, z)
					require.Equal(t, p, z, "in place differs")
					if p[0] != x[0] {
						moved++
					}
				}
				if name != "Space" {
					assert.Positive(t, moved, "no point was outside")
				}
				assert.Zero(t, testing.AllocsPerRun(10, func() { c.set.Project(p, x) }))
			})
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
	for name, c := range setCases(3) {
		c.set.Project(p, []float64{0, math.NaN(), 0})
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
