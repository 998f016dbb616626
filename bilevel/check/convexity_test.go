package check

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

func reshaped(c float64) *mutant {
	q := newGood()
	return &mutant{full: q,
		gradG: func(gy, x, y []float64, phi []bilevel.Sample) error {
			_ = q.GradG(gy, x, y, phi)
			mat.Axpy(gy, c, y)
			return nil
		},
		hessG: func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
			_ = q.HessG(gyy, x, y, phi)
			mat.AddIdentity(gyy, c)
			return nil
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

// degenerate has the constant g_yy = diag(0, 1, 1): an eigenvalue of 0 is not positive.
func TestSingularIsNotStronglyConvex(t *testing.T) {
	q := newGood()
	m := &mutant{full: q,
		gradG: func(gy, x, y []float64, phi []bilevel.Sample) error {
			copy(gy, y)
			gy[0] = 0
			return nil
		},
		crossG: func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error { gxy.Zero(); return nil },
		hessG: func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
			gyy.Zero()
			gyy.Set(1, 1, 1)
			gyy.Set(2, 2, 1)
			return nil
		}}
	f := requireOnly(t, run(t, bare{m}, Options{}), Convexity, "HessG")[0]
	assert.Contains(t, f.Message, "must be above 0")

	m.gradG = func(gy, x, y []float64, phi []bilevel.Sample) error { clear(gy); return nil }
	m.hessG = func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error { gyy.Zero(); return nil }
	requireOnly(t, run(t, bare{m}, Options{}), Convexity, "HessG") // of a g without curvature
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
