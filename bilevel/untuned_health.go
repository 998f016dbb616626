package bilevel

import (
	"math"

	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// influence learns the covariance of the hypergradient at the root of g_y, for Health. One sample
// moves h through all five derivatives, by
//
//	ψ = Δf_x − Δg_xy v − H_xy H⁻¹(Δf_y − Δg_yy v) − ∂h/∂y·H⁻¹Δg_y.
//
// Δt = t(i) − t is what the sample says otherwise than the estimate, less what a table foresees.
// The derivative of h along w = H⁻¹Δg_y is a difference at one sample over τw, the length by which
// one more sample moves y. One ψ is taken in each step of replay. With k+1 samples that count
// alike, h has the covariance of ψ over k+1. Where they do not, P/S of the square of Δt is left in
// the estimate, and not 1/(k+1): so Δt counts √((k+1)P/S) times.
type influence struct {
	n       int
	cov     *mat.Sym   // mean of ψψᵀ, weights j³; nil beyond maxCurved
	trace   []float64  // its diagonal
	tau     float64    // 1/(k+1)
	held    []bool     // whether the entry was at a bound that the last h pushed against
	mu      bool       // H_yy had an eigenvalue clearly below μ_g at the last look
	below   float64    // share of the late steps in which H_yy had eigenvalues below 0
	norms   [2]float64 // ‖h‖ over the entries that no bound holds, at the last two powers of 2
	largest float64    // of these so far
	psi     []float64  // scratch
	yTo     []float64
	w       []float64
	solve   chol.Cholesky
	part    *mat.Sym
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

// share is the error of the estimate over that of one batch, P/S ≤ 1, and 0 without noise.
func (g *gain) share() float64 { return min(1, quotient(g.p, g.s)) }

// counts is how often the Δt of a gain counts in ψ.
func (v *influence) counts(g *gain) float64 { return math.Sqrt(g.share() / v.tau) }

// sense takes one ψ in a step of replay, once the estimates, H, v and h of this step are there.
func (v *influence) sense(it *Iteration, m *untuned, xi, phi []Sample) error {
	v.tau = 1 / float64(it.K()+1)
	if !replaysAt(it.K()) {
		return nil
	}
	if err := v.direct(it.K(), m); err != nil {
		return err
	}
	if m.ggy.share() > 0 {
		if err := v.through(it, m, xi, phi); err != nil {
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

// direct sets ψ to what the sample does to h through all derivatives but g_y.
func (v *influence) direct(k int, m *untuned) error {
	mat.MulVecSym(v.w, m.now.yy, m.v)
	mat.MulVecSym(m.w2, m.yy, m.v)
	mat.Axpy(v.w, -1, m.w2)
	if m.bends != nil {
		_, c := m.at(&m.gyy, k, 0)
		mat.MulVecSym(m.w2, m.bends.dyy, m.v)
		mat.Axpy(v.w, -c, m.w2)
	}
	_, c := m.at(&m.gfy, k, 0)
	byF, byG := v.counts(&m.gfy), v.counts(&m.gyy)
	for j, bend := range v.w {
		d := m.now.fy[j] - m.fy[j]
		if m.upper != nil {
			d -= c * m.upper.d[m.dx+j]
		}
		v.w[j] = byF*d - byG*bend
	}
	if err := m.invert.SolveVec(v.w, v.w); err != nil {
		return err
	}
	for i := range v.psi {
		d := m.now.fx[i] - m.fx[i]
		bend := mat.Dot(m.now.xy.Row(i), m.v) - mat.Dot(m.xy.Row(i), m.v)
		if m.upper != nil {
			_, c := m.at(&m.gfx[i], k, 0)
			d -= c * m.upper.d[i]
		}
		if m.bends != nil {
			_, c := m.at(&m.gxy[i], k, 0)
			bend -= c * mat.Dot(m.bends.dxy.Row(i), m.v)
		}
		v.psi[i] = v.counts(&m.gfx[i])*d - v.counts(&m.gxy[i])*bend - mat.Dot(m.xy.Row(i), v.w)
	}
	return nil
}

// through adds to ψ what the sample does to h through g_y: the change of h from y to y − τw, over
// τ.
func (v *influence) through(it *Iteration, m *untuned, xi, phi []Sample) error {
	o, x, tau := it.Oracle(), it.X(), m.ggy.share()
	_, c := m.at(&m.ggy, it.K(), 0)
	for j := range v.w {
		v.w[j] = m.now.gy[j] - m.gy[j]
		if m.lower != nil {
			v.w[j] -= c * m.lower.d[j]
		}
	}
	if err := m.invert.SolveVec(v.w, v.w); err != nil {
		return err
	}
	for j, y := range it.Y() {
		v.yTo[j] = y - tau*v.w[j]
	}
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
	counts := v.counts(&m.ggy) / tau
	for i := range v.psi {
		bend := m.gxyv[i] - mat.Dot(m.now.xy.Row(i), m.v)
		v.psi[i] += counts * (fx[i] - m.now.fx[i] - bend - mat.Dot(m.xy.Row(i), m.w))
	}
	return nil
}

// hold notes which entries are at a bound that h pushes against, and at powers of 2 the norm of h.
func (v *influence) hold(it *Iteration, m *untuned) {
	for i, x := range it.X() {
		v.held[i] = x <= m.lo(i) && m.h[i] > 0 || x >= m.hi(i) && m.h[i] < 0
	}
	if k := it.K(); k&(k-1) == 0 {
		v.norms = [2]float64{v.norms[1], v.norm(m.h)}
		v.largest = max(v.largest, v.norms[1])
	}
}

// norm is ‖h‖ over the entries that no bound holds.
func (v *influence) norm(h []float64) float64 {
	sum := 0.0
	for i, d := range h {
		if !v.held[i] {
			sum += d * d
		}
	}
	return math.Sqrt(sum)
}

// Health is about the last iterate but one, at which the last step asked. One step lies between it
// and the last iterate.
func (m *untuned) Health() Health {
	h := Health{Lower: mat.Norm(m.u), LowerBound: math.NaN(), Gap: math.NaN(), MuG: m.MuG, Clipped: m.clipped,
		LargeMuG: m.inf.mu, NotConvex: m.inf.below > mostClipped, Least: math.NaN(), LeastErr: m.sigma()}
	if e := new(eig.Symmetric); e.FactorValues(m.yy) == nil && m.dy > 0 {
		h.Least = e.Values()[0]
	}
	h.NotConvex = h.NotConvex && h.Least < 0 // where it ends, too
	if m.MuG > 0 {
		h.LowerBound = mat.Norm(m.gy) / m.MuG
	}
	h.Gradient = m.inf.norm(m.h)
	for i, held := range m.inf.held {
		if !held {
			h.StdErr += m.inf.tau * m.inf.trace[i]
		}
	}
	h.StdErr = math.Sqrt(h.StdErr)
	if m.bounds && m.inf.tau < 1./512 {
		h.Before = m.inf.norms[0]
		h.Slow = h.Gradient > max(30*h.StdErr, h.Before/2, 1e-6*m.inf.largest)
	}
	if m.curved != nil {
		h.Gap = m.inf.gap(m.curved, m.h)
	}
	return h
}

// gap is ½(hᵀB⁻¹h + τ·tr B⁻¹cov) over the free entries, those that no bound holds: what is left of
// F by h, and by the error of h. It is infinite where B is not positive there, or does not foresee
// the changes of the hypergradient yet.
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
	t.Count(&v.n)
	t.Float(&v.tau)
	t.Floats(v.trace)
	if v.cov != nil {
		t.Sym(v.cov)
	}
	for i := range v.held {
		t.Flag(&v.held[i])
	}
	t.Flag(&v.mu)
	for _, f := range []*float64{&v.below, &v.norms[0], &v.norms[1], &v.largest} {
		t.Float(f)
	}
}
