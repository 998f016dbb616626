package race

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/bilevel/method"
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
	untuned  bool    // takes its defaults, no setting at all
	fixed    bool    // a rival that has one setting only
	lengths  [2]bool // α is, β is a length of a step, and not a factor of a gradient
	needs    method.Needs
}

// grid is the list of settings: 25 pairs of the paper's steps, constant and falling, in both
// variants. It is of the same size for all that have step sizes.
func (e *entrant) grid() []setting {
	if e.untuned || e.fixed {
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
	alpha, beta := a.units.of(e)
	return e.method(a, s, step(s.Alpha*alpha, e.orders[0]), step(s.Beta*beta, e.orders[1]))
}

// describe says what a setting is, and whether it lies at an edge of the grid.
func (e *entrant) describe(a *arena, s setting) (text, edge string) {
	if e.untuned || e.fixed {
		return "defaults", ""
	}
	order := func(c, p float64) string {
		if s.Falling && p > 0 {
			return fmt.Sprintf("%.3g/(k+1)^%.2g", c, p)
		}
		return fmt.Sprintf("%.3g", c)
	}
	alpha, beta := a.units.of(e)
	text = fmt.Sprintf("α = %s, β = %s, %s",
		order(s.Alpha*alpha, e.orders[0]), order(s.Beta*beta, e.orders[1]), e.variants[s.Variant])
	outer := func(v float64) bool { return v == slices.Max(paperSteps) || v == slices.Min(paperSteps) }
	if outer(s.Alpha) {
		edge += "α"
	}
	if outer(s.Beta) {
		edge += "β"
	}
	return text, edge
}

// lineup returns the entrants of the given names, which commas separate, or all of them; see
// entrantNames. Variants of the registry enter by name only.
func lineup(names string) ([]*entrant, error) {
	if names == "all" {
		return entrants(), nil
	}
	var list []*entrant
	for name := range strings.SplitSeq(names, ",") {
		e := find(strings.TrimSpace(name))
		if e == nil {
			return nil, fmt.Errorf("%w: no method is called %q; there are %s",
				kit.ErrUsage, name, strings.Join(entrantNames(), ", "))
		}
		list = append(list, e)
	}
	return list, nil
}

func find(name string) *entrant {
	for _, e := range entrants() {
		if strings.EqualFold(e.name, name) {
			return e
		}
	}
	if e, err := method.Lookup(name); err == nil && !e.Needs.Composition {
		return registered(e)
	}
	return nil
}

// takes says whether the method accepts a problem with its set.
func (e *entrant) takes(p bilevel.Problem, set bilevel.Set) bool {
	upper, lower := p.Streams()
	_, composition := p.(interface{ Composition() compose.Composition })
	_, bounded := set.(bilevel.BoundedSet)
	return (upper > 0 && lower > 0 || !e.needs.FiniteSums) && (composition || !e.needs.Composition) &&
		(bounded || set == nil || !e.needs.Bounds)
}

func entrantNames() []string {
	var names []string
	for _, e := range entrants() {
		names = append(names, e.name)
	}
	return names
}

// untunedNames are those of the methods that take no setting, separated by commas.
func untunedNames() string {
	var names []string
	for _, e := range entrants() {
		if e.untuned {
			names = append(names, e.name)
		}
	}
	return strings.Join(names, ",")
}

// entrants returns all methods of the registry that are no variants of others and take any problem;
// those whose step sizes have defaults enter untuned. Behind STABLE comes the paper's
// method alone, with its bound C_gxy, which the problem tells, as "STABLE-paper"; "STABLE-guarded"
// has this module's safeguards, too.
func entrants() (list []*entrant) {
	for _, e := range method.Registry() {
		if e.Base != "" || e.Needs.Composition {
			continue
		}
		list = append(list, registered(e))
		if e.Name == stableEntry().Name {
			list = append(list, stableEntrant("STABLE-paper", plainMethod), stableEntrant("STABLE-guarded", guarded))
		}
	}
	return list
}

// special are the methods of the registry for compositional problems alone.
func special() (list []*entrant) {
	for _, e := range method.Registry() {
		if e.Base == "" && e.Needs.Composition {
			list = append(list, registered(e))
		}
	}
	return list
}

// registered is an entry of the registry as an entrant. HOAG has no step sizes either, but with all
// rows in every step it is what the untuned methods for samples are measured against.
func registered(e method.Entry) *entrant {
	fixed := e.Name == method.HOAG{}.Name()
	return &entrant{
		name: e.Name, untuned: !e.Needs.Alpha && !fixed, fixed: fixed, orders: e.Orders,
		variants: [2]string{e.Variants[0].Name, e.Variants[1].Name},
		lengths:  e.Lengths, needs: e.Needs,
		method: func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			t := method.Tuning{MuG: a.muG, LG: a.lG, CGxy: a.cGxy}
			if e.Needs.Alpha {
				t.Alpha, t.Beta = alpha, beta
				e.Variants[s.Variant].Set(&t)
			}
			return e.New(t)
		},
	}
}

// The variants that survive -ablate compares: STABLE without some safeguards, or with another first
// batch. The paper bounds H_xy by C_gxy; the value is ours.
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

// stableEntry is STABLE's entry in the registry.
func stableEntry() method.Entry {
	e, err := method.Lookup(bilevel.STABLE{}.Name())
	if err != nil {
		panic(err)
	}
	return e
}

// stableEntrant returns STABLE with step sizes of the grid and the change applied.
func stableEntrant(name string, change func(m *bilevel.STABLE)) *entrant {
	e := stableEntry()
	return &entrant{
		name: name, orders: e.Orders, variants: [2]string{e.Variants[0].Name, e.Variants[1].Name},
		method: func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
			t := method.Tuning{Alpha: alpha, Beta: beta, MuG: a.muG, CGxy: a.cGxy}
			e.Variants[s.Variant].Set(&t)
			m := e.New(t).(bilevel.STABLE)
			change(&m)
			return m
		},
	}
}
