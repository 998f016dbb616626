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

// paperSteps is the grid of section 4 of the STABLE paper, for α and for β, the largest first.
var paperSteps = []float64{1, 0.5, 0.1, 0.05, 0.01}

type setting struct {
	Alpha, Beta float64
	Falling     bool // in the order of the method's theory
	Variant     int
}

// entrant is a method of the registry, or a variant of STABLE.
type entrant struct{ method.Entry }

func (e *entrant) tuned() bool { return e.Needs.Alpha }

// rival says whether untuned methods are measured against it: HOAG has no setting, but takes all
// rows in every step.
func (e *entrant) rival() bool   { return e.tuned() || e.Name == method.HOAG{}.Name() }
func (e *entrant) untuned() bool { return !e.rival() }

// grid is all pairs of the paper's steps, constant and falling, in both variants.
func (e *entrant) grid() (g []setting) {
	if !e.tuned() {
		return []setting{{}}
	}
	for variant := range 2 {
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

func (e *entrant) make(p *problem, s setting) bilevel.Method {
	t := method.Tuning{MuG: p.muG, LG: p.lG, CGxy: p.cGxy}
	if e.tuned() {
		alpha, beta := p.units.of(e)
		t.Alpha, t.Beta = bilevel.Constant(s.Alpha*alpha), bilevel.Constant(s.Beta*beta)
		if s.Falling {
			t.Alpha, t.Beta = bilevel.Power{C: s.Alpha * alpha, P: e.Orders[0]}, bilevel.Power{C: s.Beta * beta, P: e.Orders[1]}
		}
		e.Variants[s.Variant].Set(&t)
	}
	return e.New(t)
}

func (e *entrant) describe(p *problem, s setting) (text, edge string) {
	if !e.tuned() {
		return "defaults", ""
	}
	order := func(c, p float64) string {
		if s.Falling && p > 0 {
			return fmt.Sprintf("%.3g/(k+1)^%.2g", c, p)
		}
		return fmt.Sprintf("%.3g", c)
	}
	alpha, beta := p.units.of(e)
	text = fmt.Sprintf("α = %s, β = %s, %s",
		order(s.Alpha*alpha, e.Orders[0]), order(s.Beta*beta, e.Orders[1]), e.Variants[s.Variant].Name)
	for i, v := range []float64{s.Alpha, s.Beta} {
		if v == paperSteps[0] || v == kit.Last(paperSteps) {
			edge += []string{"α", "β"}[i]
		}
	}
	return text, edge
}

func (e *entrant) takes(p *problem) bool {
	_, composition := p.fresh().(interface{ Composition() compose.Composition })
	_, bounded := p.set.(bilevel.BoundedSet)
	return (p.sum || !e.Needs.FiniteSums) && (composition || !e.Needs.Composition) && (bounded || !e.Needs.Bounds)
}

// stable is STABLE with a change and a grid of step sizes.
func stable(name string, change func(m *bilevel.STABLE)) *entrant {
	e := must(method.Lookup(bilevel.STABLE{}.Name()))
	adaptive := e.New
	e.Name, e.Needs.Alpha = name, true
	e.New = func(t method.Tuning) bilevel.Method {
		m := adaptive(t).(bilevel.STABLE)
		change(&m)
		return m
	}
	return &entrant{e}
}

// Variants without some safeguards, or with another first batch. The paper bounds H_xy by C_gxy.
func plain(m *bilevel.STABLE)        { m.Plain, m.InitBatch = true, 1 }
func unboundedH(m *bilevel.STABLE)   { m.Plain, m.CGxy, m.InitBatch = true, math.Inf(1), 1 }
func withoutTrust(m *bilevel.STABLE) { m.Trust = math.Inf(1) }
func guarded(*bilevel.STABLE)        {}

func ablations() []*entrant {
	return []*entrant{
		stable("paper without C_gxy", unboundedH), stable("paper", plain),
		stable("+ bound on β, H⁰ of dy samples", withoutTrust), stable("+ trust region", guarded),
	}
}

// entrants are the registry's methods but for variants of others.
func entrants() (list []*entrant) {
	for _, e := range method.Registry() {
		if e.Base == "" {
			list = append(list, &entrant{e})
		}
	}
	return slices.Insert(list, 1, stable("STABLE-paper", plain), stable("STABLE-guarded", guarded))
}

func names(list []*entrant) (names []string) {
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

// lineup returns the entrants of some names, or "all" or "untuned" ones. Variants enter by name only.
func lineup(with string) (list []*entrant, err error) {
	all := entrants()
	switch with {
	case "all":
		return all, nil
	case "untuned":
		return slices.DeleteFunc(all, (*entrant).rival), nil
	}
	for name := range strings.SplitSeq(with, ",") {
		name = strings.TrimSpace(name)
		if i := slices.IndexFunc(all, func(e *entrant) bool { return strings.EqualFold(e.Name, name) }); i >= 0 {
			list = append(list, all[i])
		} else if e, err := method.Lookup(name); err == nil {
			list = append(list, &entrant{e})
		} else {
			return nil, fmt.Errorf("%w: no method is called %q; there are %s",
				kit.ErrUsage, name, strings.Join(names(all), ", "))
		}
	}
	return list, nil
}
