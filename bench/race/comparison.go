package race

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"stable/bench/kit"
	"stable/bench/plot"
)

// comparison prints untuned methods' errors over the best rival's, or all where rivals are given.
func (t *tournament) comparison(w io.Writer) error {
	rows, best := t.rows(), t.given
	if best == nil {
		best = t.rivals(rows)
	}
	fmt.Fprint(w, `Columns: problem; c: rules may be chosen on it, k: kept to confirm; at each number of samples the error of
the method's last iterate and of its running mean over that of the best rival, below 1 where the method is
ahead, and that rival; then, at the most samples, the method's evaluations and µs a sample, and both errors
over the limit that the samples set.

`)
	verdicts, raced := "", slices.ContainsFunc(t.entrants, (*entrant).rival)
	for i, e := range t.entrants {
		if i == 0 && !raced && t.given == nil {
			fmt.Fprintf(w, "No rival among these methods: %s stands for it, and is not compared with itself.\n\n", e.Name)
		} else if !e.rival() || t.given != nil {
			verdicts += t.comparisonSummary(w, e, rows, best)
		}
	}
	if t.given == nil && raced {
		if err := t.writeRivals(w, best); err != nil {
			return err
		}
	}
	if err := t.write(w, rows, "over best rival", best.over); err != nil {
		return err
	}
	fmt.Fprint(w, verdicts)
	return nil
}

func (t *tournament) head(before ...string) []string {
	return append(before, kit.Map(t.budgets, func(b uint64) string { return fmt.Sprint(b) })...)
}

func (t *tournament) comparisonTable(e *entrant, rows []row, best rivals) [][]string {
	lines := [][]string{append(t.head(e.Name+": last, mean, rival", ""), "evaluations, µs", "limit")}
	for _, p := range t.problems {
		texts, over, cost := make([]string, len(t.budgets)), "", ""
		for _, r := range rows {
			if r.problem != p || r.entrant != e {
				continue
			}
			rival, stands := best.best(p, r.budget)
			text := r.failed()
			if text == "" {
				text, cost = short(r.Mean/rival.error), short(r.evals)+" "+short(r.micros)
				if p.limit != nil && r.budget == len(t.budgets)-1 {
					over += short(t.overLimit(r)) + " "
				}
			}
			if texts[r.budget] += text + " "; r.output == len(t.outputs())-1 && stands {
				texts[r.budget] += rival.String()
			}
		}
		half := map[half]string{chosen: "c", confirmed: "k"}[p.half]
		lines = append(lines, append(append([]string{p.name, half}, texts...), cost, over))
	}
	return lines
}

// short has two digits, and one of a number that would be long.
func short(v float64) string {
	if !(v < 1e4 && v >= 1e-3) {
		return fmt.Sprintf("%.0e", v)
	}
	return strconv.FormatFloat(v, 'f', max(0, 1-int(math.Floor(math.Log10(v)))), 64)
}

var groups = []string{string(chosen), string(confirmed), "finite sums", "streams", "all"}

func (p *problem) in(group string) bool {
	return group == "all" || group == string(p.half) || group == "finite sums" && p.sum || group == "streams" && !p.sum
}

func (t *tournament) comparisonSummary(w io.Writer, e *entrant, rows []row, best rivals) (verdict string) {
	kit.Table(w, t.comparisonTable(e, rows, best))
	better, last, diverged := better(rows, best.over), summary{}, 0
	fmt.Fprintln(w, "On how many problems it is ahead, geometric mean and worst of these ratios:")
	for b, budget := range t.budgets {
		lines := [][]string{{fmt.Sprint(budget), "last iterate", "the better output", "worst of the better"}}
		for _, g := range groups {
			line := []string{g}
			for o, list := range [][]row{rows, better} {
				last = t.summaries(list, best.over, func(r row) bool {
					return r.entrant == e && (r.output == 0 || o == 1) && r.problem.in(g)
				})[b]
				line = append(line, last.text("%[1]d of %[3]d, %[2]s"))
			}
			lines = append(lines, append(line, last.name))
		}
		kit.Table(w, lines)
	}
	for _, r := range rows {
		if r.entrant == e {
			diverged = max(diverged, r.diverged)
		}
	}
	fmt.Fprintf(w, "diverged, at most on one problem: %d of %d trials\n\n", diverged, t.trials)
	if last.n > 0 {
		verdict = fmt.Sprintf("At %d samples the better output of %s is ahead of the best rival on %d of %d problems, with %.3g "+
			"times its error in the geometric mean and %.3g at worst (%s).\n",
			kit.Last(t.budgets), e.Name, last.ahead, last.n, last.mean(), last.worst, last.name)
	}
	return verdict
}

// better has the better output's row of each selection and budget.
func better(rows []row, value func(row) float64) (list []row) {
	for _, r := range rows {
		i := slices.IndexFunc(list, func(b row) bool { return b.selection == r.selection && b.budget == r.budget })
		if i < 0 {
			list = append(list, r)
		} else if value(r) < value(list[i]) {
			list[i] = r
		}
	}
	return list
}

type summary struct {
	n, ahead   int // ahead: below 1
	log, worst float64
	name       string // of the worst
}

func (s summary) mean() float64 { return math.Exp(s.log / float64(s.n)) }

func (s summary) text(format string) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf(format, s.ahead, fmt.Sprintf("%.3g, %.3g", s.mean(), s.worst), s.n, s.name)
}

// summaries are of the rows' values that are not NaN, one for each budget.
func (t *tournament) summaries(rows []row, value func(row) float64, in func(row) bool) []summary {
	list := make([]summary, len(t.budgets))
	for _, r := range rows {
		v := value(r)
		if !in(r) || math.IsNaN(v) {
			continue
		}
		s := &list[r.budget]
		s.n++
		s.log += math.Log(v)
		if s.n == 1 || v > s.worst {
			s.worst, s.name = v, r.problem.name
		}
		if v < 1 {
			s.ahead++
		}
	}
	return list
}

func (t *tournament) write(w io.Writer, rows []row, column string, value func(r row) float64) error {
	lines := [][]string{{"problem", "method", "tuned", "output", "samples", "error", "limit", column,
		"half", "interval", "diverged", "evaluations", "seconds"}}
	for _, r := range rows {
		n := float64(t.budgets[r.budget])
		lines = append(lines, []string{
			r.problem.name, r.entrant.Name, r.told(), t.outputs()[r.output],
			fmt.Sprint(t.budgets[r.budget]), number(r.Mean), number(t.limitAt(r.problem, r.budget)), number(value(r)),
			string(r.problem.half), number(r.Half), fmt.Sprint(r.diverged), number(r.evals * n), number(1e-6 * r.micros * n),
		})
	}
	return kit.WriteFile(w, t.Out, t.file+".csv", csvOf(lines))
}

func csvOf(lines [][]string) func(io.Writer) error {
	return func(w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) }
}

func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func (t *tournament) limitAt(p *problem, b int) float64 {
	if p.limit == nil {
		return math.NaN()
	}
	n := float64(t.budgets[b])
	if !t.each { // half of each
		n /= 2
	}
	return p.limit.At(n, n)
}

func (t *tournament) overLimit(r row) float64 { return r.Mean / t.limitAt(r.problem, r.budget) }

func (t *tournament) limits(w io.Writer) error {
	rows := t.rows()
	for _, p := range t.problems {
		t.limitTable(w, p, rows)
	}
	fmt.Fprintln(w, "error over the limit: geometric mean, worst, on how many problems")
	lines := [][]string{t.head("method", "output", "half")}
	for _, e := range t.entrants {
		for o, output := range t.outputs() {
			for _, h := range []half{chosen, confirmed} {
				line := []string{e.Name, output, string(h)}
				for _, s := range t.summaries(rows, t.overLimit, func(r row) bool {
					return r.entrant == e && r.output == o && r.half == h
				}) {
					line = append(line, s.text("%[2]s (%[4]s), %[3]d"))
				}
				lines = append(lines, line)
			}
		}
	}
	kit.Table(w, lines)
	t.atEqual(w, rows)
	if fig := t.limitFigure(rows); len(fig.Panels) > 0 {
		if err := kit.WriteFile(w, t.Out, t.file+".svg", fig.WriteSVG); err != nil {
			return err
		}
	}
	return t.write(w, rows, "ratio", t.overLimit)
}

// atEqual prints the errors of untuned methods over those of the others, at the evaluations that these took.
func (t *tournament) atEqual(w io.Writer, rows []row) {
	all := better(rows, func(r row) float64 { return r.Mean })
	for _, e := range t.entrants {
		if e.rival() || len(t.entrants) == 1 {
			continue
		}
		lines := [][]string{t.head("by evaluations as many, " + e.Name + " over")}
		for _, other := range t.entrants {
			line := []string{other.Name}
			for _, s := range t.summaries(all, func(r row) float64 { return t.by(all, e, r) / r.Mean },
				func(r row) bool { return r.entrant == other && other != e }) {
				line = append(line, s.text("%d of %[3]d, %[2]s (%[4]s)"))
			}
			lines = append(lines, line)
		}
		kit.Table(w, lines)
	}
}

// by is the error of e by the evaluations of r, between its own budgets in logarithms; NaN before and beyond them.
func (t *tournament) by(rows []row, e *entrant, r row) float64 {
	cost := func(r row) float64 { return math.Log(r.evals * float64(t.budgets[r.budget])) }
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		share := (cost(r) - cost(a)) / (cost(b) - cost(a))
		if a.selection == b.selection && b.problem == r.problem && b.entrant == e && share >= 0 && share <= 1 {
			return a.Mean * math.Pow(b.Mean/a.Mean, share)
		}
	}
	return math.NaN()
}

func (t *tournament) limitTable(w io.Writer, p *problem, rows []row) {
	if p.limit == nil {
		fmt.Fprintf(w, "%s (%s): no limit; mean error over %d trials\n", p.name, p.half, t.trials)
	} else {
		fmt.Fprintf(w, "%s (%s): limit %.3g ξ⁻¹ + %.3g φ⁻¹, standard error %.1g %%, %d free coordinates; "+
			"mean error over it, %d trials\n",
			p.name, p.half, p.limit.Xi, p.limit.Phi, 100*p.limit.StdErr/p.limit.At(1, 1), p.limit.Free, t.trials)
	}
	lines := [][]string{append(t.head("method", "output"), "evaluations, µs a sample", "at the largest")}
	for some := range slices.Chunk(rows, len(t.budgets)) {
		if some[0].problem != p {
			continue
		}
		line := []string{some[0].entrant.Name, t.outputs()[some[0].output]}
		for _, r := range some {
			text := r.failed()
			switch limit := t.limitAt(p, r.budget); {
			case text != "":
			case p.limit == nil:
				text = fmt.Sprintf("%.2e ± %.0e", r.Mean, r.Half)
			default:
				text = fmt.Sprintf("%.3g ± %.2g", r.Mean/limit, r.Half/limit)
			}
			line = append(line, text)
		}
		lines = append(lines, append(line, kit.Last(some).perSample(), kit.Last(some).told()))
	}
	kit.Table(w, lines)
}

func (t *tournament) limitFigure(rows []row) *plot.Figure {
	fig := &plot.Figure{Columns: 4, Caption: fmt.Sprintf("Mean over %d trials (where methods are few with its 95 %% "+
		"interval, by the same factor up and down) of the better of last iterate and running mean, over the limit that the "+
		"samples set; tuned methods at the best of their settings for each budget.", t.trials)}
	better := better(rows, t.overLimit)
	for _, p := range t.problems {
		if p.limit == nil {
			continue
		}
		panel := plot.Panel{Title: p.name, X: plot.Axis{Label: "samples of each kind", Log: true},
			Y: plot.Axis{Label: "error over the limit", Log: true}, Lines: []plot.Line{{Label: "limit", C: 1}}}
		evals := panel
		evals.Title, evals.X.Label = p.name, "evaluations, all oracles"
		for _, e := range t.entrants {
			var calls []float64
			s := plot.Series{Name: e.Name, Markers: true, Style: kit.Style(e.Name)}
			for _, r := range better {
				if r.problem != p || r.entrant != e {
					continue
				}
				n, mean, half := float64(t.budgets[r.budget]), t.overLimit(r), r.Half/t.limitAt(p, r.budget)
				s.X, s.Y, calls = append(s.X, n), append(s.Y, mean), append(calls, r.evals*n)
				if len(t.entrants) <= mostBands {
					s.Lo, s.Hi = append(s.Lo, mean*mean/(mean+half)), append(s.Hi, mean+half)
				}
			}
			panel.Series = append(panel.Series, s)
			s.X = calls
			evals.Series = append(evals.Series, s)
		}
		fig.Panels = append(fig.Panels, panel, evals)
	}
	return fig
}
