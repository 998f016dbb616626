package theory

import (
	"fmt"
	"io"
	"math"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

type descent struct {
	ratio        float64   // α over the bound
	steps, rises int       // all steps, and those in which V rose
	top, end     float64   // of (V − F*)/(V(0) − F*)
	t, v         []float64 // βt, and that, at no more places than can be seen
}

// flows starts where V is most likely to rise, with β = 1; threshold is the least α, in units of the
// bound, at which it can.
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
	kit.Must(0, kit.FirstOf(p.Solution(ys, xs), p.CrossG(gxy, xs, ys, nil), p.HessG(gyy, xs, ys, nil), a.Factor(gyy)))
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
