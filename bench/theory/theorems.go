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

// fitFrom is the share of marks that a fit leaves out: the start shows there.
const fitFrom = 0.3

func firstFitted(v variant, marks []int) int {
	i := int(fitFrom * float64(len(marks)))
	for v.settled > 0 && i < len(marks) && marks[i] < v.settled {
		i++
	}
	return min(i, len(marks)-3)
}

// decay is a mean over groups.
type decay struct {
	k, mean, lo, hi []float64
	exponent        kit.Estimate
	late            kit.Estimate // over the last three marks
}

func newDecay(marks []int, skip int, groups []reading, of int) decay {
	var d decay
	for i, mark := range marks {
		var values []float64
		for _, g := range groups {
			values = append(values, g[of][i])
		}
		e := kit.MeanOf(values)
		d.k, d.mean = append(d.k, float64(mark)), append(d.mean, e.Mean)
		factor := math.Exp(e.Half / e.Mean) // the interval of the logarithm, to first order
		d.lo, d.hi = append(d.lo, e.Mean/factor), append(d.hi, e.Mean*factor)
	}
	n := len(marks)
	var all, late []float64
	for _, g := range groups {
		all = append(all, kit.Exponent(d.k[skip:], g[of][skip:]))
		late = append(late, kit.Exponent(d.k[n-3:], g[of][n-3:]))
	}
	d.exponent, d.late = kit.MeanOf(all), kit.MeanOf(late)
	return d
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
		for _, m := range []struct {
			letter, name string
			of           int
		}{{"x", measure, upper}, {"y", "E‖y^{k} − y*(x^{k})‖²", lower}} {
			d := newDecay(trials.marks, firstFitted(v, trials.marks), groups, m.of)
			fmt.Fprintf(tw, "%s\t%s\t%v\t%v\t%.3g\t%.3g\t%.2g, %.2g, %.2g to %.2g, %.2g, %.2g\n",
				v.name, kit.Plain(m.name), d.exponent, d.late, d.mean[0], kit.Last(d.mean),
				s.Alpha.At(0), s.Beta.At(0), s.Tau.At(0), s.Alpha.At(top), s.Beta.At(top), s.Tau.At(top))
			panel.Series = append(panel.Series,
				plot.Series{Name: m.letter + ": " + v.name, X: d.k, Y: d.mean, Lo: d.lo, Hi: d.hi})
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
