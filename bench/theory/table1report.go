package theory

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bench/plot"
)

type view struct {
	*regime
	measure string
	claimed bool // the table's exponents are about this measure
	of      func(r reading) []float64
}

func (c *complexity) views() (list []view) {
	upper := func(r reading) []float64 { return r.Upper }
	lower := func(r reading) []float64 { return r.Lower }
	for _, g := range c.regimes {
		list = append(list, view{g, g.measure, true, upper})
		if g.rho == 0 {
			list = append(list, view{g, "E‖y^{k} − y*(x^{k})‖²", false, lower})
		}
	}
	return list
}

// fitted holds the fits of a row for one stream of samples.
type fitted struct {
	exponent    kit.Estimate
	early, late float64   // over the two halves of the range of ε
	eps, n      []float64 // samples to ε, the geometric mean over groups
	from, to    float64   // range of ε of the fit
}

// Fits cover two decades of ε, down to the smallest that all groups reach.
const (
	fitDecades = 2
	fitPoints  = 9
)

// fit returns the exponents p of n ~ ε^(−p), one for each group.
func (v view) fit(groups []reading, cost func(r reading) []float64) (f fitted) {
	lo, hi := 0.0, math.Inf(1)
	for _, r := range groups {
		e := v.of(r)
		lo, hi = max(lo, e[len(e)-1]), min(hi, e[0])
	}
	f.to, f.from = 1.001*lo, min(0.999*hi, 1.001*lo*math.Pow(10, fitDecades))
	if !(f.to < f.from) {
		return fitted{exponent: kit.Estimate{Mean: math.NaN(), Half: math.Inf(1)}}
	}
	eps := kit.Ratios(f.from, f.to, fitPoints)
	inverse := make([]float64, len(eps))
	for i, e := range eps {
		inverse[i] = 1 / e
	}
	var all, early, late []float64
	for _, r := range groups {
		n := make([]float64, len(eps))
		for i, e := range eps {
			n[i], _ = kit.Reach(cost(r), v.of(r), e)
		}
		half := len(eps) / 2
		all = append(all, kit.Exponent(inverse, n))
		early = append(early, kit.Exponent(inverse[:half+1], n[:half+1]))
		late = append(late, kit.Exponent(inverse[half:], n[half:]))
	}
	f.exponent, f.early, f.late = kit.MeanOf(all), kit.MeanOf(early).Mean, kit.MeanOf(late).Mean
	f.eps = kit.Ratios(0.999*hi, f.to, 40)
	for _, e := range f.eps {
		f.n = append(f.n, v.samplesTo(groups, cost, e))
	}
	return f
}

// samplesTo returns the groups' geometric mean of the samples to reach ε, NaN if one does not.
func (v view) samplesTo(groups []reading, cost func(r reading) []float64, eps float64) float64 {
	var sum float64
	for _, r := range groups {
		n, _ := kit.Reach(cost(r), v.of(r), eps)
		sum += math.Log(n)
	}
	return math.Exp(sum / float64(len(groups)))
}

type stream struct {
	letter string
	cost   func(r reading) []float64
	claim  func(r *row) float64
}

var streams = [2]stream{
	{"ξ", func(r reading) []float64 { return r.Xi }, func(r *row) float64 { return r.xi }},
	{"φ", func(r reading) []float64 { return r.Phi }, func(r *row) float64 { return r.phi }},
}

func (c *complexity) report(w io.Writer, chosen map[*row]picked, done map[string]outcome) error {
	fig := plot.Figure{Columns: 2, Caption: fmt.Sprintf(
		"Samples to reach ε, geometric mean over %d groups of trials; grey: the exponents of Table 1.", c.groups)}
	for _, v := range c.views() {
		panels, err := c.viewPanels(w, v, done)
		if err != nil {
			return err
		}
		fig.Panels = append(fig.Panels, panels[:]...)
	}
	if err := c.choicesTable(w, chosen); err != nil {
		return err
	}
	return kit.WriteFigure(w, c.Out, "table1", &fig)
}

func (c *complexity) viewPanels(w io.Writer, v view, done map[string]outcome) (panels [2]plot.Panel, err error) {
	fmt.Fprintf(w, "%s, ε = %s\n", v.title, kit.Plain(v.measure))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "method")
	for i, s := range streams {
		fmt.Fprintf(tw, "\t%s: claimed\tfitted\tearly, late", s.letter)
		panels[i] = plot.Panel{Title: v.title + ": " + s.letter + ", ε = " + v.measure,
			X: plot.Axis{Label: "1/ε", Log: true}, Y: plot.Axis{Label: "samples " + s.letter, Log: true}}
	}
	fmt.Fprintln(tw, "\tε from\tto\tsamples ξ, φ at the end\tfailed")
	for _, r := range v.rows {
		groups, failed := c.curves(v.regime, r, done)
		fmt.Fprint(tw, r.name)
		var ends []string
		var f fitted
		for i, s := range streams {
			f = v.fit(groups, s.cost)
			claim := "–"
			if p := s.claim(r); p > 0 && v.claimed {
				claim = fmt.Sprintf("%g", p)
			}
			fmt.Fprintf(tw, "\t%s\t%v\t%.2f, %.2f", claim, f.exponent, f.early, f.late)
			ends = append(ends, fmt.Sprintf("%.2g", kit.Last(f.n)))
			panels[i].Series = append(panels[i].Series,
				plot.Series{Name: r.name, X: inverses(f.eps), Y: f.n, Style: kit.Style(r.name)})
		}
		fmt.Fprintf(tw, "\t%.1e\t%.1e\t%s\t%d\n", f.from, f.to, strings.Join(ends, ", "), failed)
	}
	fmt.Fprintln(tw)
	for i, s := range streams {
		panels[i].Lines = slopes(v.rows, s, panels[i].Series)
	}
	return panels, tw.Flush()
}

func inverses(v []float64) []float64 {
	u := make([]float64, len(v))
	for i, x := range v {
		u[i] = 1 / x
	}
	return u
}

// slopes are lines with the table's exponents, each beside the end of the first curve it is claimed
// for.
func slopes(rows []*row, s stream, series []plot.Series) (lines []plot.Line) {
	seen := map[float64]bool{0: true}
	for i, r := range rows {
		p, curve := s.claim(r), series[i]
		if seen[p] || len(curve.X) == 0 {
			continue
		}
		seen[p] = true
		x, y := kit.Last(curve.X), 2*kit.Last(curve.Y)
		lines = append(lines,
			plot.Line{Label: fmt.Sprintf("ε^{−%g}", p), P: p, C: y / math.Pow(x, p), From: x / math.Pow(10, fitDecades),
				To: x})
	}
	return lines
}

func (c *complexity) choicesTable(w io.Writer, chosen map[*row]picked) error {
	fmt.Fprintf(w, "constants, best of %d runs of %d samples each\n", c.tuneTrials, c.samples)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "regime\tmethod\tstep sizes\tconstants\tat an edge\tsteps of a run\tchoices "+
		"diverged\tsteps of the trials")
	for _, g := range c.regimes {
		for _, r := range g.rows {
			p, marks := chosen[r], c.horizons(r)
			fmt.Fprintf(tw, "%s\t%s\t%s\t", g.title, r.name, r.orders)
			if r.alpha == nil {
				fmt.Fprintf(tw, "–\t\t\t\t")
			} else {
				fmt.Fprintf(tw, "a = %g, b = %g\t%s\t%d\t%d of %d\t",
					p.constants[0], p.constants[1], r.edge(p.constants), p.steps, p.failed, len(r.choices()))
			}
			fmt.Fprintf(tw, "%d to %d\n", marks[0], marks[len(marks)-1])
		}
	}
	return tw.Flush()
}
