package race

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bench/plot"
)

// curve summarises the trials of a selection, at the marks.
type curve struct {
	*selection
	error, lo, hi  []float64 // mean, and mean ± standard deviation; or median and quartiles
	evals, seconds []float64 // mean or median; seconds: median
	failed         int       // trials that ended early; they count with their last good iterate
}

func (t *tournament) curvesOn(p *problem) (list []curve) {
	for _, s := range t.selections {
		if s.problem == p {
			list = append(list, t.curveOf(s))
		}
	}
	return list
}

func (t *tournament) curveOf(s *selection) curve {
	c := curve{selection: s}
	all := t.trialsOf(s, len(t.budgets)-1, 0)
	for i := range t.marks {
		var errs, evals, seconds []float64
		for _, v := range all {
			errs = append(errs, v.held(0, i))
			if i < len(v.Evals) { // the method took the problem
				evals, seconds = append(evals, v.Evals[i]), append(seconds, v.Seconds[i])
			}
		}
		mid, lo, hi := center(errs, t.median)
		c.error, c.lo, c.hi = append(c.error, mid), append(c.lo, lo), append(c.hi, hi)
		calls, _, _ := center(evals, t.median)
		clock, _, _ := center(seconds, true)
		c.evals, c.seconds = append(c.evals, calls), append(c.seconds, clock)
	}
	for _, v := range all {
		c.failed += min(len(v.End), 1)
	}
	return c
}

func (c curve) end() float64 { return kit.Last(c.error) }

// within is the error when a cost was at most so much; NaN before the first mark.
func (c curve) within(cost []float64, most float64) float64 {
	for i := len(cost) - 1; i >= 0; i-- {
		if cost[i] <= most {
			return c.error[i]
		}
	}
	return math.NaN()
}

// center is mean and mean ± deviation, or median and quartiles, for which it sorts v; NaN of none.
func center(v []float64, median bool) (mid, lo, hi float64) {
	n := float64(len(v))
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	if median {
		slices.Sort(v)
		at := func(q float64) float64 {
			i, f := math.Modf(q * (n - 1))
			return v[int(i)] + f*(v[min(int(i)+1, len(v)-1)]-v[int(i)])
		}
		return at(0.5), at(0.25), at(0.75)
	}
	var sd float64
	for _, x := range v {
		mid += x / n
	}
	for _, x := range v {
		sd += (x - mid) * (x - mid) / max(n-1, 1)
	}
	sd = math.Sqrt(sd)
	return mid, mid - sd, mid + sd
}

// mostBands is how many curves may have bands. Of more, only STABLE and the best are in colour.
const mostBands = 6

// series are the curves without X. The band of a mean m with the standard deviation s goes from m/(1 +
// s/m) to m·(1 + s/m): a logarithmic axis may not show m − s.
func (t *tournament) series(curves []curve) (list []plot.Series) {
	var ends []float64
	for _, c := range curves {
		if c.entrant.Name != "STABLE" {
			ends = append(ends, c.end())
		}
	}
	slices.Sort(ends)
	for _, c := range curves {
		s := plot.Series{Name: c.entrant.Name, Y: c.error, Held: true, Style: kit.Style(c.entrant.Name)}
		switch {
		case len(curves) > mostBands:
			s.Faint = s.Name != "STABLE" && c.end() > ends[mostBands-2]
		case t.median:
			s.Lo, s.Hi = c.lo, c.hi
		default:
			s.Hi = c.hi
			for i, m := range c.error {
				s.Lo = append(s.Lo, m*m/c.hi[i])
			}
		}
		list = append(list, s)
	}
	return list
}

// best is the tuned curve, with the larger grid, or else any, with the least error at the end.
func best(curves []curve) curve {
	return slices.MinFunc(curves, func(a, b curve) int {
		return cmp.Or(len(b.entrant.grid())-len(a.entrant.grid()), cmp.Compare(a.end(), b.end()))
	})
}

// bottom is where the axis of errors begins: best's end over 100, or 0 where none ends below that.
func bottom(curves []curve) float64 {
	least := best(curves).end() / 100
	if slices.ContainsFunc(curves, func(c curve) bool { return c.end() < least }) {
		return least
	}
	return 0
}

func (t *tournament) curves(w io.Writer) error {
	at := kit.Map(t.marks, func(m uint64) float64 { return float64(m) })
	caption := fmt.Sprintf("Mean over %d trials from random starts.", t.trials)
	if t.median {
		caption = fmt.Sprintf("Median over %d trials from random starts. Bands: quartiles.", t.trials)
	} else if len(t.entrants) <= mostBands {
		caption += " Bands: the mean times and over 1 + deviation/mean."
	}
	caption += " ▼: goes on below."
	panels := make([][]plot.Panel, 3)
	for _, p := range t.problems {
		curves := t.curvesOn(p)
		for i, label := range []string{"samples, ξ and φ", "evaluations, all oracles", "seconds"} {
			panel := plot.Panel{Title: []string{p.name, "", ""}[i], X: plot.Axis{Label: label, Log: true},
				Y: plot.Axis{Label: "F(x^{k}) − F*", Log: true, Min: bottom(curves)}, Series: t.series(curves)}
			for j := range panel.Series {
				panel.Series[j].X = [][]float64{at, curves[j].evals, curves[j].seconds}[i]
			}
			panels[i] = append(panels[i], panel)
		}
		t.curveTables(w, p, curves, at)
	}
	fig := plot.Figure{Panels: slices.Concat(panels...), Columns: len(t.problems), Caption: caption}
	if fig.Columns == 1 {
		fig.Columns = 3
	}
	return kit.WriteFigure(w, t.Out, t.file, &fig)
}

func (t *tournament) curveTables(w io.Writer, p *problem, curves []curve, at []float64) {
	slices.SortStableFunc(curves, func(a, b curve) int { return cmp.Compare(a.end(), b.end()) })
	first, middle, rival := 0.0, "mean ± standard deviation", best(curves)
	for _, c := range curves {
		first = max(first, c.error[0])
	}
	if t.median {
		middle = "median, quartiles"
	}
	samples, evals, seconds := kit.Last(at), kit.Last(rival.evals), kit.Last(rival.seconds)
	fmt.Fprintf(w, "%s: F* = %.9g; %s over %d trials; largest error at %g samples %.3g\n", p.name, p.best, middle, t.trials, at[0], first)
	lines := [][]string{{"method", fmt.Sprintf("error at %g", samples), fmt.Sprintf("by %.2g evals", evals),
		fmt.Sprintf("by %.2g s", seconds), "failed", "evals, µs/sample", fmt.Sprintf("to %.2g: samples, evals, s", first/20)}}
	settings := [][]string{{"method", "step sizes", "at an edge", "settings diverged"}}
	for _, c := range curves {
		spread := fmt.Sprintf("%.2e ± %.1e", c.end(), kit.Last(c.hi)-c.end())
		if t.median {
			spread = fmt.Sprintf("%.2e, %.1e…%.1e", c.end(), kit.Last(c.lo), kit.Last(c.hi))
		}
		lines = append(lines, []string{c.entrant.Name, spread, dash("%.1e", c.within(c.evals, evals)),
			dash("%.1e", c.within(c.seconds, seconds)), fmt.Sprintf("%d of %d", c.failed, t.trials),
			c.perSample(samples), c.reached(at, first/20)})
		if c.entrant.tuned() {
			text, edge := c.entrant.describe(p, c.entrant.grid()[kit.Last(c.rank)[0][0]])
			settings = append(settings, []string{c.entrant.Name, text, edge,
				fmt.Sprintf("%d of %d, %.2g samples spent", c.blown, c.tried, float64(c.spent))})
		}
	}
	if kit.Table(w, lines); len(settings) > 1 {
		kit.Table(w, settings)
	}
}

func dash(f string, v float64) string { return strings.Replace(fmt.Sprintf(f, v), "NaN", "–", 1) }
func (c curve) perSample(n float64) string {
	return fmt.Sprintf("%.3g, %.2g", kit.Last(c.evals)/n, 1e6*kit.Last(c.seconds)/n)
}

func (c curve) reached(at []float64, level float64) string {
	i := len(at)
	for i > 0 && c.error[i-1] <= level {
		i--
	}
	if i == len(at) {
		return "–"
	}
	return fmt.Sprintf("%.3g, %.2g, %.2g", at[i], c.evals[i], c.seconds[i])
}

// survivalists race in survive: two that are untuned first.
const survivalists = "SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA,HOAG"

func (t *tournament) survival(w io.Writer) error {
	errs := [][]string{append([]string{"mean error at the end", "μ_g", "diverged: paper", "guarded"}, names(t.entrants)...)}
	ratios := [][]string{{"better of TTSA, BSA over", "SAA-Newton", "STABLE", "at its evaluations: SAA-Newton", "STABLE"}}
	costs := [][]string{append([]string{"evaluations, µs a sample"}, names(t.entrants)...)}
	var ahead [4]int
	for _, p := range t.problems {
		curves, cost, end := map[string]curve{}, []string{p.name}, []string{}
		for _, c := range t.curvesOn(p) {
			curves[c.entrant.Name] = c
			end = append(end, fmt.Sprintf("%.2e", c.survived()))
			cost = append(cost, c.perSample(float64(t.budgets[0])))
		}
		line := []string{p.name, fmt.Sprintf("%.3g", p.muG)}
		for _, name := range []string{"STABLE-paper", "STABLE-guarded"} {
			line = append(line, fmt.Sprintf("%d of %d", curves[name].blown, curves[name].tried))
		}
		rival, other := curves["TTSA"], curves["BSA"]
		if cmp.Or(cmp.Compare(other.survived(), rival.survived()), cmp.Compare(other.end(), rival.end())) < 0 {
			rival = other
		}
		ratio := []string{p.name, "", "", "", ""}
		for i, e := range t.entrants[:2] {
			c := curves[e.Name]
			for k, over := range []float64{rival.end() / c.survived(), rival.end() / c.within(c.evals, kit.Last(rival.evals))} {
				if over > 1 {
					ahead[i+2*k]++
				}
				ratio[1+i+2*k] = dash("%.3g", over)
			}
		}
		errs, ratios, costs = append(errs, append(line, end...)), append(ratios, ratio), append(costs, cost)
	}
	kit.Table(w, errs)
	kit.Table(w, ratios)
	kit.Table(w, costs)
	fmt.Fprintf(w, "SAA-Newton is ahead of the better of TTSA and BSA on %d of %d problems at equal samples, on %d at equal "+
		"evaluations, STABLE, adaptive, on %d and %d; +Inf: a trial diverged, in ratios the error is 0; where trials of both "+
		"of these diverged, their last good iterates count.\n", ahead[0], len(t.problems), ahead[2], ahead[1], ahead[3])
	return nil
}

func (c curve) survived() float64 {
	if c.failed > 0 {
		return math.Inf(1)
	}
	return c.end()
}

func (t *tournament) ablation(w io.Writer) {
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
	all = append(all, kit.Map(t.entrants, func(e *entrant) string { return fmt.Sprint(total[e]) })...)
	kit.Table(w, append(lines, all))
}
