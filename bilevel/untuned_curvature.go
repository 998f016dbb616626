package bilevel

import (
	"math"

	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// curvature learns B ≈ ∇²F from pairs (s, q): s is a displacement of x with y on the tangent of y*,
// and q is the change of the hypergradient along it, at one sample. Norms of x are in the metric D,
// D_i = [H_xy H_yy⁻¹ H_xyᵀ]_ii. In it every entry of x has the unit of √g, whatever its own is.
// With ŝ = s/‖s‖ and q̂ = q/‖s‖, B̂ is the ridge regression of q̂ on ŝ in which pair j has a weight
// of order j³, so that pairs from the way to the present point count little:
//
//	B̂ = (Q + ρbI)(A + ρI)⁻¹, symmetrised;   A = mean of ŝŝᵀ,  Q = mean of q̂ŝᵀ,  b² = mean of ‖q̂‖²,
//	ρ = σ²/(b²n),   σ² = mean of ‖q̂ − B̂ŝ‖²/d one step ahead, over 20 pairs,   n = 1 + 7/16·pairs.
//
// This is the posterior mean for a prior N(b, b²). A direction that no step has taken stays at b,
// the curvature of the stiffest. The step uses M = |B̂| + σ/√n·(A+ρI)^(−½), with eigenvalues by
// absolute value. The second term is the standard deviation of B̂: it shortens a step where little
// is known. Without noise σ → 0, and the step is Newton's.
type curvature struct {
	n      int
	pairs  int
	next   int        // the step of the next refresh
	ready  bool       // there is an M
	a      *mat.Sym   // Σ c_j ŝŝᵀ in the units of x, c_j = (j+1)(j+2)(j+3)
	q      *mat.Dense // Σ c_j q̂ŝᵀ
	qq     float64    // b²
	qw, rw float64    // means of ‖q̂‖² and of ‖q̂ − B̂ŝ‖² over some 20 pairs
	mr, ms float64    // means of ‖q̂ − B̂ŝ‖² in M⁻¹ and of ‖ŝ‖² in M over some 50 pairs
	d, r   []float64  // D and √D
	unit   float64    // a power of two near b; B̂ and M are divided by it, so that units change no bit
	b, m   *mat.Sym   // B̂ and its positive form M

	ca, cm   chol.Cholesky // of a part of M, and of M
	ea, eb   eig.Symmetric
	t, u     []float64 // scratch
	w1, w2   *mat.Dense
	yx       *mat.Dense // scratch: H⁻¹H_xyᵀ
	free     []int
	part     *mat.Sym
	from, to []float64 // bounds of the step
}

// maxCurved is the largest d_x for which B is learned. A refresh costs two eigendecompositions,
// which is too much beyond. Up to there it pays in samples: at d_x = 200, condition 10, a gradient
// rule arrives after 500 steps, and this one before 90.
const maxCurved = 400

func newCurvature(n, dy int) *curvature {
	v := func() []float64 { return make([]float64, n) }
	return &curvature{
		n: n, a: mat.NewSym(n), q: mat.NewDense(n, n), d: v(), r: v(), b: mat.NewSym(n), m: mat.NewSym(n),
		t: v(), u: v(), w1: mat.NewDense(n, n), w2: mat.NewDense(n, n), free: make([]int, 0, n), part: mat.NewSym(n),
		yx:   mat.NewDense(dy, n),
		from: v(), to: v(),
	}
}

// metric sets D.
func (c *curvature) metric(d []float64) {
	copy(c.d, d)
	c.roots()
}

func (c *curvature) roots() {
	for i, v := range c.d {
		c.r[i] = math.Sqrt(v)
	}
}

// square is ‖s‖² in D.
func (c *curvature) square(s []float64) (n float64) {
	for i, v := range s {
		n += c.d[i] * v * v
	}
	return n
}

// foresees reports whether B̂ foresees three quarters of the square of the change of the
// hypergradient. Then a step by B̂ is better than one by the gradient.
func (c *curvature) foresees() bool { return c.ready && c.rw < c.qw/4 }

// kappa is the square of the change that was not foreseen over the square of the step, both in M.
func (c *curvature) kappa() float64 { return quotient(c.mr, c.ms) }

// learn takes a pair. It leaves out the entries of x with D_i = 0 (see moverX.meter), and a pair of
// which ‖s‖² is 0 or leaves the range.
func (c *curvature) learn(s, q []float64) {
	size := c.square(s)
	if !(size > 0) || math.IsInf(1/size, 0) || math.IsInf(size, 0) {
		return
	}
	for i := range s {
		c.t[i] = s[i] * c.r[i]
	}
	clear(c.u)
	if c.ready {
		mat.MulVecSym(c.u, c.b, c.t)
	}
	var qq, rr float64
	for i := range q {
		v := quotientOr0(q[i], c.r[i])
		c.u[i] = v - c.unit*c.u[i]
		qq += v * v
		rr += c.u[i] * c.u[i]
	}
	if c.ready {
		w, weight := c.w1.Row(0), windowed(c.pairs, 50)
		mat.MulVecSym(w, c.m, c.t)
		c.ms += weight * (c.unit*mat.Dot(w, c.t)/size - c.ms)
		c.cm.SolveVec(w, c.u)
		c.mr += weight * (mat.Dot(w, c.u)/c.unit/size - c.mr)
	}
	weight, short := newest(c.pairs), windowed(c.pairs, 20)
	c.qq += weight * (qq/size - c.qq)
	c.qw += short * (qq/size - c.qw)
	c.rw += short * (rr/size - c.rw)
	j := float64(c.pairs)
	share := (j + 1) * (j + 2) * (j + 3) / size
	mat.RankOne(c.a, share, s)
	mat.Outer(c.q, share, q, s)
	c.pairs++
}

// whole is the sum of all c_j, by which the sums behind A and Q are divided.
func (c *curvature) whole() float64 {
	j := float64(c.pairs)
	return j * (j + 1) * (j + 2) * (j + 3) / 4
}

// quotientOr0 is a/b, and 0 where b is 0.
func quotientOr0(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// refresh makes B̂ and M from the pairs so far. It leaves no M where there is no pair yet, where no
// q differs from 0, or where M is not positive definite.
func (c *curvature) refresh() error {
	c.ready = false
	if c.pairs == 0 || !(c.qq > 0) {
		return nil
	}
	_, exponent := math.Frexp(math.Sqrt(c.qq))
	c.unit = math.Ldexp(1, exponent)
	n := 1 + 7./16*float64(c.pairs)
	variance := c.rw / float64(c.n)
	ridge := max(variance/(c.qq*n), 1e-14)
	share := 1 / c.whole()
	for i := range c.n {
		row, ri := c.b.Row(i), share*c.r[i]
		for j, v := range c.a.Row(i) {
			row[j] = v * ri * c.r[j]
		}
	}
	if err := c.ea.Factor(c.b); err != nil {
		return err
	}
	c.regress(ridge)
	if err := c.eb.Factor(c.b); err != nil {
		return err
	}
	for e, lambda := range c.eb.Values() {
		c.t[e] = math.Abs(lambda)
	}
	for e, lambda := range c.ea.Values() {
		c.u[e] = math.Sqrt(variance/n/(max(lambda, 0)+ridge)) / c.unit
	}
	c.m.Zero()
	addSpectral(c.m, c.w1, c.t, c.eb.VectorsT())
	addSpectral(c.m, c.w1, c.u, c.ea.VectorsT())
	c.ready = c.cm.Factor(c.m) == nil
	return nil
}

// addSpectral adds V·diag(λ)·Vᵀ to m. It is given Vᵀ, and overwrites w.
func addSpectral(m *mat.Sym, w *mat.Dense, lambda []float64, vt *mat.Dense) {
	for e, l := range lambda {
		row, v := w.Row(e), vt.Row(e)
		for j := range row {
			row[j] = l * v[j]
		}
	}
	mat.AddMulTransASym(m, 1, w, vt)
}

// regress sets B̂ from Q and the eigenvalues of A.
func (c *curvature) regress(ridge float64) {
	prior, share := ridge*math.Sqrt(c.qq), 1/c.whole()
	for i := range c.n {
		row, ri := c.w1.Row(i), quotientOr0(share, c.r[i])
		for j, v := range c.q.Row(i) {
			row[j] = v * c.r[j] * ri
		}
		row[i] += prior
	}
	values, vt := c.ea.Values(), c.ea.VectorsT()
	mat.MulTransB(c.w2, c.w1, vt)
	for i := range c.n {
		row := c.w2.Row(i)
		for e := range row {
			row[e] /= max(values[e], 0) + ridge
		}
	}
	mat.Mul(c.w1, c.w2, vt)
	for i := range c.n {
		for j := range i + 1 {
			c.b.Row(i)[j] = (c.w1.Row(i)[j] + c.w1.Row(j)[i]) / 2 / c.unit
		}
	}
}

// step writes the s that minimises η⟨h, s⟩ + ½sᵀMs over from ≤ s ≤ to, by an active set. Entries at
// a bound that h pushes against stay. Each round solves for the others, and stops those that leave
// their bounds there, until none does, or 10 rounds are over.
func (c *curvature) step(s, h []float64, eta float64) error {
	c.free = c.free[:0]
	for i := range s {
		s[i] = 0
		if c.d[i] > 0 && !(c.from[i] >= 0 && h[i] > 0) && !(c.to[i] <= 0 && h[i] < 0) {
			c.free = append(c.free, i)
		}
	}
	for round := range 10 {
		stopped, err := c.solve(s, h, eta, round == 9)
		if err != nil || !stopped {
			return err
		}
	}
	return nil
}

// solve does one round of step, and reports whether it has stopped an entry. The last round also
// writes the entries that it has not stopped.
func (c *curvature) solve(s, h []float64, eta float64, last bool) (stopped bool, err error) {
	m := len(c.free)
	if m == 0 {
		return false, nil
	}
	rhs, factor := c.t[:m], &c.cm
	for a, i := range c.free {
		v := -eta * h[i] / c.r[i] / c.unit
		for j, sj := range s { // those that have been stopped
			if sj != 0 {
				v -= c.m.At(i, j) * sj * c.r[j]
			}
		}
		rhs[a] = v
	}
	if m < c.n {
		part := c.part.View(0, m)
		for a, i := range c.free {
			for b, j := range c.free[:a+1] {
				part.Row(a)[b] = c.m.At(i, j)
			}
		}
		if err := c.ca.Factor(&part); err != nil {
			return false, err
		}
		factor = &c.ca
	}
	factor.SolveVec(rhs, rhs)
	keep := c.free[:0]
	for a, i := range c.free {
		v := rhs[a] / c.r[i]
		switch {
		case v < c.from[i]:
			s[i], stopped = c.from[i], true
		case v > c.to[i]:
			s[i], stopped = c.to[i], true
		default:
			c.u[len(keep)] = v
			keep = append(keep, i)
		}
	}
	c.free = keep
	if !stopped || last {
		for a, i := range keep {
			s[i] = c.u[a]
		}
	}
	return stopped, nil
}

func (c *curvature) State(t *State) {
	t.Count(&c.pairs)
	t.Count(&c.next)
	t.Flag(&c.ready)
	t.Sym(c.a)
	t.Dense(c.q)
	t.Floats(c.d)
	t.Sym(c.b)
	t.Sym(c.m)
	for _, v := range []*float64{&c.unit, &c.qq, &c.qw, &c.rw, &c.mr, &c.ms} {
		t.Float(v)
	}
	t.After(c.restore)
}

// restore computes what is not saved: √D, and the factor of M.
func (c *curvature) restore() error {
	c.roots()
	if c.ready && c.cm.Factor(c.m) != nil {
		return damaged("the curvature is not positive definite")
	}
	return nil
}
