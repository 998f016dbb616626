package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"stable/bench/plot"
	"stable/bilevel/atomicfile"
)

// view is one measure of a regime: the error of x, or that of y.
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

// fitted is what the curves of a row say about one stream of samples.
type fitted struct {
	exponent    estimate
	early, late float64   // over the two halves of the range of ε
	eps, n      []float64 // samples to ε, the geometric mean over groups
	from, to    float64   // range of ε of the fit
}

// Fits are made over two decades of ε, down to the smallest that all groups come to.
const (
	fitDecades = 2
	fitPoints  = 9
)

// fit returns the exponents p of n ~ ε^(−p), with one fit a group.
func (v view) fit(groups []reading, cost func(r reading) []float64) (f fitted) {
	lo, hi := 0.0, math.Inf(1)
	for _, r := range groups {
		e := v.of(r)
		lo, hi = max(lo, e[len(e)-1]), min(hi, e[0])
	}
	f.to, f.from = 1.001*lo, min(0.999*hi, 1.001*lo*math.Pow(10, fitDecades))
	if !(f.to < f.from) {
		return fitted{exponent: estimate{math.NaN(), math.Inf(1)}}
	}
	eps := ratios(f.from, f.to, fitPoints)
	inverse := make([]float64, len(eps))
	for i, e := range eps {
		inverse[i] = 1 / e
	}
	var all, early, late []float64
	for _, r := range groups {
		n := make([]float64, len(eps))
		for i, e := range eps {
			n[i], _ = reach(cost(r), v.of(r), e)
		}
		half := len(eps) / 2
		all = append(all, exponent(inverse, n))
		early = append(early, exponent(inverse[:half+1], n[:half+1]))
		late = append(late, exponent(inverse[half:], n[half:]))
	}
	f.exponent, f.early, f.late = meanOf(all), meanOf(early).Mean, meanOf(late).Mean
	f.eps = ratios(0.999*hi, f.to, 40)
	for _, e := range f.eps {
		f.n = append(f.n, samplesTo(v, groups, cost, e))
	}
	return f
}

// samplesTo is the geometric mean over the groups of the samples to ε; NaN if one of them does not come there.
func samplesTo(v view, groups []reading, cost func(r reading) []float64, eps float64) float64 {
	var sum float64
	for _, r := range groups {
		n, _ := reach(cost(r), v.of(r), eps)
		sum += math.Log(n)
	}
	return math.Exp(sum / float64(len(groups)))
}

func xiOf(r reading) []float64  { return r.Xi }
func phiOf(r reading) []float64 { return r.Phi }

// report prints the tables, and writes the figure and its numbers.
func (c *complexity) report(w io.Writer, chosen map[*row]picked, done func(key string) trial) error {
	fig := plot.Figure{Columns: 2, Caption: fmt.Sprintf(
		"Samples to reach ε, geometric mean over %d groups of trials; grey: slopes of Table 1.", c.groups)}
	for _, v := range c.views() {
		xi := plot.Panel{Title: v.title + ", ε = " + v.measure, X: plot.Axis{Label: "1/ε", Log: true}, Y: plot.Axis{Label: "samples ξ", Log: true}}
		phi := plot.Panel{X: xi.X, Y: plot.Axis{Label: "samples φ", Log: true}, Title: xi.Title}
		fmt.Fprintf(w, "%s, ε = %s\n", v.title, plain(v.measure))
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "method\tξ: claimed\tfitted\tearly, late\tφ: claimed\tfitted\tearly, late\tε from\tto\tsamples ξ, φ at the end\tfailed")
		for i, r := range v.rows {
			groups, failed := c.curves(v.regime, r, done)
			fx, fp := v.fit(groups, xiOf), v.fit(groups, phiOf)
			claim := func(p float64) string {
				if p == 0 || !v.claimed {
					return "–"
				}
				return fmt.Sprintf("%g", p)
			}
			fmt.Fprintf(tw, "%s\t%s\t%v\t%.2f, %.2f\t%s\t%v\t%.2f, %.2f\t%.1e\t%.1e\t%.2g, %.2g\t%d\n", r.name, claim(r.xi), fx.exponent, fx.early, fx.late,
				claim(r.phi), fp.exponent, fp.early, fp.late, fx.from, fx.to, last(fx.n), last(fp.n), failed)
			style := 1 + i
			xi.Series = append(xi.Series, plot.Series{Name: r.name, X: inverses(fx.eps), Y: fx.n, Style: style})
			phi.Series = append(phi.Series, plot.Series{Name: r.name, X: inverses(fp.eps), Y: fp.n, Style: style})
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
		xi.Lines, phi.Lines = slopes(v, xiOf, xi.Series), slopes(v, phiOf, phi.Series)
		fig.Panels = append(fig.Panels, xi, phi)
	}
	c.choicesTable(w, chosen)
	return writeFigure(w, c.folder, c.name, &fig)
}

func last(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return v[len(v)-1]
}

func inverses(v []float64) []float64 {
	u := make([]float64, len(v))
	for i, x := range v {
		u[i] = 1 / x
	}
	return u
}

// slopes are reference lines with the exponents of the table, each beside the end of the first curve that it is claimed for.
func slopes(v view, cost func(r reading) []float64, series []plot.Series) (lines []plot.Line) {
	one := reading{Xi: []float64{0}, Phi: []float64{1}}
	seen := map[float64]bool{0: true}
	for i, r := range v.rows {
		p := []float64{r.xi, r.phi}[int(cost(one)[0])]
		s := series[i]
		if seen[p] || len(s.X) == 0 {
			continue
		}
		seen[p] = true
		x, y := last(s.X), 2*last(s.Y)
		lines = append(lines, plot.Line{Label: fmt.Sprintf("ε^{−%g}", p), P: p, C: y / math.Pow(x, p), From: x / math.Pow(10, fitDecades), To: x})
	}
	return lines
}

// choicesTable prints the constants of the step sizes.
func (c *complexity) choicesTable(w io.Writer, chosen map[*row]picked) {
	fmt.Fprintf(w, "constants, best of %d runs of %d samples each\n", c.tuneTrials, c.samples)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "regime\tmethod\tstep sizes\tconstants\tat an edge\tsteps of a run\tchoices diverged\tsteps of the trials")
	for _, g := range c.regimes {
		for _, r := range g.rows {
			p, marks := chosen[r], c.horizons(r)
			fmt.Fprintf(tw, "%s\t%s\t%s\t", g.title, r.name, r.orders)
			if r.alpha == nil {
				fmt.Fprintf(tw, "–\t\t\t\t")
			} else {
				fmt.Fprintf(tw, "a = %g, b = %g\t%s\t%d\t%d of %d\t", p.constants[0], p.constants[1], r.edge(p.constants), p.steps, p.failed, len(r.choices()))
			}
			fmt.Fprintf(tw, "%d to %d\n", marks[0], marks[len(marks)-1])
		}
	}
	tw.Flush()
}

// plain takes the marks of superscripts out of a label.
func plain(s string) string { return strings.NewReplacer("^{", "^", "_{", "_", "}", "").Replace(s) }

// writeFigure writes a figure and its numbers into a folder.
func writeFigure(w io.Writer, folder, name string, fig *plot.Figure) error {
	for _, f := range []struct {
		name string
		fill func(io.Writer) error
	}{{name + ".svg", fig.WriteSVG}, {name + ".csv", fig.WriteCSV}} {
		path := filepath.Join(folder, f.name)
		if err := atomicfile.Write(path, f.fill); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "wrote %s\n", path); err != nil {
			return err
		}
	}
	return nil
}
