package race

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"stable/bench/kit"
)

// survivalists race in survive: two that are untuned first.
const survivalists = "SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA,HOAG"

func (t *tournament) survival(w io.Writer) error {
	errs := [][]string{append([]string{"mean error at the end", "μ_g", "diverged: paper", "guarded"}, names(t.entrants)...)}
	ratios := [][]string{{"better of TTSA, BSA over", "SAA-Newton", "STABLE", "at its evaluations: SAA-Newton", "STABLE"}}
	costs := [][]string{append([]string{"evaluations, µs a sample"}, names(t.entrants)...)}
	var ahead [2]int
	for _, p := range t.problems {
		curves := map[string]curve{}
		for _, c := range t.curvesOn(p) {
			curves[c.entrant.name] = c
		}
		line := []string{p.name, fmt.Sprintf("%.3g", p.muG)}
		for _, name := range []string{"STABLE-paper", "STABLE-guarded"} {
			line = append(line, fmt.Sprintf("%d of %d", curves[name].blown, curves[name].tried))
		}
		ratio, equal, cost := []string{p.name}, []string{}, []string{p.name}
		for _, e := range t.entrants {
			line = append(line, fmt.Sprintf("%.2e", curves[e.name].survived()))
			cost = append(cost, curves[e.name].perSample(float64(t.budgets[0])))
		}
		rival, other := curves["TTSA"], curves["BSA"]
		if cmp.Or(cmp.Compare(other.survived(), rival.survived()), cmp.Compare(other.end(), rival.end())) < 0 {
			rival = other
		}
		for i, e := range t.entrants[:2] {
			c := curves[e.name]
			over := rival.end() / c.survived()
			if over > 1 {
				ahead[i]++
			}
			ratio = append(ratio, fmt.Sprintf("%.3g", over))
			equal = append(equal, fmt.Sprintf("%.3g", rival.end()/c.within(c.evals, kit.Last(rival.evals))))
		}
		errs, ratios, costs = append(errs, line), append(ratios, append(ratio, equal...)), append(costs, cost)
	}
	if err := kit.FirstOf(kit.Table(w, errs), kit.Table(w, ratios), kit.Table(w, costs)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "SAA-Newton is ahead of the better of TTSA and BSA on %d of %d problems, "+
		"STABLE, adaptive, on %d; +Inf: a trial diverged, and where trials of both of these did, their last good "+
		"iterates count.\n", ahead[0], len(t.problems), ahead[1])
	return err
}

func (c curve) survived() float64 {
	if c.failed > 0 {
		return math.Inf(1)
	}
	return c.end()
}

// ablation prints how many settings diverged, and the median error at the end over all; a run that
// diverged counts with its last good iterate.
func (t *tournament) ablation(w io.Writer) error {
	lines := [][]string{append([]string{"diverged, median error over the settings"}, names(t.entrants)...)}
	total, all := map[*entrant]int{}, []string{fmt.Sprintf("all, of %d", len(t.problems)*len(t.entrants[0].grid()))}
	for i, s := range t.selections {
		var errs []float64
		for setting := range s.entrant.grid() {
			for i := range t.tune {
				errs = append(errs, t.done[t.choiceKey(s, setting, 0, i)].held(0, 2))
			}
		}
		if i%len(t.entrants) == 0 {
			lines = append(lines, []string{s.name})
		}
		median, _, _ := center(errs, true)
		lines[len(lines)-1] = append(lines[len(lines)-1], fmt.Sprintf("%d, %.2g", s.blown, median))
		total[s.entrant] += s.blown
	}
	for _, e := range t.entrants {
		all = append(all, fmt.Sprint(total[e]))
	}
	return kit.Table(w, append(lines, all))
}
