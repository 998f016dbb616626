package method

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/bilevel/units"
	"stable/mat"
)

func TestEveryMethodRefuses(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), -1} {
			for field, c := range map[string]struct {
				takes bool
				set   func(t *Tuning, s bilevel.Schedule)
			}{
				"α": {!e.Untuned, func(t *Tuning, s bilevel.Schedule) { t.Alpha = s }},
				"β": {!e.Untuned, func(t *Tuning, s bilevel.Schedule) { t.Beta = s }},
				"μ": {e.Needs.MuG, func(t *Tuning, _ bilevel.Schedule) { t.MuG, t.Terms = bad, 0 }},
				"L": {e.Needs.LG, func(t *Tuning, _ bilevel.Schedule) { t.LG = bad }},
			} {
				now, later := tuning, tuning
				c.set(&now, bilevel.Constant(bad))
				_, err := bilevel.New(e.problem(0.1), e.New(now), bilevel.Options{})
				if !c.takes {
					require.NoError(t, err, "it has no such parameter")
					continue
				}
				require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v", field, bad)
				if c.set(&later, turn{K: 4, V: bad}); field == "α" || field == "β" {
					requireRefusedAtStep4(t, e, later, field, bad)
				}
			}
		}
	})
}

// requireRefusedAtStep4 wants the run to end there, unless the schedule counts inner steps.
func requireRefusedAtStep4(t *testing.T, e Entry, tuning Tuning, field string, bad float64) {
	s := start(t, e.problem(0.1), e.New(tuning), bilevel.Options{})
	if field == "β" && e.Name == (BSA{}).Name() {
		require.ErrorIs(t, failure(s, 100), bilevel.ErrOption, "%s = %v", field, bad)
		return
	}
	steps(t, s, 4)
	x := slices.Clone(s.X())
	err := s.Step()
	require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v at step 4", field, bad)
	assert.ErrorContains(t, err, "at step 4")
	assert.Equal(t, x, s.X())
}

func TestEveryMethodAtExtremeDimensions(t *testing.T) {
	d := 300
	if testing.Short() {
		d = 120
	}
	large, err := quadratic.New(quadratic.Options{Dx: d, Dy: d, LG: 3, LP: 2, Terms: 8})
	require.NoError(t, err)
	forEach(t, func(t *testing.T, e Entry) {
		one := e.problem(0.1)
		one.Dx, one.Dy = 1, 1
		many := bilevel.Problem(large)
		if e.Needs.Composition {
			p := e.problem(0.1)
			p.Dx, p.Dy, p.N = d, d, 2
			many = p
		}
		for _, c := range []struct {
			bilevel.Problem
			steps int
		}{{one, 100}, {withoutProducts(one), 100}, {many, 4}} {
			s := start(t, c.Problem, e.New(tuning), bilevel.Options{Seed: 1})
			steps(t, s, c.steps)
			require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0)
			if e.Name == (saa.Newton{}).Name() && c.steps < 10 {
				continue // still in its first block, of 2(dx + dy) samples
			}
			require.NotZero(t, s.X()[0])
			require.NotZero(t, s.Y()[0])
		}
	})
}

// Near the ends of the range a method works, or says which quantity left it at which step.
func TestEveryMethodNearOverflowAndUnderflow(t *testing.T) {
	exponents := []int{-1020, -700, -100, 500, 1020, -1000, -500, 100, 700, 1000}
	if testing.Short() {
		exponents = exponents[:5]
	}
	for _, exponent := range exponents {
		scale := math.Ldexp(1, exponent)
		forEach(t, func(t *testing.T, e Entry) {
			if e.Needs.Composition { // g is not to be scaled
				return
			}
			scaled := tuning
			scaled.MuG, scaled.LG = 0.7*scale, 7*scale
			if !e.Lengths[0] {
				scaled.Alpha = bilevel.Constant(0.02 / scale)
			}
			if !e.Lengths[1] {
				scaled.Beta = bilevel.Constant(0.05 / scale)
			}
			p, err := units.In(newProducts(0.1), units.Units{F: scale, G: scale})
			require.NoError(t, err)
			type problem struct {
				bilevel.Problem
				bilevel.Products
				bilevel.UpperGradient
			}
			for _, p := range []bilevel.Problem{problem{p, p, p}, struct{ bilevel.Problem }{p}} {
				s, err := bilevel.New(p, e.New(scaled), bilevel.Options{Seed: 1})
				if err != nil {
					require.ErrorIs(t, err, bilevel.ErrOption, "2^%d", exponent)
					continue
				}
				for range 30 {
					if err = s.Step(); err != nil {
						break
					}
				}
				require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0, "2^%d", exponent)
				if -200 < exponent && exponent < 200 {
					require.NoError(t, err, "2^%d", exponent)
				}
				if err != nil {
					require.True(t, errors.Is(err, bilevel.ErrDiverged) || errors.Is(err, bilevel.ErrOption), "2^%d: %v", exponent, err)
					require.ErrorContains(t, err, fmt.Sprintf("at step %d", s.K()), "2^%d", exponent)
				}
			}
		})
	}
}
