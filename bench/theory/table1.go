package theory

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bench/plot"
)

const table1Usage = `go run ./bench table1: the sample complexities of Table 1 of the STABLE paper

Counts the samples of ξ and of φ that each method of the table needs to reach an error ε, over two
decades of ε, on two problems with known solutions and noise on every derivative. Prints the fitted
exponent p of ε^(−p), with its 95 % interval over groups of independent trials, beside the one that
the table claims. Each method takes the step sizes of its own theory; their constants are the best of
16 pairs on separate seeds, with the same number of samples for each. STABLE-paper is the paper's
method without additions; STABLE is that with steps that adapt, and is not tuned.

  go run ./bench table1 -quick
  go run ./bench table1
`

func Table1(ctx context.Context, args []string, out kit.Terminal) error {
	var c complexity
	if err := c.parse("table1", table1Usage, args, out); err != nil {
		return err
	}
	c.begin()
	return c.play("table1", func(l *kit.Campaign[outcome]) error {
		var choice, trials []*series
		for _, r := range c.all {
			choice = append(choice, r.tried...)
		}
		if err := complete(ctx, l, choice, 1, "choosing step sizes", out); err != nil {
			return err
		}
		for _, r := range c.all {
			r.choose()
			trials = append(trials, r.trials...)
		}
		if err := complete(ctx, l, trials, c.groups, "trials", out); err != nil {
			return err
		}
		return c.report(out.Stdout)
	})
}

type complexity struct {
	options
	regimes []*regime
	all     []*row
	samples uint64 // of a run in the choice of constants
}

// For the choice of constants, on seeds of its own.
const (
	choiceSamples = 20000
	choiceTrials  = 6
	tuneSeeds     = 1 << 32
)

func (c *complexity) begin() {
	c.samples = max(1000, uint64(c.length*choiceSamples))
	c.regimes = regimes(c.Seed)
	for _, g := range c.regimes {
		for _, r := range g.rows {
			c.plan(r)
			c.all = append(c.all, r)
		}
	}
}

// plan makes a row's series: tried has one of each choice, trials fewer in a group for a mean over a
// run, one for a long one. Runs of a group share a start where their number changes with the horizon.
func (c *complexity) plan(r *row) {
	key := r.key + "/" + r.name
	r.constants, r.marks = r.choices()[0], c.horizons(r)
	if r.alpha != nil {
		k := r.within(float64(c.samples))
		for i, constants := range r.choices() {
			r.tried = append(r.tried, &series{key: fmt.Sprintf("tune/%s/%d", key, i), marks: []int{k}, per: choiceTrials,
				cost: r.samples(k), walk: func(t int) walk { return r.walk(constants, k, c.Seed+tuneSeeds+uint64(t)) }})
		}
	}
	r.trials = chain(r.marks, r.horizon, func(k int, s *series) {
		const long = 20000
		s.key, s.cost, s.per = "run/"+key, r.samples(k), 12
		switch {
		case r.horizon && k > long:
			s.per = 1
		case r.rho > 0:
			s.per = 3
		}
		if c.Quick {
			s.per = (s.per + 1) / 2
		}
		s.walk = func(t int) walk {
			w := r.walk(r.constants, k, c.Seed+uint64(t))
			if r.horizon {
				w.start = c.Seed + uint64(t/s.per)
			}
			return w
		}
	})
}

func (r *row) walk(c [2]float64, k int, seed uint64) walk {
	w := walk{problem: r.problem, method: r.method(c[0], c[1], k), radius: r.radius, rho: r.rho,
		start: seed, seed: seed}
	if r.batch != nil {
		w.batch = r.batch(k)
	}
	return w
}

func (r *row) choose() {
	least := math.Inf(1)
	for i, s := range r.tried {
		score := s.groups[0][upper][0]
		if r.failed += min(s.failed, 1); s.failed == 0 && score < least {
			least, r.constants = score, r.choices()[i]
		}
	}
}

// horizons are steps in ratios of √2 within a run, of 2 between runs.
func (c *complexity) horizons(r *row) (list []int) {
	ratio, last := math.Sqrt2, r.steps[1]
	if c.Quick {
		last = r.steps[2]
	}
	if r.horizon {
		ratio = 2
	}
	first := float64(r.steps[0])
	for k := max(8*first, float64(last)*c.length); k > 0.99*first; k /= ratio {
		list = append(list, int(math.Round(k)))
	}
	slices.Reverse(list)
	return list
}

type fitted struct {
	exponent    kit.Estimate
	early, late float64   // of its halves
	eps, n      []float64 // geometric mean over groups
	from, to    float64   // of the fit
}

// Fits cover two decades of ε, down to the smallest that all groups reach.
const (
	fitDecades = 2
	fitPoints  = 9
)

// fit returns p of n ~ ε^(−p) over groups; error and cost are of a reading.
func fit(groups []reading, error, cost int) (f fitted) {
	lo, hi := 0.0, math.Inf(1)
	for _, r := range groups {
		lo, hi = max(lo, kit.Last(r[error])), min(hi, r[error][0])
	}
	f.to, f.from = 1.001*lo, min(0.999*hi, 1.001*lo*math.Pow(10, fitDecades))
	if !(f.to < f.from) {
		return fitted{exponent: kit.Estimate{Mean: math.NaN(), Half: math.Inf(1)}}
	}
	samplesTo := func(r reading, eps []float64) []float64 {
		return kit.Map(eps, func(e float64) float64 { return kit.Reach(r[cost], r[error], e) })
	}
	eps := kit.Ratios(f.from, f.to, fitPoints)
	f.eps = kit.Ratios(0.999*hi, f.to, 40)
	f.n = make([]float64, len(f.eps))
	var all, early, late []float64
	for _, r := range groups {
		inverse, n, half := inverses(eps), samplesTo(r, eps), fitPoints/2
		all = append(all, kit.Exponent(inverse, n))
		early = append(early, kit.Exponent(inverse[:half+1], n[:half+1]))
		late = append(late, kit.Exponent(inverse[half:], n[half:]))
		for i, v := range samplesTo(r, f.eps) {
			f.n[i] += math.Log(v)
		}
	}
	for i, v := range f.n {
		f.n[i] = math.Exp(v / float64(len(groups)))
	}
	f.exponent, f.early, f.late = kit.MeanOf(all), kit.MeanOf(early).Mean, kit.MeanOf(late).Mean
	return f
}

func inverses(v []float64) []float64 {
	return kit.Map(v, func(x float64) float64 { return 1 / x })
}

func (c *complexity) report(w io.Writer) error {
	fig := plot.Figure{Columns: 2, Caption: fmt.Sprintf(
		"Samples to reach ε, geometric mean over %d groups of trials; grey: the exponents of Table 1.", c.groups)}
	for _, g := range c.regimes {
		fig.Panels = append(fig.Panels, c.panels(w, g, upper, g.measure)...)
		if g.rho == 0 {
			fig.Panels = append(fig.Panels, c.panels(w, g, lower, "E‖y^{k} − y*(x^{k})‖²")...)
		}
	}
	c.choicesTable(w)
	return kit.WriteFigure(w, c.Out, "table1", &fig)
}

func (c *complexity) panels(w io.Writer, g *regime, error int, measure string) []plot.Panel {
	fmt.Fprintf(w, "%s, ε = %s\n", g.title, plain(measure))
	head := "method"
	panels := make([]plot.Panel, 2)
	for i, letter := range []string{"ξ", "φ"} {
		head += "\t" + letter + ": claimed\tfitted\tearly, late"
		panels[i] = plot.Panel{Title: g.title + ": " + letter + ", ε = " + measure,
			X: plot.Axis{Label: "1/ε", Log: true}, Y: plot.Axis{Label: "samples " + letter, Log: true}}
	}
	lines := [][]string{{head, "ε from", "to", "samples ξ, φ at the end", "failed"}}
	for _, r := range g.rows {
		line := r.name
		groups, failed := joined(r.trials)
		var f [2]fitted
		for i := range f {
			f[i] = fit(groups, error, xi+i)
			claim := "–"
			if p := r.claims[i]; p > 0 && error == upper {
				claim = fmt.Sprintf("%g", p)
			}
			line += fmt.Sprintf("\t%s\t%v\t%.2f, %.2f", claim, f[i].exponent, f[i].early, f[i].late)
			panels[i].Series = append(panels[i].Series,
				plot.Series{Name: r.name, X: inverses(f[i].eps), Y: f[i].n, Style: kit.Style(r.name)})
		}
		lines = append(lines, []string{line, fmt.Sprintf("%.1e\t%.1e\t%.2g, %.2g\t%d",
			f[1].from, f[1].to, kit.Last(f[0].n), kit.Last(f[1].n), failed)})
	}
	kit.Table(w, lines)
	for i := range panels {
		if error == upper { // nothing is claimed of y
			panels[i].Lines = slopes(g.rows, i, panels[i].Series)
		}
	}
	return panels
}

func plain(s string) string { return strings.NewReplacer("^{", "^", "_{", "_", "}", "").Replace(s) }

// slopes have the table's exponents, each beside the first curve it is claimed for.
func slopes(rows []*row, stream int, series []plot.Series) (lines []plot.Line) {
	seen := map[float64]bool{0: true}
	for i, r := range rows {
		p, curve := r.claims[stream], series[i]
		if seen[p] || len(curve.X) == 0 {
			continue
		}
		seen[p] = true
		x, y := kit.Last(curve.X), 2*kit.Last(curve.Y)
		lines = append(lines, plot.Line{Label: fmt.Sprintf("ε^{−%g}", p), P: p, C: y / math.Pow(x, p),
			From: x / math.Pow(10, fitDecades), To: x})
	}
	return lines
}

func (c *complexity) choicesTable(w io.Writer) {
	fmt.Fprintf(w, "constants, best of %d runs of %d samples each\n", choiceTrials, c.samples)
	lines := [][]string{{"regime", "method", "step sizes", "constants", "at an edge", "steps of a run", "choices diverged",
		"steps of the trials"}}
	for _, r := range c.all {
		choice := "–\t\t\t"
		if r.alpha != nil {
			choice = fmt.Sprintf("a = %g, b = %g\t%s\t%d\t%d of %d", r.constants[0], r.constants[1],
				r.edge(r.constants), r.within(float64(c.samples)), r.failed, len(r.choices()))
		}
		lines = append(lines, []string{r.title, r.name, r.orders, choice, fmt.Sprintf("%d to %d", r.marks[0], kit.Last(r.marks))})
	}
	kit.Rows(w, lines)
}
