package observe

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/quadratic"
)

type untold struct {
	bilevel.Problem
	bilevel.Values
}

func TestNewtonIsTheTruth(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGyy: 1})
	require.NoError(t, err)
	x, best := p.Optimum()
	o := LimitOptions{Draws: 50}
	want, err := LocalLimit(p, x, o)
	require.NoError(t, err)
	got, err := LocalLimit(struct{ bilevel.Problem }{p}, x, o)
	require.NoError(t, err)
	assert.InEpsilon(t, want.Xi, got.Xi, 1e-9)
	assert.InEpsilon(t, want.Phi, got.Phi, 1e-9)

	x[1] += 0.5
	y := []float64{1, 2, 3, 4}
	told, err := New(p, Options{Best: best})
	require.NoError(t, err)
	found, err := New(untold{p, p}, Options{Best: best})
	require.NoError(t, err)
	a, err := told.At(x, y)
	require.NoError(t, err)
	b, err := found.At(x, y)
	require.NoError(t, err)
	assert.InEpsilon(t, a.Gap, b.Gap, 1e-9)
	assert.InEpsilon(t, a.Grad, b.Grad, 1e-9)
	assert.InEpsilon(t, a.Lower, b.Lower, 1e-9)

	_, err = New(struct{ bilevel.Problem }{p}, Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "bilevel.Truth or bilevel.Values")
}

// rates has Newton steps from 0 that are far too long, g = Σ e^(y_j) − n_j y_j + ½e^(x_j)y_j².
func rates(mean bool) (*auto.Problem, error) {
	n := []float64{300, 0.5, 3}
	g := func(x, y auto.Vec, n auto.Vec) auto.Num {
		return y.Exp().Sum().Sub(y.Dot(n)).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
	}
	l := auto.Losses{Dx: 3, Dy: 3, Upper: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-1).SquaredNorm() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			rng := rand.New(rand.NewPCG(uint64(s), 0))
			return g(x, y, auto.Data([]float64{n[0] + rng.NormFloat64(), n[1], n[2] + rng.NormFloat64()}))
		},
	}
	if mean {
		l.MeanG = func(x, y auto.Vec) auto.Num { return g(x, y, auto.Data(n)) }
	}
	return auto.New(l)
}

// Of two losses alone: y*(x) solves e^y − n + e^x·y = 0, to rounding, from anywhere.
func TestNewtonOfTwoLosses(t *testing.T) {
	p, err := rates(true)
	require.NoError(t, err)
	truth, err := truthOf(p, true)
	require.NoError(t, err)
	x := []float64{-9, 2, 0.5}
	n := []float64{300, 0.5, 3}
	for _, from := range [][]float64{{0, 0, 0}, {-40, 30, 5}, {1, 1, 1}} {
		require.NoError(t, truth.Solution(from, x))
		for j, y := range from {
			assert.InDelta(t, n[j], math.Exp(y)+math.Exp(x[j])*y, 1e-11*n[j])
		}
	}
	grad, at := make([]float64, 3), make([]float64, 3)
	value, err := truth.Objective(grad, x)
	require.NoError(t, err)
	for j := range x {
		const h = 1e-5
		copy(at, x)
		at[j] += h
		up, err := truth.Objective(nil, at)
		require.NoError(t, err)
		at[j] -= 2 * h
		down, err := truth.Objective(nil, at)
		require.NoError(t, err)
		assert.InDelta(t, (up-down)/(2*h), grad[j], 1e-6*value)
	}

	p, err = rates(false)
	require.NoError(t, err)
	_, err = LocalLimit(p, x, LimitOptions{})
	require.ErrorIs(t, err, bilevel.ErrNoExact)
}

type lost struct{ bilevel.Problem }

func (lost) GradG(gy, _, _ []float64, _ []bilevel.Sample) error {
	for i := range gy {
		gy[i] = math.NaN()
	}
	return nil
}

func TestNewtonRefusesNaN(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 2, Dy: 3, Seed: 5})
	require.NoError(t, err)
	truth, err := truthOf(lost{p}, false)
	require.NoError(t, err)
	require.ErrorContains(t, truth.Solution(make([]float64, 3), make([]float64, 2)), "‖g_y‖ is NaN")
}
