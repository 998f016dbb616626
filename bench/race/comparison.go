package race

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/atomicfile"
)

// comparison prints each untuned method's error over the best rival's, or each method's where rivals
// are given, and writes the numbers and this race's rivals.
func (t *tournament) comparison(w io.Writer) error {
	rows, best := t.rows(), t.given
	if best == nil {
		best = t.rivals(rows)
	}
	fmt.Fprint(w, `Columns: problem; half of the problems; at each number of samples the error of the method's last iterate and
of its running mean over that of the best rival, below 1 where the method is ahead, and that rival with its
output; then, at the most samples, the method's evaluations and µs a sample, and both errors over the limit.

`)
	verdicts := ""
	for _, e := range t.entrants {
		if !e.untuned() && t.given == nil {
			continue
		}
		verdict, err := t.comparisonSummary(w, e, rows, best)
		if err != nil {
			return err
		}
		verdicts += verdict
	}
	if err := t.outs(w, rows); err != nil {
		return err
	}
	if t.given == nil && slices.ContainsFunc(t.entrants, (*entrant).rival) {
		if err := t.writeRivals(w, best); err != nil {
			return err
		}
	}
	if err := t.write(w, rows, "over best rival", best.over); err != nil {
		return err
	}
	_, err := io.WriteString(w, verdicts)
	return err
}

func (t *tournament) head(before ...string) []string {
	for _, b := range t.budgets {
		before = append(before, fmt.Sprint(b))
	}
	return before
}

func (t *tournament) comparisonTable(e *entrant, rows []row, best rivals) [][]string {
	lines := [][]string{append(t.head(e.name+": last, mean, rival", "half"), "evals, µs a sample", "over the limit")}
	for _, p := range t.problems {
		texts, over, cost := make([]string, len(t.budgets)), "", ""
		for _, r := range rows {
			if r.problem != p || r.entrant != e {
				continue
			}
			rival, stands := best.best(p, r.budget)
			text := r.failed()
			if text == "" {
				text, cost = fmt.Sprintf("%.2g", r.Mean/rival.error), r.perSample()
				if p.limit != nil && r.budget == len(t.budgets)-1 {
					over += fmt.Sprintf("%.3g ", t.overLimit(r))
				}
			}
			if texts[r.budget] += text + ", "; r.output == len(t.outputs())-1 && stands {
				texts[r.budget] += rival.String()
			}
		}
		lines = append(lines, append(append([]string{p.name, string(p.half)}, texts...), cost, over))
	}
	return lines
}

var groups = []struct {
	name string
	has  func(p *problem) bool
}{
	{string(chosen), func(p *problem) bool { return p.half == chosen }},
	{string(confirmed), func(p *problem) bool { return p.half == confirmed }},
	{"finite sums", func(p *problem) bool { return p.sum }},
	{"streams", func(p *problem) bool { return !p.sum }},
	{"all", func(*problem) bool { return true }},
}

// comparisonSummary prints a method's table, and summaries for groups of problems. The verdict is a
// sentence on all.
func (t *tournament) comparisonSummary(w io.Writer, e *entrant, rows []row, best rivals) (verdict string, err error) {
	lines := [][]string{t.head("ahead, geometric mean, worst", "")}
	better, last, diverged := t.better(rows, best.over), summary{}, 0
	for _, g := range groups {
		for o, output := range append(t.outputs(), "better") {
			list, line := rows, []string{g.name, output}
			if output == "better" {
				list = better
			}
			for _, s := range t.summaries(list, best.over, func(r row) bool {
				return r.entrant == e && (r.output == o || output == "better") && g.has(r.problem)
			}) {
				line = append(line, s.text("%[1]d of %[3]d, %[2]s (%[4]s)"))
				last = s
			}
			lines = append(lines, line)
		}
	}
	for _, r := range rows {
		if r.entrant == e {
			diverged = max(diverged, r.diverged)
		}
	}
	lines = append(lines, []string{"diverged, at most on one problem", fmt.Sprintf("%d of %d trials", diverged, t.trials)})
	if last.n > 0 {
		verdict = fmt.Sprintf("At %d samples the better output of %s is ahead of the best rival on %d of %d problems, with %.3g "+
			"times its error in the geometric mean and %.3g at worst (%s).\n",
			kit.Last(t.budgets), e.name, last.ahead, last.n, last.mean(), last.worst, last.name)
	}
	return verdict, kit.FirstOf(kit.Table(w, t.comparisonTable(e, rows, best)), kit.Table(w, lines))
}

func (t *tournament) better(rows []row, value func(row) float64) (list []row) {
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

// text formats how many are ahead, mean and worst, how many there are, and the worst one's name.
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

func (t *tournament) outs(w io.Writer, rows []row) error {
	lines := [][]string{t.head(fmt.Sprintf("out of the race, over %d times the best rival's error in the choice", outOfRace))}
	for _, e := range t.entrants {
		line, total := []string{e.name}, 0
		for b := range t.budgets {
			n := 0
			for _, r := range rows {
				if r.entrant == e && r.out && r.output == 0 && r.budget == b {
					n++
				}
			}
			line, total = append(line, fmt.Sprintf("%d of %d", n, len(t.problems))), total+n
		}
		if total > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return kit.Table(w, lines)
}

// write writes the rows as NAME.csv, with one column of the command's own.
func (t *tournament) write(w io.Writer, rows []row, column string, value func(r row) float64) error {
	lines := [][]string{{"problem", "method", "tuned", "output", "samples", "error", "limit", column,
		"half", "interval", "diverged", "evaluations", "seconds"}}
	for _, r := range rows {
		n := float64(t.budgets[r.budget])
		lines = append(lines, []string{
			r.problem.name, r.entrant.name, r.told(), t.outputs()[r.output],
			fmt.Sprint(t.budgets[r.budget]), number(r.Mean), number(t.limitAt(r.problem, r.budget)), number(value(r)),
			string(r.problem.half), number(r.Half), fmt.Sprint(r.diverged), number(r.evals * n), number(1e-6 * r.micros * n),
		})
	}
	return t.save(w, ".csv", "", lines)
}

func (t *tournament) save(w io.Writer, ending, head string, lines [][]string) error {
	path := filepath.Join(t.Out, t.file+ending)
	err := atomicfile.Write(path, func(w io.Writer) error {
		if _, err := io.Copy(w, strings.NewReader(head)); err != nil {
			return err
		}
		return csv.NewWriter(w).WriteAll(lines)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}

// number is empty for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
