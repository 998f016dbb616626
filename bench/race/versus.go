package race

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// versus prints the error over the best rival's of each untuned method, or of each method of the
// race where the rivals are given, and a summary, and writes the numbers. Rivals of this race are
// written, too.
func (l *league) versus(w io.Writer, rows []row, given rivals) error {
	best := given
	if given == nil {
		best = l.rivals(rows)
	}
	for _, e := range l.entrants {
		if !e.untuned && given == nil {
			continue
		}
		if err := l.versusTable(w, e, rows, best); err != nil {
			return err
		}
		if err := l.versusSummary(w, e, rows, best); err != nil {
			return err
		}
	}
	if err := l.outs(w, rows); err != nil {
		return err
	}
	if given == nil && slices.ContainsFunc(l.entrants, func(e *entrant) bool { return !e.untuned }) {
		if err := l.writeRivals(w, best); err != nil {
			return err
		}
	}
	return l.write(w, rows, "over best rival", func(r row) float64 { return best.over(r) })
}

// over is the error of a row over the best rival's, NaN where there is nobody to compare with.
func (v rivals) over(r row) float64 {
	rival, _, ok := v.best(standing{r.problem, r.budget})
	if !ok {
		return math.NaN()
	}
	return r.Mean / rival.error
}

// versusTable prints a line a problem.
func (l *league) versusTable(w io.Writer, e *entrant, rows []row, best rivals) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s: last iterate, running mean, over the best rival\thalf", e.name)
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw, "\tevaluations, µs a sample; both over the limit, at the largest")
	for _, p := range l.problems {
		fmt.Fprintf(tw, "%s\t%s", p.name, p.half)
		over, cost := "", ""
		for b := range l.budgets {
			cell := ""
			rival, output, ok := best.best(standing{p, b})
			for _, r := range rows {
				switch {
				case r.problem != p || r.entrant != e || r.budget != b:
					continue
				case r.out:
					cell += "out, "
					continue
				case r.diverged > 0:
					cell += fmt.Sprintf("diverged (%d), ", r.diverged)
					continue
				}
				cell += fmt.Sprintf("%.2g, ", r.Mean/rival.error)
				cost = r.perSample()
				if p.limit != nil && b == len(l.budgets)-1 {
					over += fmt.Sprintf(" %.3g", r.Mean/l.limitAt(p, b))
				}
			}
			if ok {
				cell += rival.method + " " + output + rival.mark()
			}
			fmt.Fprintf(tw, "\t%s", cell)
		}
		fmt.Fprintf(tw, "\t%s;%s\n", cost, over)
	}
	return tw.Flush()
}

// groups are the problems that a summary takes together.
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

// versusSummary prints, for groups of problems and each output or the better of both, on how many
// problems the method is ahead, the geometric mean of the ratios and the worst; and how often it
// diverged.
func (l *league) versusSummary(w io.Writer, e *entrant, rows []row, best rivals) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "ahead, geometric mean, worst\t")
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw)
	over, diverged := l.ratios(e, rows, best)
	for _, g := range groups {
		for o, output := range append(outputs[:], "better") {
			fmt.Fprintf(tw, "%s\t%s", g.name, output)
			for b := range l.budgets {
				var s summary
				ahead := 0
				for _, p := range l.problems {
					v, raced := over[standing{p, b}]
					if !raced || !g.has(p) || math.IsNaN(v[o]) {
						continue
					}
					s.add(p.name, v[o])
					if v[o] < 1 {
						ahead++
					}
				}
				if s.n == 0 {
					fmt.Fprint(tw, "\t–")
					continue
				}
				fmt.Fprintf(tw, "\t%d of %d, %.3g, %.3g (%s)", ahead, s.n, s.mean(), s.worst, s.name)
			}
			fmt.Fprintln(tw)
		}
	}
	fmt.Fprintf(tw, "diverged, at most on one problem\t%d of %d trials\n\n", diverged, l.trials)
	return tw.Flush()
}

// ratios are those of an entrant in every standing, by its outputs and the better of them; and how
// often it diverged, at most.
func (l *league) ratios(e *entrant, rows []row, best rivals) (over map[standing][3]float64, diverged int) {
	over = map[standing][3]float64{}
	for _, r := range rows {
		if r.entrant != e {
			continue
		}
		at := standing{r.problem, r.budget}
		v, ok := over[at]
		if !ok {
			v[2] = math.Inf(1)
		}
		v[r.output] = best.over(r)
		v[2] = min(v[2], v[r.output])
		over[at] = v
		diverged = max(diverged, r.diverged)
	}
	return over, diverged
}
