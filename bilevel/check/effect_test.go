package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/mat"
)

// losses are two: f adds up and g pulls y to what its function of x is.
func losses(t *testing.T, l auto.Losses, f, pull func(x, y auto.Vec, s bilevel.Sample) auto.Num) *auto.Problem {
	t.Helper()
	l.Dy, l.F = 1, f
	l.G = func(x, y auto.Vec, s bilevel.Sample) auto.Num { return y.At(0).Sub(pull(x, y, s)).Square() }
	p, err := auto.New(l)
	require.NoError(t, err)
	return p
}

func TestNoEffect(t *testing.T) {
	first := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Sin() }
	second := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(1).Sin() }
	none := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return auto.Const(0.5) }
	lower := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Square() }
	both := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Mul(x.At(0)) }
	for _, c := range []struct {
		dx      int
		terms   uint64
		f, pull func(x, y auto.Vec, s bilevel.Sample) auto.Num
		want    string
	}{
		{3, 4, both, second, "effect: CrossG: without effect at all points: x[2] of 3 entries: f_x is 0 there, and so is g_xy, or f_y; is"},
		{3, 4, lower, first, ": x[1], x[2] of 3 entries"},
		{3, 0, lower, first, ": x[1], x[2] of 3 entries"},
		{2, 4, lower, none, ": x[0], x[1] of 2 entries"},
		{2, 4, first, second, ": x[1] of 2 entries"},
		{8, 4, lower, first, ": x[1], x[2], x[3], x[4], x[5], 2 more of 8 entries"},
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
	lower := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Square() }
	none := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return auto.Const(0.5) }
	own := func(x, y auto.Vec, s bilevel.Sample) auto.Num { return x.At(int(s % 50)).Sin() }
	beyond := func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		if x.At(0).Value() < 2 {
			return auto.Const(0)
		}
		return x.At(0).Shift(-2).Square().Mul(x.At(0).Shift(-2))
	}
	for _, p := range []bilevel.Problem{
		losses(t, auto.Losses{Dx: 50, Upper: 50, Lower: 1}, own, none),
		losses(t, auto.Losses{Dx: 50, Upper: 1, Lower: 50}, lower, own),
		losses(t, auto.Losses{Dx: 50}, lower, own),
		inexact{losses(t, auto.Losses{Dx: 50, Upper: 50, Lower: 50}, lower, own)},
	} {
		r := run(t, p, Options{})
		require.NoError(t, r.Err(), r)
		assert.Contains(t, passedBy(r), "effect CrossG")
	}
	p := losses(t, auto.Losses{Dx: 1, Upper: 1, Lower: 1}, lower, beyond)
	require.NoError(t, run(t, p, Options{}).Err())
	assert.ErrorContains(t, run(t, p, Options{ScaleX: 1e-3}).Err(), "do Options.Center and ScaleX keep away from where")
}

type inexact struct{ *auto.Problem }

func (p inexact) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	if len(phi) == 0 {
		return bilevel.ErrNoExact
	}
	return p.Problem.CrossG(gxy, x, y, phi)
}
