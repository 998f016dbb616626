package check

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/quadratic"
	"stable/mat"
)

func newQuadratic(t testing.TB, o quadratic.Options) *quadratic.Problem {
	t.Helper()
	q, err := quadratic.New(o)
	require.NoError(t, err)
	return q
}

var noisy = quadratic.Options{Dx: 3, Dy: 4, Seed: 2, SigmaFx: 0.5, SigmaFy: 0.5, SigmaGy: 0.5, SigmaGxy: 0.5,
	SigmaGyy: 0.5}

func requireOnly(t testing.TB, r *Report, check, oracle string) []Finding {
	t.Helper()
	require.NotEmpty(t, r.Findings)
	for _, f := range r.Findings {
		require.Equal(t, check+" "+oracle, f.Check+" "+f.Oracle, r)
	}
	return r.Findings
}

// root is g = ½‖y‖² − Σ √x_i y_i, f = ½‖y‖² + Σ x_i log x_i, for x > 0 in a set only: outside, it
// fails, or, unless it is fussy, is NaN.
func root(t testing.TB, fussy bool, set bilevel.Set) bilevel.Problem {
	p := ofLosses(t, 3, 3, func(x, y auto.Vec) auto.Num {
		return x.Mul(x.Log()).Sum().Add(y.SquaredNorm().Scale(0.5))
	}, func(x, y auto.Vec) auto.Num { return y.SquaredNorm().Scale(0.5).Sub(x.Sqrt().Dot(y)) })
	m := &mutant{full: p, fails: func(c call) error {
		p := slices.Clone(c.x)
		set.Project(p, p)
		outside := slices.Min(c.x) <= 0 || distance(p, c.x) > 1e-6
		switch {
		case outside && fussy:
			return errors.New("x must be positive")
		case outside && c.gy != nil:
			c.gy[0] = math.NaN()
		case outside && c.fx != nil:
			c.fx[0] = math.NaN()
		case outside && c.gxy != nil:
			c.gxy.Set(0, 0, math.NaN())
		}
		return nil
	}}
	return bare{m}
}

func TestPointsStayInTheRegion(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for name, set := range map[string]bilevel.Set{
		"half line":  bilevel.NonNegative{},
		"box":        bilevel.UniformBox(3, 0.1, 2),
		"narrow box": bilevel.UniformBox(3, 1e-6, 1e-4),
		"far box":    bilevel.UniformBox(3, 1e4, 2e4),
		"ball":       bilevel.Ball{Center: []float64{2, 2, 2}, Radius: 1},
		"simplex":    bilevel.Simplex{},
	} {
		for _, fussy := range []bool{false, true} {
			for seed := range seeds {
				r := run(t, root(t, fussy, set), Options{Set: set, Seed: seed, Points: 4})
				require.Empty(t, r.Findings, "%s %s", name, r)
				if name == "box" || name == "ball" {
					assert.Contains(t, passedBy(r), "derivative CrossG")
				}
			}
		}
	}
	// Without the region, it is as wrong as it looks.
	assert.ErrorIs(t, run(t, root(t, false, bilevel.Space{}), Options{}).Err(), ErrWrong)
}

func scaled(s float64, terms uint64) *mutant {
	return &mutant{full: goodOf(3, 3, terms), after: func(c call) {
		times(s, c.fx, c.fy)
		if c.f != nil {
			*c.f *= s
		}
	}}
}

func TestTolerancesFollowTheScale(t *testing.T) {
	for _, s := range []float64{1e-100, 1e-12, 1e12, 1e100} {
		r := run(t, scaled(s, 0), Options{Samples: 500})
		require.NoError(t, r.Err())
		assert.Empty(t, r.Skipped)
		m := scaled(s, wholeSum)
		require.NoError(t, run(t, m, Options{}).Err())
		right := m.after
		m.after = func(c call) {
			right(c)
			if c.fy != nil {
				c.fy[1] *= 1 + 1e-5
			}
		}
		f := requireOnly(t, run(t, m, Options{}), Derivative, "GradF")
		require.Len(t, f, 1)
		assert.Equal(t, 1, f[0].I)
	}
}

// bareGX hides Products and Values.
type bareGX struct {
	bilevel.Problem
	bilevel.UpperGradient
}

func TestGradXG(t *testing.T) {
	p := newGood()
	r := run(t, p, Options{})
	require.NoError(t, r.Err(), r)
	assert.Contains(t, passedBy(r), "derivative GradXG")
	r = run(t, bareGX{p, p}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	assert.Len(t, r.Gaps(), 3)
	assert.Contains(t, passedBy(r), "symmetry GradXG")

	for _, wrong := range []func(c call){func(c call) { times(-1, c.dst) }, func(c call) { c.dst[0] += 1e-3 }} {
		requireOnly(t, run(t, &mutant{full: p, oracle: "GradXG", after: wrong}, Options{}), Derivative, "GradXG")
	}
	bad := &mutant{full: p, oracle: "GradXG", after: func(c call) { times(-1, c.dst) }}
	requireOnly(t, run(t, bareGX{bad, bad}, Options{}), Symmetry, "GradXG")
}

// Rounding in values is no wrong gradient, and does not hide that nothing was judged.
func TestRoughValuesAreReported(t *testing.T) {
	for _, c := range []struct {
		noise  float64
		judged bool
	}{{1e-12, true}, {1e-6, false}} {
		r := run(t, &mutant{full: newGood(), oracle: "ValueF", after: func(m call) {
			// Deterministic, like rounding, but rougher.
			rng := rand.New(rand.NewPCG(math.Float64bits(mat.Norm(m.x)), math.Float64bits(mat.Norm(m.y))))
			if len(m.batch) == 1 {
				*m.f += c.noise * rng.Float64()
			}
		}}, Options{})
		for _, f := range r.Findings {
			assert.NotEqual(t, "GradF", f.Oracle, r)
		}
		assert.Equal(t, !c.judged, slices.ContainsFunc(r.Skipped, func(s Skip) bool {
			return s.Oracle == "GradF" && strings.Contains(s.Reason, "too rough")
		}), r)
	}
}

// lone is f = ½‖x‖² + ½‖y − 1‖², with a sign to f_y that no other oracle contradicts.
func lone(t testing.TB, sign float64) *mutant {
	p := ofLosses(t, 3, 3, func(x, y auto.Vec) auto.Num {
		return x.SquaredNorm().Add(y.Shift(-1).SquaredNorm()).Scale(0.5)
	}, func(x, y auto.Vec) auto.Num { return y.SquaredNorm().Sub(x.Sin().Dot(y)) })
	return &mutant{full: p, oracle: "GradF", after: func(c call) { times(sign, c.fy) }}
}

// Without Values the report is not complete, whether f_y is right or not, and says so.
func TestUnverifiedIsNoPass(t *testing.T) {
	require.NoError(t, run(t, lone(t, 1), Options{}).Err())
	requireOnly(t, run(t, lone(t, -1), Options{}), Derivative, "GradF")
	for _, sign := range []float64{1, -1} {
		r := run(t, bare{lone(t, sign)}, Options{})
		require.Empty(t, r.Findings)
		require.ErrorIs(t, r.Err(), ErrIncomplete)
		require.NotErrorIs(t, r.Err(), ErrWrong)
		assert.ErrorContains(t, r.Err(), "derivative: GradF: no Values")
		assert.ErrorContains(t, r.Err(), "derivative: GradG: no Values")
		assert.Len(t, r.Gaps(), 2)
	}
}

func TestReport(t *testing.T) {
	r := run(t, newGood(), Options{})
	require.NoError(t, r.Err())
	assert.Equal(t, r, run(t, newGood(), Options{}))
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

type noDims struct{ bilevel.Problem }

func (noDims) Dims() (dx, dy int) { return 0, 3 }
