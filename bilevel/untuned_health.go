package bilevel

import (
	"math"

	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// influence learns the covariance of the hypergradient at the root of g_y: of
//
//	ψ = m − h − ∂h/∂y·H⁻¹(g_y(φ) − g_y),   m the hypergradient of one sample,
//
// by which one sample moves h, through all five derivatives. The derivative along w = H⁻¹(g_y(φ) −
// g_y) is a difference at one sample over τw, the length by which one more sample moves y. ψ is
// taken at the steps of replay. h has the covariance of ψ over the number of samples, or times τ.
type influence struct {
	n     int
	cov   *mat.Sym // mean of ψψᵀ, weights j³; nil beyond maxCurved
	trace []float64
	tau   float64   // the gain of h, see follower.gain
	held  []bool    // entries at a bound that the last h pushed against
	mu    bool      // H_yy was below μ_g
	below float64   // share of the late steps in which H_yy had eigenvalues below 0
	psi   []float64 // scratch
	yTo   []float64
	w     []float64
	solve chol.Cholesky
	part  *mat.Sym
}

func newInfluence(dx, dy int) influence {
	v := influence{
		trace: make([]float64, dx), held: make([]bool, dx), psi: make([]float64, dx),
		yTo: make([]float64, dy), w: make([]float64, dy),
	}
	if dx <= maxCurved {
		v.cov, v.part = mat.NewSym(dx), mat.NewSym(dx)
	}
	return v
}

// gain is the larger P/S of f_y and g_y, and of g_yy where neither has noise.
func (f *follower) gain() float64 {
	share := func(g *gain) float64 { return min(1, quotient(g.p, g.s)) }
	if tau := max(share(&f.gfy), share(&f.ggy)); tau > 0 {
		return tau
	}
	return share(&f.gyy)
}

// sense takes one ψ at a step of replay, after m has been made.
func (v *influence) sense(it *Iteration, m *untuned, xi, phi []Sample) error {
	if !replaysAt(it.K()) {
		return nil
	}
	v.tau = m.gain()
	o, x, y := it.Oracle(), it.X(), it.Y()
	for j := range v.w {
		v.w[j] = m.now.gy[j] - m.gy[j]
		if m.lower != nil {
			_, c := m.at(&m.ggy, it.K(), 0)
			v.w[j] -= c * m.lower.d[j]
		}
	}
	if err := m.invert.SolveVec(v.w, v.w); err != nil {
		return err
	}
	for i := range v.psi {
		v.psi[i] = m.m[i] - m.h[i]
	}
	if v.tau > 0 {
		for j := range v.yTo {
			v.yTo[j] = y[j] - v.tau*v.w[j]
		}
		if err := v.along(o, m, x, xi, phi); err != nil {
			return err
		}
	}
	weight := newest(v.n)
	v.n++
	for i, p := range v.psi {
		v.trace[i] += weight * (p*p - v.trace[i])
		if v.cov != nil {
			row := v.cov.Row(i)
			for j := range row {
				row[j] += weight * (p*v.psi[j] - row[j])
			}
		}
	}
	return it.Finite(v.psi)
}

// along adds the change of h from y to y − τw, over τ, at one sample.
func (v *influence) along(o *Oracle, m *untuned, x []float64, xi, phi []Sample) error {
	fx, fy := m.other.fx, m.other.fy
	if err := o.GradF(fx, fy, x, v.yTo, xi); err != nil {
		return err
	}
	if err := o.HessVecG(m.w2, x, v.yTo, m.v, phi); err != nil {
		return err
	}
	if err := o.CrossVecG(m.gxyv, x, v.yTo, m.v, phi); err != nil {
		return err
	}
	mat.MulVecSym(m.w, m.now.yy, m.v)
	for j := range m.w {
		m.w[j] = fy[j] - m.now.fy[j] - (m.w2[j] - m.w[j])
	}
	if err := m.invert.SolveVec(m.w, m.w); err != nil {
		return err
	}
	for i := range v.psi {
		row := m.now.xy.Row(i)
		v.psi[i] += (fx[i] - m.now.fx[i] - (m.gxyv[i] - mat.Dot(row, m.v)) - mat.Dot(m.xy.Row(i), m.w)) / v.tau
	}
	return nil
}

// hold marks the entries at a bound that h pushes against.
func (v *influence) hold(it *Iteration, m *untuned) {
	for i, x := range it.X() {
		v.held[i] = x <= m.lo(i) && m.h[i] > 0 || x >= m.hi(i) && m.h[i] < 0
	}
}

// Health tells of the last iterate but one, which differs from the last by one step.
func (m *untuned) Health() Health {
	h := Health{Lower: mat.Norm(m.u), LowerBound: math.NaN(), Gap: math.NaN(), MuG: m.MuG, Clipped: m.clipped,
		LargeMuG: m.inf.mu, NotConvex: m.inf.below > mostClipped, Least: math.NaN(), LeastErr: m.sigma()}
	if e := new(eig.Symmetric); e.FactorValues(m.yy) == nil && m.dy > 0 {
		h.Least = e.Values()[0]
	}
	if m.MuG > 0 {
		h.LowerBound = mat.Norm(m.gy) / m.MuG
	}
	for i, v := range m.h {
		if !m.inf.held[i] {
			h.Gradient += v * v
			h.StdErr += m.inf.tau * m.inf.trace[i]
		}
	}
	h.Gradient, h.StdErr = math.Sqrt(h.Gradient), math.Sqrt(h.StdErr)
	if m.curved != nil {
		h.Gap = m.inf.gap(m.curved, m.h)
	}
	return h
}

// gap is ½(hᵀB⁻¹h + τ·tr B⁻¹cov) over the entries that are free, and infinite if B is not positive
// there, or does not foresee the changes of the hypergradient yet.
func (v *influence) gap(c *curvature, h []float64) float64 {
	if v.n == 0 || !c.foresees() {
		return math.Inf(1)
	}
	var free []int
	for i := range h {
		if !v.held[i] && c.d[i] > 0 {
			free = append(free, i)
		}
	}
	b := v.part.View(0, len(free))
	for a, i := range free {
		for e, j := range free[:a+1] {
			b.Set(a, e, c.unit*c.b.At(i, j)*c.r[i]*c.r[j])
		}
	}
	if len(free) == 0 {
		return 0
	}
	if v.solve.Factor(&b) != nil {
		return math.Inf(1)
	}
	column, sum := make([]float64, len(free)), 0.0
	for a, i := range free {
		for e, j := range free {
			column[e] = v.tau*v.cov.At(i, j) + h[i]*h[j]
		}
		v.solve.SolveVec(column, column)
		sum += column[a]
	}
	return sum / 2
}

func (v *influence) State(t *State) {
	t.count(&v.n)
	t.Float(&v.tau)
	t.Floats(v.trace)
	if v.cov != nil {
		t.Sym(v.cov)
	}
	for i := range v.held {
		t.flag(&v.held[i])
	}
	t.flag(&v.mu)
	t.Float(&v.below)
}
