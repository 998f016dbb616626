package race

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bilevel"
)

// paperSteps is the grid of section 4 of the STABLE paper, for α and for β.
var paperSteps = []float64{1, 0.5, 0.1, 0.05, 0.01}

// setting is one choice of step sizes.
type setting struct {
	Alpha, Beta float64
	Falling     bool // α and β fall in the order of the method's own theory; otherwise they are constant
	Variant     int  // 0 or 1: see entrant.variants
}

// entrant is a method with the settings that it may choose from.
type entrant struct {
	name     string
	orders   [2]float64 // exponents of k in α and β where they fall
	variants [2]string  // what Setting.Variant means
	method   func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method
	untuned  bool // takes its defaults, no setting at all
}

// grid is the list of settings: 25 pairs of the paper's steps, constant and falling, in both
// variants. It is of the same size for all.
func (e *entrant) grid() []setting {
	if e.untuned {
		return []setting{{}}
	}
	var g []setting
	for _, variant := range []int{0, 1} {
		for _, falling := range []bool{false, true} {
			for _, a := range paperSteps {
				for _, b := range paperSteps {
					g = append(g, setting{a, b, falling, variant})
				}
			}
		}
	}
	return g
}

// make returns the method with a setting.
func (e *entrant) make(a *arena, s setting) bilevel.Method {
	step := func(c, order float64) bilevel.Schedule {
		if s.Falling {
			return bilevel.Power{C: c, P: order}
		}
		return bilevel.Constant(c)
	}
	return e.method(a, s, step(s.Alpha*a.longer(), e.orders[0]), step(s.Beta, e.orders[1]))
}

// describe says what a setting is, and whether it lies at an edge of the grid.
func (e *entrant) describe(a *arena, s setting) (text, edge string) {
	if e.untuned {
		return "defaults", ""
	}
	order := func(c, p float64) string {
		if s.Falling && p > 0 {
			return fmt.Sprintf("%g/(k+1)^%.2g", c, p)
		}
		return fmt.Sprintf("%g", c)
	}
	text = fmt.Sprintf("α = %s, β = %s, %s", order(s.Alpha*a.longer(), e.orders[0]), order(s.Beta, e.orders[1]), e.variants[s.Variant])
	outer := func(v float64) bool { return v == slices.Max(paperSteps) || v == slices.Min(paperSteps) }
	if outer(s.Alpha) {
		edge += "α"
	}
	if outer(s.Beta) {
		edge += "β"
	}
	return text, edge
}

// neumannTerms are the two lengths of the Neumann series to choose from, where a method uses one.
var neumannTerms = [2]int{10, 40}

// lineup returns the entrants of the given names, which commas separate, or all of them; see
// entrantNames.
func lineup(names string) ([]*entrant, error) {
	if names == "all" {
		return entrants, nil
	}
	var list []*entrant
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(entrants, func(e *entrant) bool { return strings.EqualFold(e.name, strings.TrimSpace(name)) })
		if i < 0 {
			return nil, fmt.Errorf("%w: no method is called %q; there are %s", kit.ErrUsage, name, strings.Join(entrantNames(), ", "))
		}
		list = append(list, entrants[i])
	}
	return list, nil
}

func entrantNames() []string {
	var names []string
	for _, e := range entrants {
		names = append(names, e.name)
	}
	return names
}

// entrants are all methods. "STABLE" is the module's default, untuned; "STABLE-paper" is the
// paper's method alone, with its bound C_gxy, which the problem tells; "STABLE-guarded" has this
// module's safeguards, too.
var entrants = []*entrant{
	{name: "STABLE", untuned: true, method: func(a *arena, _ setting, _, _ bilevel.Schedule) bilevel.Method {
		return bilevel.STABLE{MuG: a.muG, CGxy: a.cGxy}
	}},
	stableEntrant("STABLE-paper", plainMethod),
	stableEntrant("STABLE-guarded", guarded),
	neumannEntrant("BSA", 0.5, 1),
	neumannEntrant("TTSA", 0.6, 0.4),
	neumannEntrant("stocBiO", 0, 0),
	neumannEntrant("ALSET", 0.5, 0.5),
	neumannEntrant("SUSTAIN", 1./3, 1./3),
	neumannEntrant("MSTSA", 1./3, 1./3),
	neumannEntrant("MRBO", 1./3, 1./3),
	neumannEntrant("VRBO", 0, 0),
	{
		name: "RSVRB", orders: [2]float64{1. / 3, 1. / 3}, variants: [2]string{"τ = (k+1)^(−2/3)", "τ = 0.1"},
		method: func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			tau := []bilevel.Schedule{nil, bilevel.Constant(0.1)}
			return bilevel.RSVRB{Alpha: alpha, Beta: beta, Tau: tau[s.Variant], MuG: a.muG, CGxy: a.cGxy}
		},
	},
	neumannEntrant("BiAdam", 0.5, 0.5),
	neumannEntrant("VR-BiAdam", 1./3, 1./3),
	{
		name: "SOBA", orders: [2]float64{0.5, 0.5}, variants: [2]string{"γ = β", "γ = β/5"},
		method: func(_ *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			return bilevel.SOBA{Alpha: alpha, Beta: beta, Gamma: slower(beta, s.Variant)}
		},
	},
	{
		name: "SABA", orders: [2]float64{0.5, 0.5}, variants: [2]string{"γ = β", "γ = β/5"},
		method: func(_ *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			return bilevel.SABA{Alpha: alpha, Beta: beta, Gamma: slower(beta, s.Variant)}
		},
	},
}

// slower is a schedule (variant 0) or a fifth of it (variant 1).
func slower(s bilevel.Schedule, variant int) bilevel.Schedule {
	if variant == 0 {
		return s
	}
	switch s := s.(type) {
	case bilevel.Constant:
		return s / 5
	case bilevel.Power:
		s.C /= 5
		return s
	}
	panic("bench: no fifth of this schedule")
}

// What is taken from STABLE's safeguards, and its first batch, by what survive -ablate compares.
// The paper bounds H_xy by C_gxy; its value is ours.
func plainMethod(m *bilevel.STABLE)  { m.Plain, m.InitBatch = true, 1 }
func unboundedH(m *bilevel.STABLE)   { m.Plain, m.CGxy, m.InitBatch = true, math.Inf(1), 1 }
func withoutTrust(m *bilevel.STABLE) { m.Trust = math.Inf(1) }
func guarded(*bilevel.STABLE)        {}

// ablations are the steps from less than the paper's method, to it, to the guarded one.
var ablations = []*entrant{
	stableEntrant("paper without C_gxy", unboundedH),
	stableEntrant("paper", plainMethod),
	stableEntrant("+ bound on β, H⁰ of dy samples", withoutTrust),
	stableEntrant("+ trust region", guarded),
}

// stableEntrant is STABLE with step sizes of the grid, after change has had its way with it.
func stableEntrant(name string, change func(m *bilevel.STABLE)) *entrant {
	return &entrant{
		name: name, orders: [2]float64{0.5, 0.5}, variants: [2]string{"τ = 1/√(k+1)", "τ = 0.1"},
		method: func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			tau := []bilevel.Schedule{bilevel.Power{C: 1, P: 0.5}, bilevel.Constant(0.1)}
			m := bilevel.STABLE{Alpha: alpha, Beta: beta, Tau: tau[s.Variant], MuG: a.muG, CGxy: a.cGxy}
			change(&m)
			return m
		},
	}
}

// neumannEntrant is a method of the registry that inverts g_yy by a Neumann series.
func neumannEntrant(name string, alphaOrder, betaOrder float64) *entrant {
	return &entrant{
		name: name, orders: [2]float64{alphaOrder, betaOrder},
		variants: [2]string{fmt.Sprintf("N = %d", neumannTerms[0]), fmt.Sprintf("N = %d", neumannTerms[1])},
		method: func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			m, err := bilevel.Tune(name, bilevel.Tuning{Alpha: alpha, Beta: beta, MuG: a.muG, LG: a.lG, Terms: neumannTerms[s.Variant]})
			if err != nil {
				panic(err) // a name that the registry does not have
			}
			return m
		},
	}
}
