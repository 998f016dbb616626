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

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// Theorems is the command theorems.
func Theorems(ctx context.Context, args []string, out kit.Terminal) error {
	var f theoryFlags
	share, err := f.parse("theorems", theoremsUsage, args, out)
	if err != nil {
		return err
	}
	r, err := newRates(&f)
	if err != nil {
		return err
	}
	done, err := r.run(ctx, share, out)
	if err != nil {
		return share.Unfinished(err, out)
	}
	return r.report(out.Stdout, done)
}

type rates struct {
	theoryFlags
	trials      int // of a group
	first, last int // marks, in ratios of 2
	cases       []*rateCase
}

func newRates(f *theoryFlags) (*rates, error) {
	r := &rates{theoryFlags: *f, trials: 10, first: 128, last: 1 << 17}
	if f.Quick {
		r.trials, r.first, r.last = 4, 32, 1<<14
	}
	r.last = max(8*r.first, int(f.length*float64(r.last)))
	var err error
	r.cases, err = rateCases(f.Seed)
	return r, err
}

type rateCase struct {
	key      string
	problem  *quadratic.Problem
	rho      float64 // of the measure of Theorem 2; 0: the errors of Theorem 3
	radius   float64
	variants []variant
}

type variant struct {
	key, name string
	steps     func(k int) theorem.Steps // for a run of k steps
	horizon   bool                      // they depend on k
	far       int                       // runs are that many times as long, but a third as many; 0: 1
	settled   int                       // steps from which on the start has been forgotten; 0: as for the others
}

func (r *rates) marks(v variant) (list []int) {
	last := r.last
	if v.far > 0 && !r.Quick {
		last *= v.far
	}
	for k := r.first; k <= last; k *= 2 {
		list = append(list, k)
	}
	return list
}

func (r *rates) perGroup(v variant) int {
	if v.far > 0 && !r.Quick {
		return r.trials / 3
	}
	return r.trials
}

func (r *rates) run(ctx context.Context, share kit.Share, out kit.Terminal) (done map[string]outcome, err error) {
	c, err := kit.Open[outcome](r.Out, "theorems", r.identity("theorems"), share)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var tasks []kit.Task[outcome]
	for _, c := range r.cases {
		for _, v := range c.variants {
			for t := range r.groups * r.perGroup(v) {
				tasks = append(tasks, r.tasks(c, v, t)...)
			}
		}
	}
	return c.Complete(ctx, tasks, "trials", out)
}

// tasks lists the runs of a trial: one for all marks, or one each.
func (r *rates) tasks(c *rateCase, v variant, t int) (list []kit.Task[outcome]) {
	w := walk{problem: c.problem, radius: c.radius, rho: c.rho, start: r.Seed + uint64(t), seed: r.Seed + uint64(t)}
	add := func(k int, marks []int) {
		s := v.steps(k)
		w.method, w.marks = plainSTABLE(c.problem, s.Alpha, s.Beta, s.Tau), marks
		list = append(list, kit.Task[outcome]{Key: c.runKey(v, k, t), Cost: float64(k), Run: w.run})
	}
	marks := r.marks(v)
	if !v.horizon {
		add(marks[len(marks)-1], marks)
		return list
	}
	for i, k := range marks {
		add(k, marks[i:i+1])
	}
	return list
}

func (c *rateCase) runKey(v variant, k, t int) string {
	return fmt.Sprintf("%s/%s/%d/%d", c.key, v.key, k, t)
}

func (r *rates) curves(c *rateCase, v variant, done map[string]outcome) (groups []reading) {
	marks, per := r.marks(v), r.perGroup(v)
	for g := range r.groups {
		sum := newReading(len(marks))
		for t := g * per; t < (g+1)*per; t++ {
			if !v.horizon {
				sum.add(0, done[c.runKey(v, marks[len(marks)-1], t)].Reading, 1/float64(per))
				continue
			}
			for i, k := range marks {
				sum.add(i, done[c.runKey(v, k, t)].Reading, 1/float64(per))
			}
		}
		groups = append(groups, sum)
	}
	return groups
}

// fitFrom is the share of early marks, where the start still shows, that a fit leaves out.
const fitFrom = 0.3

func firstFitted(v variant, marks []int) int {
	i := int(fitFrom * float64(len(marks)))
	for v.settled > 0 && i < len(marks) && marks[i] < v.settled {
		i++
	}
	return min(i, len(marks)-3)
}

// decay is a mean over groups with its 95 % interval and fitted exponent.
type decay struct {
	k, mean, lo, hi []float64
	exponent        kit.Estimate
	late            kit.Estimate // over the last three marks
}

func newDecay(marks []int, skip int, groups []reading, of func(reading) []float64) decay {
	var d decay
	for i, mark := range marks {
		var values []float64
		for _, g := range groups {
			values = append(values, of(g)[i])
		}
		e := kit.MeanOf(values)
		d.k, d.mean = append(d.k, float64(mark)), append(d.mean, e.Mean)
		factor := math.Exp(e.Half / e.Mean) // the interval of the logarithm, to first order
		d.lo, d.hi = append(d.lo, e.Mean/factor), append(d.hi, e.Mean*factor)
	}
	n := len(marks)
	var all, late []float64
	for _, g := range groups {
		all = append(all, kit.Exponent(d.k[skip:], of(g)[skip:]))
		late = append(late, kit.Exponent(d.k[n-3:], of(g)[n-3:]))
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
		fig.Panels = append(fig.Panels, r.panel(w, c, done))
	}
	return kit.WriteFigure(w, r.Out, "theorems", &fig)
}

func (r *rates) panel(w io.Writer, c *rateCase, done map[string]outcome) plot.Panel {
	order, label, place, upper := -1.0, "1/k", 0.2, "E‖x^{k} − x*‖²"
	panel := plot.Panel{Title: "Theorem 3, strongly convex",
		X: plot.Axis{Label: "steps k", Log: true}, Y: plot.Axis{Label: "squared error", Log: true}}
	if c.rho > 0 {
		order, label, place, upper = -0.5, "K^{−1/2}", 3, "mean ρ²‖x̂ − x‖²"
		panel.Title, panel.X.Label = "Theorem 2, nonconvex", "steps of the run K"
	}
	fmt.Fprintf(w, "%s: claimed exponent %g\n", panel.Title, order)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step sizes\tmeasure\tfitted exponent\tover the last three marks\tfirst value\tlast "+
		"value\tα, β, τ at the first and the last step")
	for _, v := range c.variants {
		marks := r.marks(v)
		top := marks[len(marks)-1]
		s := v.steps(top)
		groups := r.curves(c, v, done)
		for _, m := range []struct {
			letter, name string
			of           func(reading) []float64
		}{{"x", upper, func(r reading) []float64 { return r.Upper }}, {"y", "E‖y^{k} − y*(x^{k})‖²", func(r reading) []float64 { return r.Lower }}} {
			d := newDecay(marks, firstFitted(v, marks), groups, m.of)
			fmt.Fprintf(tw, "%s\t%s\t%v\t%v\t%.3g\t%.3g\t%.2g, %.2g, %.2g to %.2g, %.2g, %.2g\n",
				v.name, kit.Plain(m.name), d.exponent, d.late, d.mean[0], kit.Last(d.mean),
				s.Alpha.At(0), s.Beta.At(0), s.Tau.At(0), s.Alpha.At(top), s.Beta.At(top), s.Tau.At(top))
			panel.Series = append(panel.Series,
				plot.Series{Name: m.letter + ": " + v.name, X: d.k, Y: d.mean, Lo: d.lo, Hi: d.hi})
		}
	}
	tw.Flush()
	c.explain(w)
	fmt.Fprintln(w)
	practical := panel.Series[0]
	panel.Lines = []plot.Line{{Label: label, P: order,
		C:    place * kit.Last(practical.Y) * math.Pow(kit.Last(practical.X), -order),
		From: practical.X[0], To: kit.Last(practical.X)}}
	return panel
}
