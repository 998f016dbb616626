package theory

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
)

const theoremsUsage = `go run ./bench theorems: Theorems 1 to 3 of the STABLE paper

Measures three rates on quadratic problems with known solutions: the Lyapunov function of Theorem 1
along the flow, within and outside the bound on α/β; the K^(−1/2) of Theorem 2 for nonconvex F; and
the 1/k of Theorem 3 for strongly convex F. The method is the paper's, without safeguards, with the
step sizes that the theorems prescribe and with practical ones of the same order. Exponents are
fitted on groups of independent trials, and have 95 % intervals.

  go run ./bench theorems -quick
  go run ./bench theorems
  go run ./bench theorems -part 3/8        the third of eight parts; -merge 8 does the rest, and reports
`

func Theorems(ctx context.Context, args []string, out kit.Terminal) (err error) {
	var r rates
	if err := r.parse("theorems", theoremsUsage, args, out); err != nil {
		return err
	}
	if r.regimes, err = regimes(r.Seed); err != nil {
		return err
	}
	slices.Reverse(r.regimes)
	var all []*series
	for _, g := range r.regimes {
		if err := g.vary(); err != nil {
			return err
		}
		for _, v := range g.variants {
			r.plan(g, v)
			all = append(all, v.trials...)
		}
	}
	return r.play("theorems", out, func(l *kit.Campaign[outcome]) error {
		if err := complete(ctx, l, all, r.groups, "trials", out); err != nil {
			return err
		}
		return r.report(out.Stdout)
	})
}

type rates struct {
	options
	regimes []*regime
}

type variant struct {
	key, name string
	steps     func(k int) theorem.Steps // for a run of k steps
	horizon   bool                      // they depend on k
	far       int                       // times as long, a third as many
	settled   int                       // where the start has been forgotten
	marks     []int
	trials    []*series
}

// plan makes a variant's series, with marks in ratios of 2.
func (r *rates) plan(g *regime, v *variant) {
	trials, first, last := 10, 128, 1<<17
	if r.Quick {
		trials, first, last = 4, 32, 1<<14
	}
	last = max(8*first, int(r.length*float64(last)))
	if v.far > 0 && !r.Quick {
		trials, last = trials/3, last*v.far
	}
	for k := first; k <= last; k *= 2 {
		v.marks = append(v.marks, k)
	}
	v.trials = chain(v.marks, v.horizon, func(k int, s *series) {
		s.key, s.per, s.cost = g.key+"/"+v.key, trials, float64(k)
		s.walk = func(t int) walk {
			a, seed := v.steps(k), r.Seed+uint64(t)
			return walk{problem: g.problem, method: plainSTABLE(g.problem, a.Alpha, a.Beta, a.Tau), radius: g.radius,
				rho: g.rho, start: seed, seed: seed}
		}
	})
}

// decay is a mean over groups with its interval, and exponents: of all marks but the first 30 %, where
// the start shows, and of the last three.
func decay(v *variant, of int) (s plot.Series, exponent, late kit.Estimate) {
	groups, _ := joined(v.trials)
	for i, mark := range v.marks {
		var values []float64
		for _, g := range groups {
			values = append(values, g[of][i])
		}
		e := kit.MeanOf(values)
		s.X, s.Y = append(s.X, float64(mark)), append(s.Y, e.Mean)
		factor := math.Exp(e.Half / e.Mean) // the interval of the logarithm, to first order
		s.Lo, s.Hi = append(s.Lo, e.Mean/factor), append(s.Hi, e.Mean*factor)
	}
	n := len(v.marks)
	skip := int(0.3 * float64(n))
	for v.settled > 0 && skip < n && v.marks[skip] < v.settled {
		skip++
	}
	from := func(i int) kit.Estimate {
		var p []float64
		for _, g := range groups {
			p = append(p, kit.Exponent(s.X[i:], g[of][i:]))
		}
		return kit.MeanOf(p)
	}
	return s, from(min(skip, n-3)), from(n - 3)
}

func (r *rates) report(w io.Writer) error {
	flowing, err := quadratic.New(flowOptions(r.Seed))
	if err != nil {
		return err
	}
	list, bound, threshold, err := flows(flowing, flowing.Constants(2))
	if err != nil {
		return err
	}
	fig := plot.Figure{Columns: 3, Height: 46, Caption: fmt.Sprintf(
		"x: mean of ρ²‖x̂ − x‖² over a run (Theorem 2), E‖x^{k} − x*‖² (Theorem 3); y: E‖y^{k} − y*(x^{k})‖². "+
			"Bands: 95 %% interval over %d groups of trials; grey: the order proved.", r.groups)}
	fig.Panels = append(fig.Panels, flowPanel(w, list, bound, threshold))
	for _, g := range r.regimes {
		panel, err := g.panel(w)
		if err != nil {
			return err
		}
		fig.Panels = append(fig.Panels, panel)
	}
	return kit.WriteFigure(w, r.Out, "theorems", &fig)
}

func (g *regime) panel(w io.Writer) (plot.Panel, error) {
	order, label, place, measure := -1.0, "1/k", 0.2, "E‖x^{k} − x*‖²"
	panel := plot.Panel{Title: "Theorem 3, strongly convex",
		X: plot.Axis{Label: "steps k", Log: true}, Y: plot.Axis{Label: "squared error", Log: true}}
	if g.rho > 0 {
		order, label, place, measure = -0.5, "K^{−1/2}", 3, "mean ρ²‖x̂ − x‖²"
		panel.Title, panel.X.Label = "Theorem 2, nonconvex", "steps of the run K"
	}
	fmt.Fprintf(w, "%s: claimed exponent %g\n", panel.Title, order)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step sizes\tmeasure\tfitted exponent\tover the last three marks\tfirst value\tlast "+
		"value\tα, β, τ at the first and the last step")
	for _, v := range g.variants {
		top := kit.Last(v.marks)
		s := v.steps(top)
		for q, name := range []string{upper: measure, lower: "E‖y^{k} − y*(x^{k})‖²"} {
			d, exponent, late := decay(v, q)
			fmt.Fprintf(tw, "%s\t%s\t%v\t%v\t%.3g\t%.3g\t%.2g, %.2g, %.2g to %.2g, %.2g, %.2g\n",
				v.name, kit.Plain(name), exponent, late, d.Y[0], kit.Last(d.Y),
				s.Alpha.At(0), s.Beta.At(0), s.Tau.At(0), s.Alpha.At(top), s.Beta.At(top), s.Tau.At(top))
			d.Name = []string{"x: ", "y: "}[q] + v.name
			panel.Series = append(panel.Series, d)
		}
	}
	tw.Flush()
	err := g.explain(w)
	fmt.Fprintln(w)
	practical := panel.Series[0]
	panel.Lines = []plot.Line{{Label: label, P: order,
		C:    place * kit.Last(practical.Y) * math.Pow(kit.Last(practical.X), -order),
		From: practical.X[0], To: kit.Last(practical.X)}}
	return panel, err
}
