package check

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// lying has wrong truths.
type lying struct {
	*quadratic.Problem
	solution  func(y []float64, start float64)
	objective func(f float64, grad []float64) float64
}

func (l *lying) Solution(y, x []float64) error {
	start := y[1]
	err := l.Problem.Solution(y, x)
	if l.solution != nil {
		l.solution(y, start)
	}
	return err
}

func (l *lying) Objective(grad, x []float64) (float64, error) {
	f, err := l.Problem.Objective(grad, x)
	if l.objective != nil {
		f = l.objective(f, grad)
	}
	return f, err
}

func TestWrongTruths(t *testing.T) {
	for want, l := range map[string]lying{
		"truth: Solution: y*[2]: differs from a Newton step": {solution: func(y []float64, _ float64) { y[2] += 1e-4 }},
		"another start": {solution: func(y []float64, start float64) { y[1] += 1e-5 * start }},
		"truth: Objective: ∇F[1]:": {objective: func(f float64, grad []float64) float64 {
			if grad != nil {
				grad[1] = -grad[1]
			}
			return f
		}},
		"truth: Objective: F: differs from f(x, y*(x))": {objective: func(f float64, _ []float64) float64 { return f + 1 }},
		"comes with the gradient": {objective: func(f float64, grad []float64) float64 {
			if grad == nil {
				f++
			}
			return f
		}},
		"call: Solution: y*: panic: singular": {solution: func([]float64, float64) { panic("singular") }},
	} {
		l.Problem = newQuadratic(t, noisy)
		r := run(t, &l, Options{})
		require.NotEmpty(t, r.Findings, want)
		assert.Contains(t, r.Findings[0].String(), want)
		f := r.Findings[0]
		requireOnly(t, r, f.Check, f.Oracle)
		if f.I == 2 {
			assert.InDelta(t, 1e-4, f.Got-f.Want, 1e-9)
		}
	}
}

func TestTruthCanBeLeftAlone(t *testing.T) {
	l := &lying{Problem: newQuadratic(t, noisy), solution: func([]float64, float64) { panic("called") }, objective: func(float64, []float64) float64 { panic("called") }}
	r := run(t, l, Options{NoTruth: true})
	require.NoError(t, r.Err())
	assert.Equal(t, []Skip{{Truth, "Objective", "Options.NoTruth", false}}, r.Skipped)
}

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
		p := ofLosses(t, 1, 3, func(x, y auto.Vec) auto.Num { return y.SquaredNorm() },
			func(x, y auto.Vec) auto.Num { return y.Slice(1, 3).SquaredNorm().Scale(one / 2) })
		f := requireOnly(t, run(t, bare{p}, Options{}), Convexity, "HessG")[0]
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
		"kept":                                constant(2 - 1e-9),
		"none":                                constant(math.Inf(-1)),
		"convexity: ConvexityAt: λ_min(g_yy)": constant(2.002),
		"finite: ConvexityAt":                 constant(math.NaN()),
		"finite: ConvexityAt: s: want a num":  constant(math.Inf(1)),
		"call: ConvexityAt":                   func(x []float64) float64 { panic("no") },
		"inputs: ConvexityAt: x[0]":           func(x []float64) float64 { x[0]++; return 1 },
	} {
		r := run(t, promises{newQuadratic(t, quadratic.Options{Dx: 2, Dy: 3, Seed: 5, MuG: 2, SigmaGy: 0.3}), s}, Options{})
		switch want {
		case "kept":
			assert.NoError(t, r.Err())
			assert.Contains(t, r.Passed, Pass{Convexity, "ConvexityAt", 6})
		case "none":
			assert.NoError(t, r.Err())
			assert.NotContains(t, passedBy(r), "convexity ConvexityAt")
		default:
			require.ErrorIs(t, r.Err(), ErrWrong, want)
			assert.ErrorContains(t, r.Err(), want)
		}
	}
}

// losses are two: f adds up and g pulls y to what its function of x is.
func losses(t *testing.T, l auto.Losses, f, pull loss) *auto.Problem {
	l.Dy, l.F = 1, f
	l.G = func(x, y auto.Vec, s bilevel.Sample) auto.Num { return y.At(0).Sub(pull(x, y, s)).Square() }
	p, err := auto.New(l)
	require.NoError(t, err)
	return p
}

func lowerAlone(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Square() }

func nothing(_, _ auto.Vec, _ bilevel.Sample) auto.Num { return auto.Const(0.5) }

func TestNoEffect(t *testing.T) {
	first := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Sin() }
	second := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(1).Sin() }
	both := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Mul(x.At(0)) }
	for _, c := range []struct {
		dx      int
		terms   uint64
		f, pull loss
		want    string
	}{
		{3, 4, both, second, "effect: CrossG: without effect at all points: x[2] of 3 entries: f_x is 0 there, and so is g_xy, or f_y; is"},
		{3, 4, lowerAlone, first, ": x[1], x[2] of 3 entries"},
		{3, 0, lowerAlone, first, ": x[1], x[2] of 3 entries"},
		{2, 4, lowerAlone, nothing, ": x[0], x[1] of 2 entries"},
		{2, 4, first, second, ": x[1] of 2 entries"},
		{8, 4, lowerAlone, first, ": x[1], x[2], x[3], x[4], x[5], 2 more of 8 entries"},
	} {
		r := run(t, losses(t, auto.Losses{Dx: c.dx, Upper: c.terms, Lower: c.terms}, c.f, c.pull), Options{})
		require.Empty(t, r.Findings, "%s: %s", c.want, r)
		require.ErrorIs(t, r.Err(), ErrIncomplete)
		assert.ErrorContains(t, r.Err(), c.want)
		assert.Len(t, r.Gaps(), 1)
	}
}

// An entry acts if it does so by f or y*(x) alone, in one term, in few draws, or at one point.
func TestEffectAnywhere(t *testing.T) {
	own := func(x, y auto.Vec, s bilevel.Sample) auto.Num { return x.At(int(s % 50)).Sin() }
	beyond := func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		if x.At(0).Value() < 2 {
			return auto.Const(0)
		}
		return x.At(0).Shift(-2).Square().Mul(x.At(0).Shift(-2))
	}
	for _, p := range []bilevel.Problem{
		losses(t, auto.Losses{Dx: 50, Upper: 50, Lower: 1}, own, nothing),
		losses(t, auto.Losses{Dx: 50, Upper: 1, Lower: 50}, lowerAlone, own),
		losses(t, auto.Losses{Dx: 50}, lowerAlone, own),
		&mutant{full: losses(t, auto.Losses{Dx: 50, Upper: 50, Lower: 50}, lowerAlone, own), fails: noExact("CrossG")},
	} {
		r := run(t, p, Options{})
		require.NoError(t, r.Err(), r)
		assert.Contains(t, passedBy(r), "effect CrossG")
	}
	p := losses(t, auto.Losses{Dx: 1, Upper: 1, Lower: 1}, lowerAlone, beyond)
	require.NoError(t, run(t, p, Options{}).Err())
	assert.ErrorContains(t, run(t, p, Options{ScaleX: 1e-3}).Err(), "do Options.Center and ScaleX keep away from where")
}
