package bilevel

import (
	"math"

	"stable/mat"
)

// moverX moves x by one of two rules, and measures during the run which one. Where the learned
// Hessian foresees the changes of the hypergradient, see curvature.foresees, the step is
//
//	s = −ηM⁻¹h,   η = 1/(1+4·max(κ_g, κ_x)),   ‖s‖_D at most the distance travelled so far,
//
// within the bounds of a Box or NonNegative; in other sets where it ends inside. Everywhere else,
// and for any d_x, each entry has a step size of its own, in a set that projects in a metric,
//
//	x⁺ = P(x − αh),   α_i = a_i·min(1, θ),   a_i = ℓ_i/√((k+1)·mean of m_i²),
//
// with m the hypergradient of the newest sample less what its table foresees. ℓ_i is the width of
// the set over √2, for which AdaGrad's regret is least (Duchi, Hazan, Singer, J. Mach. Learn. Res.
// 12, 2011), and the mean has weights j⁷: on a finite sum gradients vanish faster than weights j³
// let go of them. Where there is no width, ℓ_i is the distance gone or a fifth of an estimate of
// the distance to go, and the weights are j³.
//
// A step of θ·ah takes 2θ⟨s, q⟩ of the square of the distance to go, in the metric 1/a, and adds
// θ²·Σa_i q_i² to it, with s = Δx and q the change of the hypergradient along s at one sample, see
// pair: by curvature, and by what one sample tells otherwise than the mean. That is best at θ =
// mean of ⟨s, q⟩/‖s‖² over mean of Σa_i q_i²/‖s‖². Where steps heed curvature alone, the noise that
// they make themselves keeps x from arriving: compositional problems hover at the size of the
// start. Without a q, beyond d_x = 400, θ = 1/(3κ) with κ = mean of ⟨s, Δh⟩/‖s‖². An entry that g
// does not know, [H_xy H_yy⁻¹ H_xyᵀ]_ii = 0, has a κ of its own in steps by the gradient, mean of
// |s_i·q_i| over mean of s_i²/a_i: the stiffest of the others would hold it back by 10⁴. Its moves
// are part of every q, so that the others take their κ, too. Steps by curvature take it in once it
// has moved, see meter.
//
// Where there is no width, a step by the gradient moves an entry by at most half the distance gone,
// once it has moved: in a flat, as exp(x) has one, m_i is so small that α_i tells nothing.
//
// Steps of both kinds are drawn back until the drift is at most a tenth of the longest y so far.
type moverX struct {
	curved *curvature // nil beyond maxCurved
	metric MetricSet  // nil: one step size for all entries
	lo, hi func(i int) float64
	bounds bool // X is given by lo and hi

	known      []bool    // whether g knows the entry, as far as can be told
	second     bool      // the last step was by curvature
	a, aNext   []float64 // a_i, of the last step and of this one
	meanSq     []float64 // mean of m_i²
	first, far []float64 // the estimate of the distance to go; the distance gone
	hOld       []float64
	blind      bool      // there is no q, or moves of entries that g does not know are part of it
	kappaA     float64   // mean of ⟨s, Δh⟩/‖s‖²
	bend, push float64   // means of ⟨s, q⟩/‖s‖² and Σa_i q_i²/‖s‖²
	turn, span []float64 // of an entry that g does not know, means of |s_i·q_i| and s_i²/a_i
	start      []float64
	reach      float64 // first radius of steps by curvature
	travelled  float64

	m, q, s, weight []float64 // scratch
	gyyv, gxyv      []float64 // g_yy v and g_xy v of the pair, at its start
	gyyvTo, gxyvTo  []float64 // and at its end
}

func newMoverX(it *Iteration, ablate Ablation) moverX {
	n, dy := it.Dims()
	v := func() []float64 { return make([]float64, n) }
	r := moverX{
		a: v(), aNext: v(), turn: v(), span: v(), meanSq: v(), first: v(), far: v(), hOld: v(), m: v(), q: v(), s: v(), weight: v(),
		gyyv: make([]float64, dy), gxyv: v(), gyyvTo: make([]float64, dy), gxyvTo: v(),
		start: append([]float64(nil), it.X()...), known: make([]bool, n),
		lo: func(int) float64 { return math.Inf(-1) }, hi: func(int) float64 { return math.Inf(1) },
	}
	if n <= maxCurved && ablate&AblateCurvature == 0 {
		r.curved = newCurvature(n, dy)
	}
	r.metric, _ = it.Set().(MetricSet)
	switch set := it.Set().(type) {
	case Space:
		r.bounds = true
	case Box:
		r.bounds = true
		r.lo, r.hi = func(i int) float64 { return set.Lo[i] }, func(i int) float64 { return set.Hi[i] }
	case NonNegative:
		r.bounds = true
		r.lo = func(int) float64 { return 0 }
	}
	return r
}

// pair hands a pair to the curvature: x⁻ → x along the tangent, (x⁻, y⁻−βu) → (x, y), and the
// change of f_x − g_xy v − H_xy H⁻¹(f_y − g_yy v) at the newest samples, with v and H of the last
// step. At the root that is ∇²F·s without additive noise. A pair over the whole move has the change
// by the step of y in it, too.
func (r *moverX) pair(it *Iteration, m *untuned, xi, phi []Sample) error {
	if r.curved == nil {
		return nil
	}
	o := it.Oracle()
	fx, fy := m.other.fx, m.other.fy
	if err := o.GradF(fx, fy, m.x, m.yMid, xi); err != nil {
		return err
	}
	if err := o.HessVecG(r.gyyv, m.x, m.yMid, m.v, phi); err != nil {
		return err
	}
	if err := o.CrossVecG(r.gxyv, m.x, m.yMid, m.v, phi); err != nil {
		return err
	}
	mat.MulVecSym(r.gyyvTo, m.now.yy, m.v)
	mat.MulVec(r.gxyvTo, m.now.xy, m.v)
	for j := range m.w {
		m.w[j] = m.now.fy[j] - fy[j] - (r.gyyvTo[j] - r.gyyv[j])
	}
	if err := m.solve(m.w, m.w); err != nil {
		return err
	}
	mat.MulVec(r.q, m.xy, m.w)
	for i, v := range r.q {
		r.q[i] = m.now.fx[i] - fx[i] - (r.gxyvTo[i] - r.gxyv[i]) - v
	}
	if err := it.Finite(r.q); err != nil {
		return err
	}
	r.curved.learn(m.dxv, r.q)
	return nil
}

// moveX writes x⁺ into it.NextX().
func (r *moverX) moveX(it *Iteration, m *untuned) error {
	if err := r.lengths(it, m); err != nil {
		return err
	}
	copy(r.hOld, m.h)
	r.second = false
	if r.curved != nil {
		if err := r.refresh(it, m); err != nil {
			return err
		}
		if r.curved.foresees() {
			ok, err := r.newton(it, m)
			if err != nil {
				return err
			}
			if ok {
				r.second = true
			}
		}
	}
	if !r.second {
		if err := r.gradient(it, m); err != nil {
			return err
		}
	}
	return r.draw(it, m)
}

// refresh sets the metric and the curvature anew, less often as time goes on, and where x is wide:
// its cost goes as dx³, and so the cost a step grows as dx² only, as that of the pairs does.
func (r *moverX) refresh(it *Iteration, m *untuned) error {
	c := r.curved
	if it.K() < c.next {
		return nil
	}
	c.next = it.K() + 1 + it.K()*max(c.n, 100)/1600
	mat.CopyTrans(c.yx, m.xy)
	if err := m.invert.Solve(c.yx, c.yx); err != nil {
		return singular(err)
	}
	clear(r.s)
	for j := range m.dy {
		for i, v := range c.yx.Row(j) {
			r.s[i] += v * m.xy.Data[i*m.xy.Stride+j]
		}
	}
	for i, v := range r.s {
		r.s[i] = max(0, v)
		r.known[i] = v > 0
	}
	if m.Ablate&AblateBlind == 0 {
		r.meter(math.Sqrt(c.qq))
	}
	c.metric(r.s)
	return c.refresh()
}

// meter gives the entries that g does not know a D_i, in r.s, once they have moved: the one by
// which their curvature, mean |s_i·q_i| over mean s_i², is that of the stiffest direction, b.
func (r *moverX) meter(b float64) {
	for i, known := range r.known {
		if size := r.a[i] * r.span[i] * b; !known && size > 0 {
			r.s[i] = r.turn[i] / size
		}
	}
}

// newton writes the step by curvature. It returns false where the set is not one of bounds and the
// step leaves it.
func (r *moverX) newton(it *Iteration, m *untuned) (ok bool, err error) {
	c, x := r.curved, it.X()
	for i, v := range x {
		c.from[i], c.to[i] = r.lo(i)-v, r.hi(i)-v
	}
	eta := 1 / (1 + 4*max(m.kappaG, c.kappa()))
	if err := c.step(r.s, m.h, eta); err != nil {
		return false, nil // M is not positive definite on a part of the entries
	}
	if r.reach == 0 { // a tenth of y and of the first Newton point, in H
		mat.MulVecSym(m.w, m.hp, it.Y())
		yy, uy := mat.Dot(m.w, it.Y()), mat.Dot(m.w, m.u)
		r.reach = math.Sqrt(max(0, yy, yy-2*uy+mat.Dot(m.u, m.gy))) / 10
	}
	scale, radius := 1.0, max(r.reach, r.travelled)
	if n := math.Sqrt(c.square(r.s)); radius > 0 && n > radius {
		scale = radius / n
		it.Activity().Cut++
	}
	next := it.NextX()
	for i, v := range x {
		next[i] = v + scale*r.s[i]
		if c.d[i] == 0 { // g does not know it, and it has not moved yet
			next[i] = v - r.alpha(i)*m.h[i]
		}
		r.s[i] = next[i]
	}
	it.Project(next)
	if r.bounds {
		return true, nil
	}
	for i, v := range next {
		if v != r.s[i] {
			return false, nil
		}
	}
	return true, nil
}

// newest writes m, the hypergradient at the newest samples less what their tables foresee.
func (r *moverX) newest(it *Iteration, m *untuned) error {
	if it.K() == 0 {
		copy(r.m, m.h)
		return nil
	}
	k := it.K()
	mat.MulVecSym(m.w2, m.now.yy, m.v)
	for j, v := range m.now.fy {
		m.w[j] = v - m.w2[j]
	}
	if m.bends != nil {
		_, c := m.at(&m.gyy, k, 0)
		mat.MulVecSym(m.w2, m.bends.dyy, m.v)
		mat.Axpy(m.w, c, m.w2)
	}
	if m.upper != nil {
		_, c := m.at(&m.gfy, k, 0)
		mat.Axpy(m.w, -c, m.upper.d[m.dx:])
	}
	if err := m.solve(m.w, m.w); err != nil {
		return err
	}
	mat.MulVec(r.m, m.now.xy, m.v)
	mat.MulVec(r.s, m.xy, m.w)
	for i, v := range r.m {
		r.m[i] = m.now.fx[i] - v - r.s[i]
		if m.bends != nil {
			_, c := m.at(&m.gxy[i], k, 0)
			r.m[i] += c * mat.Dot(m.bends.dxy.Row(i), m.v)
		}
		if m.upper != nil {
			_, c := m.at(&m.gfx[i], k, 0)
			r.m[i] -= c * m.upper.d[i]
		}
	}
	return it.Finite(r.m)
}

// gradient writes the first-order step.
func (r *moverX) gradient(it *Iteration, m *untuned) error {
	x, next := it.X(), it.NextX()
	least := math.Inf(1)
	for i := range x {
		if a := r.alpha(i); a > 0 {
			least = min(least, a)
		}
	}
	if math.IsInf(least, 1) { // no entry has ever had a gradient
		least = 1
	}
	for i, v := range x {
		alpha := r.alpha(i)
		if r.metric == nil || alpha == 0 {
			alpha = least
		}
		s, far := math.Abs(alpha*m.h[i]), r.far[i]/2
		if far > 0 && s > far && extent(it.Set(), i) == 0 {
			alpha *= far / s
		}
		next[i], r.weight[i] = v-alpha*m.h[i], 1/alpha
	}
	if r.metric != nil {
		r.metric.ProjectMetric(next, next, r.weight)
	} else {
		it.Project(next)
	}
	return nil
}

// draw draws x⁺ back to x until the drift is at most a tenth of the longest y so far: the tangent
// of y* holds no further. Before y has moved from 0 it is the length of the first Newton step.
// Where H_xy grows with y, as with weights exp(x), a y that is still on its way makes it so small
// that measured by the way to go, x would go ten times too far. It sets the drift.
func (r *moverX) draw(it *Iteration, m *untuned) error {
	x, next := it.X(), it.NextX()
	for i, v := range x {
		r.s[i] = next[i] - v
	}
	mat.MulVecTrans(m.pull, m.xy, r.s)
	if err := m.solve(m.drift, m.pull); err != nil {
		return err
	}
	limit := m.visitedY / 10
	if limit == 0 {
		limit = m.longestY / 10
	}
	if n := mat.Norm(m.drift); limit > 0 && n > limit {
		share := limit / n
		for i, v := range x {
			next[i] = v + share*r.s[i]
		}
		for j := range m.drift {
			m.pull[j] *= share
			m.drift[j] *= share
		}
		it.Activity().Cut++
	}
	return nil
}

// size is the step size to report: that of a gradient step of the same length, over the entries
// that have moved.
func (r *moverX) size(it *Iteration, h []float64) float64 {
	var moved, slope float64
	for i, x := range it.X() {
		if d := it.NextX()[i] - x; d != 0 {
			moved += d * d
			slope += h[i] * h[i]
		}
	}
	if size := math.Sqrt(moved / slope); size > 0 && !math.IsInf(size, 1) {
		return size
	}
	return 1
}

func (r *moverX) State(t *State) {
	t.Floats(r.a, r.meanSq, r.first, r.far, r.hOld, r.turn, r.span)
	for _, v := range []*float64{&r.kappaA, &r.bend, &r.push, &r.reach, &r.travelled} {
		t.Float(v)
	}
	t.Flag(&r.second)
	for i := range r.known {
		t.Flag(&r.known[i])
	}
	if r.curved != nil {
		r.curved.State(t)
	}
}
