package race

import (
	"cmp"
	"context"
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

type entrant struct{ method.Entry }

func (e *entrant) tuned() bool { return e.Needs.Alpha }

// rival says whether untuned methods are measured against it. HOAG reads all rows in every step.
func (e *entrant) rival() bool   { return e.tuned() || e.Name == method.HOAG{}.Name() }
func (e *entrant) untuned() bool { return !e.rival() }

// grid is all pairs of the paper's steps, constant and falling, in both variants if there are any.
func (e *entrant) grid() (g []setting) {
	if !e.tuned() {
		return []setting{{}}
	}
	for variant, v := range e.Variants {
		if variant > 0 && v.Name == "" {
			break
		}
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

func (e *entrant) steps(p *problem, s setting) (alpha, beta bilevel.Power) {
	alpha.C, beta.C = p.units.of(e)
	alpha.C, beta.C = s.Alpha*alpha.C, s.Beta*beta.C
	if s.Falling {
		alpha.P, beta.P = e.Orders[0], e.Orders[1]
	}
	return alpha, beta
}

func (e *entrant) make(p *problem, s setting) bilevel.Method {
	t := method.Tuning{MuG: p.muG, LG: p.lG, CGxy: p.cGxy}
	if e.tuned() {
		t.Alpha, t.Beta = e.steps(p, s)
		e.Variants[s.Variant].Set(&t)
	}
	return e.New(t)
}

func (e *entrant) describe(p *problem, s setting) (text, edge string) {
	if !e.tuned() {
		return "defaults", ""
	}
	order := func(s bilevel.Power) string {
		if s.P > 0 {
			return fmt.Sprintf("%.3g/(k+1)^%.2g", s.C, s.P)
		}
		return fmt.Sprintf("%.3g", s.C)
	}
	alpha, beta := e.steps(p, s)
	text = fmt.Sprintf("α = %s, β = %s", order(alpha), order(beta))
	if v := e.Variants[s.Variant].Name; v != "" {
		text += ", " + v
	}
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

func stable(name string, change func(m *bilevel.STABLE)) *entrant {
	e := kit.Must(method.Lookup(bilevel.STABLE{}.Name()))
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

func entrants() (list []*entrant) {
	for _, e := range method.Registry() {
		if e.Base == "" {
			list = append(list, &entrant{e})
		}
	}
	return slices.Insert(list, 1, stable("STABLE-paper", plain), stable("STABLE-guarded", guarded))
}

func names(list []*entrant) []string { return kit.Map(list, func(e *entrant) string { return e.Name }) }

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
		if slices.ContainsFunc(list, func(e *entrant) bool { return strings.EqualFold(e.Name, name) }) {
			continue
		}
		if i := slices.IndexFunc(all, func(e *entrant) bool { return strings.EqualFold(e.Name, name) }); i >= 0 {
			list = append(list, all[i])
		} else if e, err := method.Lookup(name); err == nil {
			list = append(list, &entrant{e})
		} else {
			return nil, fmt.Errorf("%w: no method is called %q; there are %s", kit.ErrUsage, name, strings.Join(names(all), ", "))
		}
	}
	return list, nil
}

// keeps are how many settings go on to the second budget, the third, … (successive halving:
// Jamieson & Talwalkar, AISTATS 2016); of methods for finite sums, which have hardly begun, all.
var keeps = []int{30, 10, 5}

// outOfRace is the factor on the best rival's error beyond which one is out.
const outOfRace = 10

func finalists(n int) int { return max((n+4)/5, 5) }

// tries is how many settings may follow each other where trials fail.
const tries = 5

type selection struct {
	*problem
	entrant      *entrant
	rank         [][][]int // for each budget and output, the first one first: see fallBack
	least        []float64 // in the choice, by any output
	going        []int     // of the next round, ascending
	finals       []int     // make all runs of this round
	in           int       // budgets before it is out
	tried, blown int       // in the first round; a run failed
	spent        uint64    // samples
}

func (s *selection) chooses(b int) bool { return s.entrant.rival() && s.in > b }

func (s *selection) longest() map[int]int {
	upto := map[int]int{}
	for b, outputs := range s.rank[:s.in] {
		for _, settings := range outputs {
			upto[settings[0]] = b
		}
	}
	return upto
}

func (t *tournament) begin() {
	t.selections, t.done = nil, map[string]trial{}
	for _, p := range t.problems {
		for _, e := range t.entrants {
			if !e.takes(p) {
				continue
			}
			s := &selection{problem: p, entrant: e, in: len(t.budgets), least: make([]float64, len(t.budgets))}
			for range t.budgets {
				s.rank = append(s.rank, slices.Repeat([][]int{{0}}, len(t.outputs())))
			}
			for i := range e.grid() {
				s.going = append(s.going, i)
			}
			t.selections = append(t.selections, s)
		}
	}
}

func (t *tournament) choiceKey(s *selection, setting, b, i int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d/%d", s.name, s.entrant.Name, setting, t.budgets[b], i)
}

// tuning lists the first runs of a round, or the finalists' others; a score is a mean over 3 marks.
func (t *tournament) tuning(b int, final bool) (list []kit.Task[trial]) {
	n := t.budgets[b]
	for _, s := range t.selections {
		settings, first, last := s.going, 0, 1
		if final {
			settings, first, last = s.finals, 1, t.tune
		}
		for _, setting := range settings {
			for i := first; i < last && s.chooses(b); i++ {
				list = append(list, t.task(t.choiceKey(s, setting, b, i), s, setting,
					t.Seed+tuneSeeds+uint64(i), []uint64{n * 8 / 10, n * 9 / 10, n}))
			}
		}
	}
	return list
}

// ranked returns, for each output, the settings that failed in no run of a round, or one that did:
// finalists first, by the geometric mean of the errors. least is over all outputs.
func (t *tournament) ranked(s *selection, b int) (ranks [][]int, least float64) {
	least = math.Inf(1)
	for o := range t.outputs() {
		score, behind, clean := map[int]float64{}, map[int]int{}, 0
		for _, setting := range s.going {
			runs := 1
			if slices.Contains(s.finals, setting) {
				runs = t.tune
			}
			for i := range runs {
				v := t.done[t.choiceKey(s, setting, b, i)]
				e := (v.held(o, 0) + v.held(o, 1) + v.held(o, 2)) / 3
				if v.Reached < 3 {
					e = math.Inf(1)
				}
				score[setting] += math.Log(max(e, s.floor())) / float64(runs)
			}
			if !math.IsInf(score[setting], 1) {
				behind[setting] = -runs
				clean++
			}
		}
		rank := slices.Clone(s.going)
		slices.SortStableFunc(rank, func(i, j int) int {
			return cmp.Or(behind[i]-behind[j], cmp.Compare(score[i], score[j]))
		})
		ranks, least = append(ranks, rank[:max(clean, 1)]), min(least, math.Exp(score[rank[0]]))
	}
	return ranks, least
}

func inTurn(ranks [][]int, n int) (list []int) {
	for k := range ranks[0] {
		for _, rank := range ranks {
			if i := rank[k]; len(list) < n && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (t *tournament) final(b int) {
	for _, s := range t.selections {
		if s.finals = nil; t.ablate {
			s.finals = s.going
		} else if s.chooses(b) {
			ranks, _ := t.ranked(s, b)
			s.finals = inTurn(ranks, finalists(len(s.going)))
		}
	}
}

func (t *tournament) judge(b int) {
	best := map[*problem]float64{} // of 1/error of the rivals
	for _, s := range t.selections {
		if !s.chooses(b) {
			continue
		}
		ranks, least := t.ranked(s, b)
		if s.least[b] = least; b == 0 {
			s.tried, s.blown = len(s.going), len(s.going)-len(ranks[0])
			if math.IsInf(least, 1) {
				s.blown++
			}
		}
		for o, rank := range ranks {
			s.rank[b][o] = rank[:min(tries, len(rank))]
		}
		s.spent += t.budgets[b] * uint64(len(s.going)+len(s.finals)*(t.tune-1))
		if !s.entrant.Needs.FiniteSums {
			s.going = inTurn(ranks, keeps[min(b, len(keeps)-1)])
		}
		best[s.problem] = max(best[s.problem], 1/least)
	}
	for _, s := range t.selections {
		if b > 0 && s.chooses(b) && s.least[b] > outOfRace/best[s.problem] {
			s.in = b
		}
	}
}

func (t *tournament) choose(ctx context.Context, c *kit.Campaign[trial], out kit.Terminal) (err error) {
	for b, n := range t.budgets {
		what := fmt.Sprintf("choosing step sizes, to %d samples", n)
		if t.done, err = c.Complete(ctx, t.tuning(b, false), what, out); err != nil {
			return err
		}
		t.final(b)
		if t.done, err = c.Complete(ctx, t.tuning(b, true), what+", the best", out); err != nil {
			return err
		}
		t.judge(b)
	}
	return nil
}
