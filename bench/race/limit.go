package race

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/atomicfile"
)

// limitAt is a problem's limit at a budget, NaN where there is none.
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
		if err := t.limitTable(w, p, rows); err != nil {
			return err
		}
	}
	lines := [][]string{t.head("error over the limit: geometric mean, worst, on how many problems", "", "")}
	for _, e := range t.entrants {
		for o, output := range t.outputs() {
			for _, h := range []half{chosen, confirmed} {
				line := []string{e.name, output, string(h)}
				for _, s := range t.summaries(rows, t.overLimit, func(r row) bool {
					return r.entrant == e && r.output == o && r.half == h
				}) {
					line = append(line, s.text("%[2]s (%[4]s), %[3]d"))
				}
				lines = append(lines, line)
			}
		}
	}
	if err := kit.FirstOf(kit.Table(w, lines), t.outs(w, rows)); err != nil {
		return err
	}
	if fig := t.limitFigure(rows); len(fig.Panels) > 0 {
		path := filepath.Join(t.Out, t.file+".svg")
		if err := atomicfile.Write(path, fig.WriteSVG); err != nil {
			return err
		}
		fmt.Fprintf(w, "wrote %s\n", path)
	}
	return t.write(w, rows, "ratio", t.overLimit)
}

func (t *tournament) limitTable(w io.Writer, p *problem, rows []row) error {
	if p.limit == nil {
		fmt.Fprintf(w, "%s (%s): no limit; mean error over %d trials\n", p.name, p.half, t.trials)
	} else {
		fmt.Fprintf(w, "%s (%s): limit %.3g ξ⁻¹ + %.3g φ⁻¹, standard error %.1g %%, %d free coordinates; "+
			"mean error over it, %d trials\n",
			p.name, p.half, p.limit.Xi, p.limit.Phi, 100*p.limit.StdErr/p.limit.At(1, 1), p.limit.Free, t.trials)
	}
	lines := [][]string{append(t.head("method", "output"), "evaluations, µs a sample", "at the largest")}
	var line []string
	for _, r := range rows {
		if r.problem != p {
			continue
		}
		if r.budget == 0 {
			line = []string{r.entrant.name, t.outputs()[r.output]}
		}
		text := r.failed()
		switch limit := t.limitAt(p, r.budget); {
		case text != "":
		case p.limit == nil:
			text = fmt.Sprintf("%.2e ± %.0e", r.Mean, r.Half)
		default:
			text = fmt.Sprintf("%.3g ± %.2g", r.Mean/limit, r.Half/limit)
		}
		line = append(line, text)
		if r.budget == len(t.budgets)-1 {
			lines = append(lines, append(line, r.perSample(), r.told()))
		}
	}
	return kit.Table(w, lines)
}

func (t *tournament) limitFigure(rows []row) *plot.Figure {
	fig := &plot.Figure{Columns: 4, Caption: fmt.Sprintf("Mean over %d trials (and, where methods are few, its 95 %% "+
		"interval, as far down as up by ratio) of the better of last iterate and running mean, over the limit that the "+
		"samples set; tuned methods at the best of 100 settings for each budget.", t.trials)}
	better := t.better(rows, t.overLimit)
	for _, p := range t.problems {
		if p.limit == nil {
			continue
		}
		panel := plot.Panel{Title: p.name, X: plot.Axis{Label: "samples of each kind", Log: true},
			Y: plot.Axis{Label: "error over the limit", Log: true}, Lines: []plot.Line{{Label: "limit", C: 1}}}
		evals := panel
		evals.Title, evals.X.Label = "", "evaluations, all oracles"
		for _, e := range t.entrants {
			var calls []float64
			s := plot.Series{Name: e.name, Markers: true, Style: kit.Style(e.name)}
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
