package theory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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
	if r.cases, err = rateCases(r.Seed); err != nil {
		return err
	}
	done, err := r.run(ctx, out)
	if err != nil {
		return r.share.Unfinished(err, out)
	}
	return r.report(out.Stdout, done)
}

type rates struct {
	options
	cases []*rateCase
}

type rateCase struct {
	*regime
	variants []variant
}

type variant struct {
	key, name string
	steps     func(k int) theorem.Steps // for a run of k steps
	horizon   bool                      // they depend on k
	far       int                       // times as long, a third as many
	settled   int                       // where the start has been forgotten
}

func (r *rates) run(ctx context.Context, out kit.Terminal) (done map[string]outcome, err error) {
	l, err := r.open("theorems")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var tasks []kit.Task[outcome]
	for _, c := range r.cases {
		for _, v := range c.variants {
			tasks = append(tasks, r.trials(c, v).tasks(r.groups)...)
		}
	}
	return l.Complete(ctx, tasks, "trials", out)
}

// trials are a variant's runs, with marks in ratios of 2.
func (r *rates) trials(c *rateCase, v variant) *series {
	trials, first, last := 10, 128, 1<<17
	if r.Quick {
		trials, first, last = 4, 32, 1<<14
	}
	last = max(8*first, int(r.length*float64(last)))
	if v.far > 0 && !r.Quick {
		trials, last = trials/3, last*v.far
	}
	s := &series{key: c.key + "/" + v.key, horizon: v.horizon, per: func(int) int { return trials },
		cost: func(k int) float64 { return float64(k) },
		walk: func(k, t int) walk {
			a := v.steps(k)
			return walk{problem: c.problem, method: plainSTABLE(c.problem, a.Alpha, a.Beta, a.Tau), radius: c.radius,
				rho: c.rho, start: r.Seed + uint64(t), seed: r.Seed + uint64(t)}
		}}
	for k := first; k <= last; k *= 2 {
		s.marks = append(s.marks, k)
	}
	return s
}

// decay is a mean over groups with its interval, and exponents: of all marks but the first 30 %, where
// the start shows, and of the last three.
func decay(v variant, marks []int, groups []reading, of int) (s plot.Series, exponent, late kit.Estimate) {
	for i, mark := range marks {
		var values []float64
		for _, g := range groups {
			values = append(values, g[of][i])
		}
		e := kit.MeanOf(values)
		s.X, s.Y = append(s.X, float64(mark)), append(s.Y, e.Mean)
		factor := math.Exp(e.Half / e.Mean) // the interval of the logarithm, to first order
		s.Lo, s.Hi = append(s.Lo, e.Mean/factor), append(s.Hi, e.Mean*factor)
	}
	n := len(marks)
	skip := int(0.3 * float64(n))
	for v.settled > 0 && skip < n && marks[skip] < v.settled {
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

func (r *rates) report(w io.Writer, done map[string]outcome) error {
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
	for _, c := range r.cases {
		panel, err := r.panel(w, c, done)
		if err != nil {
			return err
		}
		fig.Panels = append(fig.Panels, panel)
	}
	return kit.WriteFigure(w, r.Out, "theorems", &fig)
}

func (r *rates) panel(w io.Writer, c *rateCase, done map[string]outcome) (plot.Panel, error) {
	order, label, place, measure := -1.0, "1/k", 0.2, "E‖x^{k} − x*‖²"
	panel := plot.Panel{Title: "Theorem 3, strongly convex",
		X: plot.Axis{Label: "steps k", Log: true}, Y: plot.Axis{Label: "squared error", Log: true}}
	if c.rho > 0 {
		order, label, place, measure = -0.5, "K^{−1/2}", 3, "mean ρ²‖x̂ − x‖²"
		panel.Title, panel.X.Label = "Theorem 2, nonconvex", "steps of the run K"
	}
	fmt.Fprintf(w, "%s: claimed exponent %g\n", panel.Title, order)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step sizes\tmeasure\tfitted exponent\tover the last three marks\tfirst value\tlast "+
		"value\tα, β, τ at the first and the last step")
	for _, v := range c.variants {
		trials := r.trials(c, v)
		top := kit.Last(trials.marks)
		s := v.steps(top)
		groups, _ := trials.curves(r.groups, done)
		for q, name := range []string{upper: measure, lower: "E‖y^{k} − y*(x^{k})‖²"} {
			d, exponent, late := decay(v, trials.marks, groups, q)
			fmt.Fprintf(tw, "%s\t%s\t%v\t%v\t%.3g\t%.3g\t%.2g, %.2g, %.2g to %.2g, %.2g, %.2g\n",
				v.name, kit.Plain(name), exponent, late, d.Y[0], kit.Last(d.Y),
				s.Alpha.At(0), s.Beta.At(0), s.Tau.At(0), s.Alpha.At(top), s.Beta.At(top), s.Tau.At(top))
			d.Name = []string{"x: ", "y: "}[q] + v.name
			panel.Series = append(panel.Series, d)
		}
	}
	tw.Flush()
	err := c.explain(w)
	fmt.Fprintln(w)
	practical := panel.Series[0]
	panel.Lines = []plot.Line{{Label: label, P: order,
		C:    place * kit.Last(practical.Y) * math.Pow(kit.Last(practical.X), -order),
		From: practical.X[0], To: kit.Last(practical.X)}}
	return panel, err
}
