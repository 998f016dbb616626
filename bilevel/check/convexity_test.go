package check

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/quadratic"
	"stable/mat"
)

// reshaped is good with c/2·‖y‖² added to g.
func reshaped(c float64) *mutant {
	return &mutant{full: newGood(), after: func(m call) {
		if m.gy != nil {
			mat.Axpy(m.gy, c, m.y)
		}
		if m.gyy != nil {
			mat.AddIdentity(m.gyy, c)
		}
	}}
}

func TestNotStronglyConvex(t *testing.T) {
	r := run(t, bare{reshaped(0)}, Options{MuG: 0.5})
	require.Empty(t, r.Findings)
	r = run(t, bare{reshaped(0)}, Options{MuG: 5})
	f := requireOnly(t, r, Convexity, "HessG")[0]
	assert.Equal(t, "λ_min(g_yy)", f.Quantity)
	assert.Equal(t, 5.0, f.Want)
	assert.Less(t, f.Got, 5.0)
	r = run(t, bare{reshaped(-6)}, Options{})
	f = requireOnly(t, r, Convexity, "HessG")[0]
	assert.Less(t, f.Got, 0.0)
}

// The constant g_yy = diag(0, 1, 1), and 0: an eigenvalue of 0 is not positive.
func TestSingularIsNotStronglyConvex(t *testing.T) {
	for _, one := range []float64{1, 0} {
		f := requireOnly(t, run(t, bare{&mutant{full: newGood(), after: func(c call) {
			switch {
			case c.gy != nil:
				for j := range c.gy {
					c.gy[j] = min(float64(j), one) * c.y[j]
				}
			case c.gxy != nil:
				c.gxy.Zero()
			case c.gyy != nil:
				c.gyy.Zero()
				c.gyy.Set(1, 1, one)
				c.gyy.Set(2, 2, one)
			}
		}}}, Options{}), Convexity, "HessG")[0]
		assert.Contains(t, f.Message, "must be above 0")
	}
}

type promises struct {
	*quadratic.Problem
	s func(x []float64) float64
}

func (p promises) ConvexityAt(x []float64) float64 { return p.s(x) }

// A promise of convexity is held against single samples: a thousandth too high is found.
func TestPromise(t *testing.T) {
	constant := func(s float64) func([]float64) float64 { return func([]float64) float64 { return s } }
	for want, s := range map[string]func(x []float64) float64{
		"":                                    constant(2 - 1e-9),
		"none":                                constant(math.Inf(-1)),
		"convexity: ConvexityAt: λ_min(g_yy)": constant(2.002),
		"finite: ConvexityAt":                 constant(math.NaN()),
		"finite: ConvexityAt: s: want a num":  constant(math.Inf(1)),
		"call: ConvexityAt":                   func(x []float64) float64 { panic("no") },
		"inputs: ConvexityAt: x[0]":           func(x []float64) float64 { x[0]++; return 1 },
	} {
		q, err := quadratic.New(quadratic.Options{Dx: 2, Dy: 3, Seed: 5, MuG: 2, SigmaGy: 0.3})
		require.NoError(t, err)
		r, err := Problem(promises{q, s}, Options{})
		require.NoError(t, err)
		if want == "" {
			assert.NoError(t, r.Err())
			assert.Contains(t, r.Passed, Pass{Convexity, "ConvexityAt", 6})
			continue
		}
		if want == "none" {
			assert.NoError(t, r.Err())
			for _, p := range r.Passed {
				assert.NotEqual(t, "ConvexityAt", p.Oracle)
			}
			continue
		}
		require.ErrorIs(t, r.Err(), ErrWrong, want)
		assert.ErrorContains(t, r.Err(), want)
	}
}
