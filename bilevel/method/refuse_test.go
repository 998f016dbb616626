package method

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/compose"
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
					s, err := bilevel.New(turns(e.problem(0.1).Wavy, quantity, bad, after, once), m,
						bilevel.Options{Seed: 1})
					require.NoError(t, err)
					for err == nil && s.K() < 60 {
						err = s.Step()
					}
					var d *bilevel.DivergedError
					require.ErrorAs(t, err, &d, "%s: %s", m.Name(), quantity)
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
	return faultyIdentity{f}
}

type faultyIdentity struct{ *faulty }

func (faultyIdentity) Composition() compose.Composition { return nil }

func TestMethodsRefuse(t *testing.T) {
	a, n := bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7}
	for want, m := range map[string]bilevel.Method{
		"BSA.Alpha is nil":                     BSA{Beta: a, Neumann: n},
		"BSA.Beta is nil":                      BSA{Alpha: a, Neumann: n},
		"BSA.Inner at step 0 is -1":            BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(-1), Neumann: n},
		"BSA.Inner at step 0 is NaN":           BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(math.NaN()), Neumann: n},
		"BSA.Inner at step 0 is 0":             BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(0), Neumann: n},
		"BSA.Inner at step 0 is 1.073741825e":  BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1<<30 + 1), Neumann: n},
		"TTSA.Alpha at step 0 is -0.1":         TTSA{Alpha: -a, Beta: a, Neumann: n},
		"TTSA.Neumann.LG is 0":                 TTSA{Alpha: a, Beta: a},
		"TTSA.Neumann.LG is +Inf":              TTSA{Alpha: a, Beta: a, Neumann: Neumann{LG: math.Inf(1), Terms: 3}},
		"TTSA.Neumann.MuG is 0":                TTSA{Alpha: a, Beta: a, Neumann: Neumann{LG: 1}},
		"TTSA.Neumann.MuG is 2":                TTSA{Alpha: a, Beta: a, Neumann: Neumann{LG: 1, MuG: 2, Terms: 3}},
		"TTSA.Neumann.Terms is -3":             TTSA{Alpha: a, Beta: a, Neumann: Neumann{LG: 1, MuG: 1, Terms: -3}},
		"TTSA.Neumann.Terms is 0, and the def": TTSA{Alpha: a, Beta: a, Neumann: Neumann{LG: 1, MuG: 1e-9}},
		"StocBiO.Neumann.MuG is 0":             StocBiO{Alpha: a, Beta: a, Inner: 1, Neumann: Neumann{LG: 1, Terms: 3}},
		"StocBiO.Inner at step 0 is -2":        StocBiO{Alpha: a, Beta: a, Inner: -2, Neumann: n},
		"ALSET.Inner at step 0 is -2":          ALSET{Alpha: a, Beta: a, Inner: -2, Neumann: n},
		"SUSTAIN.TauX at step 0 is 1.5":        SUSTAIN{Alpha: a, Beta: a, TauX: bilevel.Constant(1.5), Neumann: n},
		"SUSTAIN.TauY at step 0 is -1":         SUSTAIN{Alpha: a, Beta: a, TauY: bilevel.Constant(-1), Neumann: n},
		"MSTSA.Tau at step 0 is NaN":           MSTSA{Alpha: a, Beta: a, Tau: bilevel.Constant(math.NaN()), Neumann: n},
		"MRBO.Beta is nil":                     MRBO{Alpha: a, Neumann: n},
		"MRBO.TauX at step 0 is 2":             MRBO{Alpha: a, Beta: a, TauX: bilevel.Constant(2), Neumann: n},
		"VRBO.Period is -1":                    VRBO{Alpha: a, Beta: a, Period: -1, Neumann: n},
		"VRBO.Inner is -1":                     VRBO{Alpha: a, Beta: a, Inner: -1, Neumann: n},
		"VRBO.LargeBatch is -7":                VRBO{Alpha: a, Beta: a, LargeBatch: -7, Neumann: n},
		"VRBO.Alpha is nil":                    VRBO{Beta: a, Neumann: n},
		"VRBO.Neumann.LG is -1":                VRBO{Alpha: a, Beta: a, Neumann: Neumann{LG: -1}},
		"SUSTAIN.Beta at step 0 is +Inf":       SUSTAIN{Alpha: a, Beta: bilevel.Constant(math.Inf(1)), Neumann: n},
		"SOBA.Alpha is nil":                    SOBA{Beta: a},
		"SOBA.Beta is nil":                     SOBA{Alpha: a, Gamma: a},
		"SABA.Gamma at step 0 is -1":           SABA{Alpha: a, Beta: a, Gamma: bilevel.Constant(-1)},
		"RSVRB.Alpha is nil":                   RSVRB{Beta: a, MuG: 1},
		"RSVRB.Tau at step 0 is 2":             RSVRB{Alpha: a, Beta: a, MuG: 1, Tau: bilevel.Constant(2)},
		"RSVRB.InitBatch is -2":                RSVRB{Alpha: a, Beta: a, MuG: 1, InitBatch: -2},
		"bad option: RSVRB.MuG is 0":           RSVRB{Alpha: a, Beta: a},
		"BiAdam.Alpha is nil":                  BiAdam{Beta: a, Neumann: n},
		"BiAdam.Eta at step 0 is 1.5":          BiAdam{Alpha: a, Beta: a, Eta: bilevel.Constant(1.5), Neumann: n},
		"BiAdam.Decay is 1":                    BiAdam{Alpha: a, Beta: a, Decay: 1, Neumann: n},
		"BiAdam.Neumann.LG is 0":               BiAdam{Alpha: a, Beta: a},
		"VRBiAdam.TauX at step 0 is -1":        VRBiAdam{Alpha: a, Beta: a, TauX: bilevel.Constant(-1), Neumann: n},
		"VRBiAdam.Rho is -1":                   VRBiAdam{Alpha: a, Beta: a, Rho: -1, Neumann: n},
	} {
		_, err := bilevel.New(newWavy(0), m, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}

	// A schedule that leaves its range later is refused at that step.
	for want, m := range map[string]bilevel.Method{
		"TTSA: step sizes at step 4 are α = NaN":               TTSA{Alpha: late, Beta: a, Neumann: n},
		"ALSET: step sizes at step 4 are α = 0, β = N":         ALSET{Alpha: a, Beta: late, Inner: 1, Neumann: n},
		"BSA: number of inner steps at step 4 is NaN":          BSA{Alpha: a, Beta: a, Inner: late, Neumann: n},
		"MRBO: step sizes at step 4 are α = 0, β = 0, τ = NaN": MRBO{Alpha: a, Beta: a, TauX: late, Neumann: n},
		"SUSTAIN: step sizes at step 4":                        SUSTAIN{Alpha: a, Beta: a, TauY: late, Neumann: n},
		"VRBO: step sizes at step 4":                           VRBO{Alpha: a, Beta: late, Neumann: n},
		"SOBA: Gamma at step 4 is NaN":                         SOBA{Alpha: a, Beta: a, Gamma: late},
		"SABA: step sizes at step 4 are α = NaN":               SABA{Alpha: late, Beta: a, Gamma: a},
		"RSVRB: step sizes at step 4":                          RSVRB{Alpha: a, Beta: a, Tau: late, MuG: 1},
		"BiAdam: Eta at step 4 is NaN":                         BiAdam{Alpha: a, Beta: a, Eta: late, Neumann: n},
		"VR-BiAdam: TauX at step 4 is NaN":                     VRBiAdam{Alpha: a, Beta: a, TauX: late, Neumann: n},
		"VR-BiAdam: step sizes at step 4 are α = NaN":          VRBiAdam{Alpha: late, Beta: a, Neumann: n},
		"TTSA: step sizes at step 4 are α = -1":                TTSA{Alpha: turn{K: 4, V: -1}, Beta: a, Neumann: n},
		"TTSA: step sizes at step 4 are α = 0, β = -1":         TTSA{Alpha: a, Beta: turn{K: 4, V: -1}, Neumann: n},
		"TTSA: step sizes at step 4 are α = +Inf": TTSA{Alpha: turn{K: 4, V: math.Inf(1)}, Beta: a,
			Neumann: n},
		"TTSA: step sizes at step 4 are α = 0, β = +Inf": TTSA{Alpha: a, Beta: turn{K: 4, V: math.Inf(1)},
			Neumann: n},
		"BSA: number of inner steps at step 4 is 0": BSA{Alpha: a, Beta: a, Inner: turn{K: 4, V: 0},
			Neumann: n},
		"BSA: number of inner steps at step 4 is 1.073741825e": BSA{Alpha: a, Beta: a,
			Inner: turn{K: 4, V: 1<<30 + 0.5}, Neumann: n},
		"MSTSA: step sizes at step 4 are α = 0, β = 0, τ = 1.": MSTSA{Alpha: a, Beta: a, Tau: turn{K: 4, V: 1.5},
			Neumann: n},
		"MSTSA: step sizes at step 4 are α = 0, β = 0, τ = -1": MSTSA{Alpha: a, Beta: a, Tau: turn{K: 4, V: -1},
			Neumann: n},
		"SOBA: Gamma at step 4 is -1": SOBA{Alpha: a, Beta: a, Gamma: turn{K: 4, V: -1}},
		"SOBA: Gamma at step 4 is +Inf": SOBA{Alpha: a, Beta: a,
			Gamma: turn{K: 4, V: math.Inf(1)}},
		"BiAdam: Eta at step 4 is 1.5": BiAdam{Alpha: a, Beta: a, Eta: turn{K: 4, V: 1.5},
			Neumann: n},
		"BiAdam: TauY at step 4 is 2": BiAdam{Alpha: a, Beta: a, TauY: turn{K: 4, V: 2},
			Neumann: n},
	} {
		s, err := bilevel.New(newWavy(0), m, bilevel.Options{})
		require.NoError(t, err)
		for range 4 {
			require.NoError(t, s.Step())
		}
		err = s.Step()
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// The bounds on the number of inner steps are allowed; the largest ends at the first oracle call.
func TestInnerBounds(t *testing.T) {
	a, n := bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7}
	s, err := bilevel.New(newWavy(0), BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1e-300), Neumann: n},
		bilevel.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Step())
	assert.Equal(t, uint64(1), s.Counts().GradG)

	stop := errors.New("enough")
	s, err = bilevel.New(&faulty{Problem: newWavy(0), Quantity: "g_y", Fault: func([]float64) error { return stop }}, BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1 << 30), Neumann: n}, bilevel.Options{})
	require.NoError(t, err)
	assert.ErrorIs(t, s.Step(), stop)
}
