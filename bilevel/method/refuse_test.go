package method

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/bilevel/units"
	"stable/mat"
)

// A derivative that is not finite, once or for good, ends the step and names the quantity.
func TestMethodsNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	names := map[string][]string{
		"f_x": {"f_x", "hypergradient at the last"}, "f_y": {"f_y", "hypergradient at the last"}, "g_y": {"g_y"},
		"H_xy": {"g_xy g_yy⁻¹ f_y", "hypergradient at the last", "g_xy v", "g_xy f_y", "H_xy"},
		"H_yy": {"g_yy⁻¹ f_y", "hypergradient at the last", "g_yy v", "H_yy"},
		"g_x":  {"g_x"},
	}
	forEach(t, func(t *testing.T, e Entry) {
		m := e.New(tuning)
		for quantity, want := range names {
			second := strings.HasPrefix(quantity, "H_")
			switch {
			case quantity == "H_yy" && e.Needs.Composition, // g_yy = I is not asked for
				second && e.Needs.UpperGradient, quantity == "g_x" && !e.Needs.UpperGradient:
				continue
			}
			for after, bad := range map[int]float64{0: nan, 1: inf, 7: -inf, 8: nan, 30: inf, 31: -inf} {
				for _, once := range []bool{false, true} {
					if testing.Short() && once == (after%3 == 0) {
						continue
					}
					s := start(t, turns(e.problem(0.1).wavy, quantity, bad, after, once), m, bilevel.Options{Seed: 1})
					var d *bilevel.DivergedError
					require.ErrorAs(t, failure(s, 60), &d, "%s: %s", m.Name(), quantity)
					assert.Equal(t, s.K(), d.Step)
					assert.Condition(t, func() bool {
						return slices.ContainsFunc(want, func(w string) bool { return strings.Contains(d.Quantity, w) })
					}, "%s: %s is reported as %s", m.Name(), quantity, d.Quantity)
				}
			}
		}
	})
}

// turns is p with a bad number in a quantity after some evaluations: in one of them, or in all.
func turns(p bilevel.Problem, quantity string, bad float64, after int, once bool) bilevel.Problem {
	f := &faulty{Problem: p, Quantity: quantity, After: after}
	f.Fault = func(v []float64) error {
		v[len(v)-1] = bad
		if once {
			f.After = math.MaxInt
		}
		return nil
	}
	return struct {
		*faulty
		composed
	}{faulty: f}
}

func TestMethodsRefuse(t *testing.T) {
	a, n, nan, inf := bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7}, math.NaN(), math.Inf(1)
	c := func(v float64) bilevel.Schedule { return bilevel.Constant(v) }
	series := func(n Neumann) bilevel.Method { return TTSA{Alpha: a, Beta: a, Neumann: n} }
	inner := func(s bilevel.Schedule) bilevel.Method { return BSA{Alpha: a, Beta: a, Inner: s, Neumann: n} }
	for want, m := range map[string]bilevel.Method{
		"BSA.Alpha is nil":                     BSA{Beta: a, Neumann: n},
		"MRBO.Beta is nil":                     MRBO{Alpha: a, Neumann: n},
		"BSA.Inner at step 0 is -1":            inner(c(-1)),
		"BSA.Inner at step 0 is NaN":           inner(c(nan)),
		"BSA.Inner at step 0 is 0":             inner(c(0)),
		"BSA.Inner at step 0 is 1.073741825e":  inner(c(1<<30 + 1)),
		"TTSA.Neumann.LG is 0":                 series(Neumann{}),
		"TTSA.Neumann.LG is +Inf":              series(Neumann{LG: inf, Terms: 3}),
		"TTSA.Neumann.MuG is 0":                series(Neumann{LG: 1}),
		"TTSA.Neumann.MuG is 2":                series(Neumann{LG: 1, MuG: 2, Terms: 3}),
		"TTSA.Neumann.Terms is -3":             series(Neumann{LG: 1, MuG: 1, Terms: -3}),
		"TTSA.Neumann.Terms is 0, and the def": series(Neumann{LG: 1, MuG: 1e-9}),
		"StocBiO.Neumann.MuG is 0":             StocBiO{Alpha: a, Beta: a, Inner: 1, Neumann: Neumann{LG: 1, Terms: 3}},
		"StocBiO.Inner at step 0 is -2":        StocBiO{Alpha: a, Beta: a, Inner: -2, Neumann: n},
		"ALSET.Inner at step 0 is -2":          ALSET{Alpha: a, Beta: a, Inner: -2, Neumann: n},
		"SUSTAIN.TauX at step 0 is 1.5":        SUSTAIN{Alpha: a, Beta: a, TauX: c(1.5), Neumann: n},
		"SUSTAIN.TauY at step 0 is -1":         SUSTAIN{Alpha: a, Beta: a, TauY: c(-1), Neumann: n},
		"MRBO.Neumann.LG is 0":                 MRBO{Alpha: a, Beta: a},
		"MSTSA.Tau at step 0 is NaN":           MSTSA{Alpha: a, Beta: a, Tau: c(nan), Neumann: n},
		"MRBO.TauX at step 0 is 2":             MRBO{Alpha: a, Beta: a, TauX: c(2), Neumann: n},
		"VRBO.Period is -1":                    VRBO{Alpha: a, Beta: a, Period: -1, Neumann: n},
		"VRBO.Inner is -1":                     VRBO{Alpha: a, Beta: a, Inner: -1, Neumann: n},
		"VRBO.LargeBatch is -7":                VRBO{Alpha: a, Beta: a, LargeBatch: -7, Neumann: n},
		"VRBO.Neumann.LG is -1":                VRBO{Alpha: a, Beta: a, Neumann: Neumann{LG: -1}},
		"SUSTAIN.Beta at step 0 is +Inf":       SUSTAIN{Alpha: a, Beta: c(inf), Neumann: n},
		"SABA.Gamma at step 0 is -1":           SABA{Alpha: a, Beta: a, Gamma: c(-1)},
		"MASOBA.Theta at step 0 is 2":          MASOBA{Alpha: a, Beta: a, Theta: c(2)},
		"SRBA.Period is -1":                    SRBA{Alpha: a, Beta: a, Period: -1},
		"SRBA.Large is -7":                     SRBA{Alpha: a, Beta: a, Large: -7},
		"SPABA.Share is 1.5":                   SPABA{Alpha: a, Beta: a, Share: 1.5},
		"SPABA.Large is -7":                    SPABA{Alpha: a, Beta: a, Large: -7},
		"SPABA.Radius is -1":                   SPABA{Alpha: a, Beta: a, Radius: -1},
		"FSLA.Eta at step 0 is 2":              FSLA{Alpha: a, Beta: a, Eta: c(2)},
		"AmIGO.Inner is -1":                    AmIGO{Alpha: a, Beta: a, Inner: -1},
		"F2SA.Inner is -1":                     F2SA{Alpha: a, Beta: a, Inner: -1},
		"F2SAp.Nu is -1":                       F2SAp{Alpha: a, Beta: a, Nu: -1},
		"BOME.Eta is +Inf":                     BOME{Alpha: a, Beta: a, Eta: inf},
		"STFBO.C is NaN":                       STFBO{C: nan},
		"HOAG.Share is -1":                     HOAG{Share: -1},
		"HOAG: bilevel: bad option: Options.M": HOAG{Memory: -1},
		"STABLECG.Window is -1":                STABLECG{Alpha: a, Beta: a, Window: -1},
		"RSVRB.Tau at step 0 is 2":             RSVRB{Alpha: a, Beta: a, MuG: 1, Tau: c(2)},
		"RSVRB.InitBatch is -2":                RSVRB{Alpha: a, Beta: a, MuG: 1, InitBatch: -2},
		"bad option: RSVRB.MuG is 0":           RSVRB{Alpha: a, Beta: a},
		"BiAdam.Eta at step 0 is 1.5":          BiAdam{Alpha: a, Beta: a, Eta: c(1.5), Neumann: n},
		"BiAdam.Decay is 1":                    BiAdam{Alpha: a, Beta: a, Decay: 1, Neumann: n},
		"BiAdam.Neumann.LG is 0":               BiAdam{Alpha: a, Beta: a},
		"VRBiAdam.TauX at step 0 is -1":        VRBiAdam{Alpha: a, Beta: a, TauX: c(-1), Neumann: n},
		"VRBiAdam.Rho is -1":                   VRBiAdam{Alpha: a, Beta: a, Rho: -1, Neumann: n},
	} {
		_, err := bilevel.New(newWavy(0), m, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
	for want, p := range map[string]bilevel.Problem{
		"the stream of ξ is unbounded": sized{newProducts(0), 0, 7}, "the stream of φ is unbounded": sized{newProducts(0), 7, 0},
		"9223372036854775808 samples": sized{newProducts(0), 1 << 63, 7},
	} {
		_, err := bilevel.New(p, SABA{Alpha: a, Beta: a}, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}

	// A schedule that leaves its range later is refused at that step.
	at := func(v float64) bilevel.Schedule { return turn{K: 4, V: v} }
	for want, m := range map[string]bilevel.Method{
		"TTSA: step sizes at step 4 are α = NaN":               TTSA{Alpha: late, Beta: a, Neumann: n},
		"ALSET: step sizes at step 4 are α = 0, β = N":         ALSET{Alpha: a, Beta: late, Inner: 1, Neumann: n},
		"BSA: number of inner steps at step 4 is NaN":          inner(late),
		"BSA: number of inner steps at step 4 is 0":            inner(at(0)),
		"BSA: number of inner steps at step 4 is 1.073741825e": inner(at(1<<30 + 0.5)),
		"MRBO: step sizes at step 4 are α = 0, β = 0, τ = NaN": MRBO{Alpha: a, Beta: a, TauX: late, Neumann: n},
		"SUSTAIN: step sizes at step 4":                        SUSTAIN{Alpha: a, Beta: a, TauY: late, Neumann: n},
		"RSVRB: step sizes at step 4":                          RSVRB{Alpha: a, Beta: a, Tau: late, MuG: 1},
		"BiAdam: Eta at step 4 is 1.5":                         BiAdam{Alpha: a, Beta: a, Eta: at(1.5), Neumann: n},
		"BiAdam: TauY at step 4 is 2":                          BiAdam{Alpha: a, Beta: a, TauY: at(2), Neumann: n},
		"VR-BiAdam: TauX at step 4 is NaN":                     VRBiAdam{Alpha: a, Beta: a, TauX: late, Neumann: n},
		"MSTSA: step sizes at step 4 are α = 0, β = 0, τ = 1.": MSTSA{Alpha: a, Beta: a, Tau: at(1.5), Neumann: n},
		"MSTSA: step sizes at step 4 are α = 0, β = 0, τ = -1": MSTSA{Alpha: a, Beta: a, Tau: at(-1), Neumann: n},
		"SOBA: Gamma at step 4 is -1":                          SOBA{Alpha: a, Beta: a, Gamma: at(-1)},
		"AmIGO: Gamma at step 4 is +Inf":                       AmIGO{Alpha: a, Beta: a, Gamma: at(inf)},
		"BOME: Gamma at step 4 is NaN":                         BOME{Alpha: a, Beta: a, Gamma: late},
		"MA-SOBA: Theta at step 4 is 2":                        MASOBA{Alpha: a, Beta: a, Theta: at(2)},
		"FSLA: Eta at step 4 is 2":                             FSLA{Alpha: a, Beta: a, Eta: at(2)},
		"F2SA: Lambda at step 4 is 0":                          F2SA{Alpha: a, Beta: a, Lambda: at(0)},
		"STABLE-CG: Tau at step 4 is 2":                        STABLECG{Alpha: a, Beta: a, Tau: at(2)},
	} {
		s := start(t, newWavy(0), m, bilevel.Options{})
		steps(t, s, 4)
		err := s.Step()
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
}

// The bounds on the number of inner steps are allowed; the largest ends at the first oracle call.
func TestInnerBounds(t *testing.T) {
	a, n := bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7}
	s := start(t, newWavy(0), BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1e-300), Neumann: n}, bilevel.Options{})
	require.NoError(t, s.Step())
	assert.Equal(t, uint64(1), s.Counts().GradG)

	stop := errors.New("enough")
	p := &faulty{Problem: newWavy(0), Quantity: "g_y", Fault: func([]float64) error { return stop }}
	s = start(t, p, BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1 << 30), Neumann: n}, bilevel.Options{})
	assert.ErrorIs(t, s.Step(), stop)
}

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
