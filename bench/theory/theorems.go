package theory

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel"
	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

const theoremsUsage = `go run ./bench theorems: Theorems 1 to 3 of the STABLE paper

Measures three rates on quadratic problems with known solutions: the Lyapunov function of Theorem 1
along the flow, within and outside the bound on α/β; the K^(−1/2) of Theorem 2 for nonconvex F; and
the 1/k of Theorem 3 for strongly convex F. The method is the paper's, without safeguards, with the
step sizes that the theorems prescribe and with practical ones of the same order. Exponents are
fitted on groups of independent trials, and have 95 % intervals.

  go run ./bench theorems -quick
  go run ./bench theorems
`

func Theorems(ctx context.Context, args []string, out kit.Terminal) error {
	var r rates
	if err := r.parse("theorems", theoremsUsage, args, out); err != nil {
		return err
	}
	r.regimes = regimes(r.Seed)
	slices.Reverse(r.regimes)
	var all []*series
	for _, g := range r.regimes {
		if c := g.constants(); g.rho > 0 {
			g.variants = theorem2Variants(c, g.rho)
		} else {
			g.variants = theorem3Variants(c)
		}
		for _, v := range g.variants {
			r.plan(g, v)
			all = append(all, v.trials...)
		}
	}
	return r.play("theorems", func(l *kit.Campaign[outcome]) error {
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
		e := kit.MeanOf(kit.Map(groups, func(g reading) float64 { return g[of][i] }))
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
		return kit.MeanOf(kit.Map(groups, func(g reading) float64 { return kit.Exponent(s.X[i:], g[of][i:]) }))
	}
	return s, from(min(skip, n-3)), from(n - 3)
}

func (r *rates) report(w io.Writer) error {
	fig := plot.Figure{Columns: 3, Height: 46, Caption: fmt.Sprintf(
		"x: mean of ρ²‖x̂ − x‖² over a run (Theorem 2), E‖x^{k} − x*‖² (Theorem 3); y: E‖y^{k} − y*(x^{k})‖². "+
			"Bands: 95 %% interval over %d groups of trials; grey: the order proved.", r.groups)}
	fig.Panels = append(fig.Panels, flowPanel(w, r.Seed))
	for _, g := range r.regimes {
		fig.Panels = append(fig.Panels, g.panel(w))
	}
	return kit.WriteFigure(w, r.Out, "theorems", &fig)
}

func (g *regime) panel(w io.Writer) plot.Panel {
	order, label, place := -1.0, "1/k", 0.2
	panel := plot.Panel{Title: "Theorem 3, strongly convex",
		X: plot.Axis{Label: "steps k", Log: true}, Y: plot.Axis{Label: "squared error", Log: true}}
	if g.rho > 0 {
		order, label, place = -0.5, "K^{−1/2}", 3
		panel.Title, panel.X.Label = "Theorem 2, nonconvex", "steps of the run K"
	}
	fmt.Fprintf(w, "%s: claimed exponent %g\n", panel.Title, order)
	lines := [][]string{{"step sizes", "measure", "fitted exponent", "over the last three marks", "first value",
		"last value", "α, β, τ at the first and the last step"}}
	for _, v := range g.variants {
		top := kit.Last(v.marks)
		s := v.steps(top)
		for q, name := range []string{upper: g.measure, lower: "E‖y^{k} − y*(x^{k})‖²"} {
			d, exponent, late := decay(v, q)
			lines = append(lines, []string{fmt.Sprintf("%s\t%s\t%v\t%v\t%.3g\t%.3g\t%.2g, %.2g, %.2g to %.2g, %.2g, %.2g",
				v.name, plain(name), exponent, late, d.Y[0], kit.Last(d.Y),
				s.Alpha.At(0), s.Beta.At(0), s.Tau.At(0), s.Alpha.At(top), s.Beta.At(top), s.Tau.At(top))})
			d.Name = []string{"x: ", "y: "}[q] + v.name
			panel.Series = append(panel.Series, d)
		}
	}
	kit.Rows(w, lines)
	g.explain(w)
	fmt.Fprintln(w)
	practical := panel.Series[0]
	panel.Lines = []plot.Line{{Label: label, P: order,
		C:    place * kit.Last(practical.Y) * math.Pow(kit.Last(practical.X), -order),
		From: practical.X[0], To: kit.Last(practical.X)}}
	return panel
}

func (g *regime) constants() theorem.Constants {
	o := g.problem.Options()
	x, _ := g.problem.Optimum()
	y := make([]float64, o.Dy)
	kit.Must(0, g.problem.Solution(y, x))
	return g.problem.Constants(max(g.radius, mat.Norm(y)/max(1, o.CrossNorm/o.MuG)))
}

func theorem2Variants(c theorem.Constants, rho float64) []*variant {
	return []*variant{
		{key: "practical", horizon: true, name: "practical", steps: func(k int) theorem.Steps {
			r := bilevel.Constant(1 / math.Sqrt(float64(k)))
			return theorem.Steps{Alpha: 2 * r, Beta: 2 * r, Tau: r}
		}},
		{key: "theorem", horizon: true, name: "the theorem’s steps",
			steps: func(k int) theorem.Steps { return kit.Must(c.Theorem2(k, rho)) }},
	}
}

const ratio3 = 0.15

// theorem3Variants returns β = 2/(c̃₅(k+20)) as in the proof, c̃₅ its constant for α = a·β; β =
// 1/(k+20) as in the statement; and the theorem's steps.
func theorem3Variants(c theorem.Constants) []*variant {
	own := kit.Must(c.Theorem3())
	kappa := c.MuG * c.Lg / (c.MuG + c.Lg)
	c5 := min(c.Mu*ratio3, kappa/4, 0.25)
	fixed := func(s theorem.Steps) func(int) theorem.Steps { return func(int) theorem.Steps { return s } }
	falling := func(b float64) theorem.Steps {
		const k0 = 20
		beta := bilevel.Power{C: b, K0: k0, P: 1}
		return theorem.Steps{Alpha: bilevel.Power{C: ratio3 * b, K0: k0, P: 1}, Beta: beta, Tau: beta}
	}
	return []*variant{
		{key: "proof", name: "practical", steps: fixed(falling(2 / c5))},
		{key: "printed", name: "practical, β as printed", steps: fixed(falling(1))},
		{key: "theorem", name: "the theorem’s steps",
			far: 32, settled: 4 * int(own.Beta.(bilevel.Power).K0), steps: fixed(own)},
	}
}

// explain says how small the theorem's steps are.
func (g *regime) explain(w io.Writer) {
	k := g.constants()
	if g.rho > 0 {
		const long = 1 << 17
		alpha := func(steps int) float64 { return kit.Must(k.Theorem2(steps, 1)).Alpha.At(0) }
		far := 1
		for float64(far)*alpha(far) < 1 && far <= math.MaxInt/8 {
			far *= 2
		}
		fmt.Fprintf(w, "(eq.stepsize): at K = %d, α = %.2g; Kα comes to 1 at K ≈ %.1g\n", long, alpha(long), float64(far))
		return
	}
	s := kit.Must(k.Theorem3())
	fmt.Fprintf(w, "(eq.stepsize2): K₀ = %.2g, α/β = %.2g: the start is forgotten around k = K₀\n",
		s.Beta.(bilevel.Power).K0, s.Alpha.At(0)/s.Beta.At(0))
	var j eig.Jacobi
	x, _ := g.problem.Optimum()
	kit.Must(0, j.FactorValues(kit.HessianF(g.problem, x)))
	fmt.Fprintf(w, "practical: α/β = %g, least eigenvalue of ∇²F %.3g; β as printed makes α = %g/(k+20), "+
		"with which the slowest part of E‖x − x*‖² falls as k^(−%.2f)\n", ratio3, j.Values()[0], ratio3, 2*ratio3*j.Values()[0])
}

type descent struct {
	ratio        float64   // α over the bound
	steps, rises int       // all steps, and those in which V rose
	top, end     float64   // of (V − F*)/(V(0) − F*)
	t, v         []float64 // βt, and that, at no more places than can be seen
}

// flows starts where V is most likely to rise, with β = 1; threshold is the least α over the bound at which it can.
func flows(p *quadratic.Problem, c theorem.Constants) (list []descent, bound, threshold float64) {
	bound = kit.Must(flow.MaxAlpha(c, 1))
	x0, y0, least := steepStart(p)
	for _, ratio := range []float64{0.5, 1, 2, 10, 100} {
		d := descend(p, c, flow.Options{Alpha: ratio * bound, Beta: 1, X0: x0, Y0: y0})
		d.ratio = ratio
		list = append(list, d)
	}
	return list, bound, least / bound
}

// descend follows one path to βt = 8.
func descend(p *quadratic.Problem, c theorem.Constants, o flow.Options) (d descent) {
	_, _, lF := c.Lipschitz()
	const until, seen = 8, 600
	d.steps = int(math.Ceil(until / o.Beta * 10 * math.Max(o.Beta*c.Lg, o.Alpha*lF)))
	o.H = until / o.Beta / float64(d.steps)
	f := kit.Must(flow.New(p, o))
	_, best := p.Optimum()
	first := kit.Must(f.Lyapunov()) - best
	for before := math.Inf(1); f.K() <= d.steps; {
		v := kit.Must(f.Lyapunov()) - best
		if v > before && v > 1e-12*first { // below, V is rounding
			d.rises++
		}
		before, d.end = v, v/first
		d.top = max(d.top, d.end)
		if f.K()%(d.steps/seen+1) == 0 || f.K() == d.steps {
			d.t, d.v = append(d.t, o.Beta*f.T()), append(d.v, d.end)
		}
		kit.Must(0, f.Step())
	}
	return d
}

// steepStart returns the start from which V is most likely to rise, and the least α/β for which it
// does. In a quadratic problem
//
//	V' = −α⟨∇F, ∇F + Je⟩ − β eᵀAe,   e = y − y*(x),   J = −g_xy g_yy⁻¹,   A = g_yy,
//
// is largest at ∇F = −½Je, ¼α‖Je‖² − β eᵀAe. With A = LLᵀ and e = L⁻ᵀu, the largest ‖Je‖²/eᵀAe is the
// largest eigenvalue of NNᵀ, N = L⁻¹Jᵀ, and u its eigenvector.
func steepStart(p *quadratic.Problem) (x0, y0 []float64, least float64) {
	dx, dy := p.Dims()
	xs, _ := p.Optimum()
	ys, e, je := make([]float64, dy), make([]float64, dy), make([]float64, dx)
	gxy, gyy, lower := mat.NewDense(dx, dy), mat.NewSym(dy), mat.NewDense(dy, dy)
	jt, n := mat.NewDense(dy, dx), mat.NewDense(dy, dx)
	var a chol.Cholesky
	var s eig.Symmetric
	kit.Must(0, cmp.Or(p.Solution(ys, xs), p.CrossG(gxy, xs, ys, nil), p.HessG(gyy, xs, ys, nil), a.Factor(gyy)))
	a.LTo(lower)
	mat.CopyTrans(jt, gxy)
	a.Solve(jt, jt) // −Jᵀ
	mat.SolveLower(n, lower, jt)
	gyy.Zero()
	mat.RankK(gyy, 1, n)
	kit.Must(0, s.Factor(gyy))
	mat.SolveLowerTransVec(e, lower, s.VectorsT().Row(dy-1))
	mat.MulVecTrans(je, jt, e) // −Je

	kit.Must(0, a.Factor(kit.HessianF(p, xs)))
	x0, y0 = make([]float64, dx), make([]float64, dy)
	mat.Axpy(x0, 0.5, je)
	a.SolveVec(x0, x0)
	mat.Axpy(x0, 1, xs)
	kit.Must(0, p.Solution(y0, x0))
	mat.Axpy(y0, 1, e)
	return x0, y0, 4 / s.Values()[dy-1]
}

func flowProblem(seed uint64) *quadratic.Problem {
	o := quadratic.Options{Dx: 5, Dy: 5, Seed: seed, MuG: 1, LG: 4, MuP: 0.2, LP: 1, CrossNorm: 3}
	return kit.Must(quadratic.New(o))
}

func flowPanel(w io.Writer, seed uint64) plot.Panel {
	p := flowProblem(seed)
	list, bound, threshold := flows(p, p.Constants(2))
	fmt.Fprintf(w, "Theorem 1: V = F + ½‖y − y*(x)‖² along the flow; bound α/β ≤ %.4g; from the worst start V "+
		"can rise from %.3g times the bound on\n", bound, threshold)
	lines := [][]string{{"α / bound", "steps", "steps in which V rose", "largest (V − F*)/(V(0) − F*)", "at the end"}}
	panel := plot.Panel{Title: "Theorem 1",
		X: plot.Axis{Label: "time βt"}, Y: plot.Axis{Label: "(V − F*)/(V(0) − F*)", Log: true, Min: 1e-3}}
	for _, d := range list {
		lines = append(lines, []string{fmt.Sprintf("%g\t%d\t%d\t%.4g\t%.2g", d.ratio, d.steps, d.rises, d.top, d.end)})
		panel.Series = append(panel.Series, plot.Series{Name: fmt.Sprintf("α/β = %g × bound", d.ratio), X: d.t, Y: d.v})
	}
	kit.Table(w, lines)
	return panel
}
