package bilevel

import (
	"errors"
	"math"

	"stable/bilevel/option"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// Untuned is this module's own method without a step size to choose, for problems of which nothing
// is known but the oracles. It is not the paper's: of its eight parts one is, the correction of y
// by the drift of y*. It averages the equations, not the iterates:
//
//	all five derivatives f_x, f_y, g_y, g_xy, g_yy are carried, each with a gain that tends to 1/k
//	u = H⁻¹g_y,  v = H⁻¹f_y,  h = f_x − H_xy v,     H a copy of H_yy, raised to the floor of its noise
//	x⁺ = x + s,                                      s by the gradient h or by a learned Hessian
//	y⁺ = y − βu − H⁻¹H_xyᵀ(x⁺ − x),                  β = 1/(1 + κ_g + √(κ_g/2τ))
//
// Each estimate then is, up to the noise of moving it, the mean of all samples so far at the
// present point. x and y follow the root of (g_y, h); no step size decays, and the last iterate is
// the answer. Single-level precedent: ROOT-SGD (Li, Mou, Wainwright, Jordan, COLT 2022).
//
// On streams, and on finite sums without a table, past samples are asked again where the noise of
// moving f_x, f_y or g_y is not small beside what the samples leave to know, as on rows of data: a
// step then moves these by d_y past samples and the new one, and draws them to the mean of all
// samples at the present point, see recall.
//
// On finite sums, tables foresee the noise of a term from its last visit, as in SAGA, to the extent
// that they are measured to do so. They are kept where they fit into TableBytes, and carried along
// with the iterates: by what the newest terms change by, and by what is learned later of the errors
// that these changes made, which a smoother tells from errors that were there before. The terms are
// drawn in passes then, each one once a pass: drawn uniformly, one in e waits for longer than a
// pass, and the square of the error falls no faster than by e a pass.
//
// An innovation far longer than those of the late steps is clipped, until as many samples are drawn
// as a sum has terms. Under heavy tails that keeps single samples from throwing the estimates.
// Where variances are finite it binds at rare outliers, and its bias is o(1/√k), less than the
// error.
//
// Samples a step k ≥ 1: ξ and φ one batch. Oracles: GradF, GradG, CrossG, HessG at two points; with
// a table of φ that holds points, CrossG and HessG at a third; up to d_x = 400 GradF, HessVecG,
// CrossVecG at one more; and in each of the first 16 steps and in every eighth one after, the first
// four at two points more, to measure how much of a change is noise, and the last three at one
// more, for Health. On streams, where it is worth it, GradF or GradG of up to d_y past samples,
// too, by name, at two points: no sample, and nothing is kept for it. Step 0 draws InitBatch of
// each, asked one by one. Full batches have no noise and no table.
//
// Memory: 13(dx·dy + dy²) numbers, 8dx² up to d_x = 400, and the tables. Cost a step beside the
// oracles: one Cholesky factorisation, dy³/3 flops, where a bound proves that nothing is to be
// raised, else two, and O(dx·dy + dy²), and a third in some of every eighth step; now and then
// 2dx·dy² for the metric and two eigen-decompositions of order dx.
type Untuned struct {
	// MuG is μ_g of g_yy ⪰ μ_g I, a floor for the eigenvalues of H_yy while they are not known
	// better. One that is too large counts less and less: the floor is never above three times
	// the noise of the eigenvalues. In the first steps it can lead x astray where X is not
	// bounded. Default 0: the noise alone.
	MuG float64

	// InitBatch is the number of samples of each stream in step 0, ≥ 1; unused where the batch is
	// Full. Default: dy or the batch size, whichever is more.
	InitBatch int

	// TableBytes is the memory that tables of finite sums may take: 8n_ξ(dx+dy) bytes for n_ξ terms
	// of f, and 8n_φ(dx·dy + dy(dy+3)/2) for n_φ terms of g. If what is left is less, 8n_φ(dx+2dy),
	// for points in place of g_xy and g_yy: terms of g are drawn uniformly then, not in passes. If
	// it is less than that, g goes without. Negative: no tables. Default 2²⁸, 256 MiB.
	TableBytes int64

	// Ablate leaves pieces of the method out, to measure what each one is worth. Default 0: none.
	Ablate Ablation
}

// Name returns "STABLE-untuned".
func (Untuned) Name() string { return "STABLE-untuned" }

// untuned is Untuned at work.
type untuned struct {
	Untuned
	*follower
	moverX
	inf      influence
	hp       *mat.Sym // H
	invert   eig.Truncator
	look     chol.Cholesky // whether H_yy has eigenvalues below μ_g
	bound    modulus       // of the eigenvalues of H_yy
	normYY   float64       // ‖H_yy‖_F
	clipped  float64       // share of the late steps in which H_yy was raised
	u, v     []float64     // H⁻¹g_y, H⁻¹f_y
	h        []float64
	pull     []float64 // H_xyᵀ(x⁺ − x)
	drift    []float64 // H⁻¹H_xyᵀ(x⁺ − x)
	yMid     []float64 // y − βu of the last step
	kappaG   float64
	seenG    int        // changes of g_y in kappaG
	moved    float64    // of the last step: ‖βu‖² + ‖drift‖², in H
	longestY float64    // of ‖y‖ so far, and of the first Newton point
	visitedY float64    // of ‖y‖ so far
	checks   [5]float64 // see check
	w, w2    []float64  // scratch, dy
	dxv      []float64  // x − x⁻
}

// Start returns the method at work.
func (m Untuned) Start(it *Iteration) (Stepper, error) {
	dx, dy := it.Dims()
	nu, nl := it.Batches()
	option.Default(&m.InitBatch, max(dy, nu, nl))
	option.Default(&m.TableBytes, 1<<28)
	err := option.AtLeast("Untuned.InitBatch", m.InitBatch, 1)
	if !(m.MuG >= 0) || math.IsInf(m.MuG, 1) {
		err = errors.Join(err, option.Bad("Untuned.MuG is %v, want a finite μ_g ≥ 0", m.MuG))
	}
	if m.Ablate > ablations {
		err = errors.Join(err, option.Bad("Untuned.Ablate is %#x, want pieces of %#x", uint(m.Ablate), uint(ablations)))
	}
	if err != nil {
		return nil, err
	}
	x := func() []float64 { return make([]float64, dx) }
	y := func() []float64 { return make([]float64, dy) }
	r := &untuned{
		Untuned: m, follower: newFollower(it, float64(m.TableBytes), m.Ablate),
		moverX: newMoverX(it, m.Ablate), inf: newInfluence(dx, dy),
		hp: mat.NewSym(dy), u: y(), v: y(), h: x(), pull: y(), drift: y(), yMid: y(), kappaG: float64(dy),
		w: y(), w2: y(), dxv: x(),
	}
	r.bound.forget()
	return r, nil
}

func (m *untuned) Step(it *Iteration) error {
	xi, phi, err := m.follow(it)
	if err != nil {
		return err
	}
	if err := m.raise(it); err != nil {
		return err
	}
	if err := m.solve(m.u, m.gy); err != nil {
		return err
	}
	if err := m.solve(m.v, m.fy); err != nil {
		return err
	}
	mat.MulVec(m.h, m.xy, m.v)
	for i, v := range m.h {
		m.h[i] = m.fx[i] - v
	}
	if err := it.Finite(m.h, m.u); err != nil {
		return err
	}
	m.reachY(it)
	if err := m.moveX(it, m); err != nil {
		return err
	}
	if err := m.moveY(it); err != nil {
		return err
	}
	if err := m.inf.sense(it, m, xi, phi); err != nil {
		return err
	}
	m.inf.hold(it, m)
	m.remember(it, xi, phi)
	return nil
}

// follow draws the samples of the step, learns from the last move, and moves the estimates.
func (m *untuned) follow(it *Iteration) (xi, phi []Sample, err error) {
	if it.K() == 0 {
		xi, phi = m.drawFirst(it)
		err = m.begin(it, xi, phi)
	} else {
		nu, nl := it.Batches()
		xi, phi = it.DrawXiIn(m.orderXi, nu), it.DrawPhiIn(m.orderPhi, nl)
		if err = m.ask(it, xi, phi); err == nil {
			err = m.replay(it)
		}
		if err == nil {
			err = m.learnMove(it, xi, phi)
		}
		if err == nil {
			m.move(it.K())
		}
	}
	if err != nil {
		return nil, nil, err
	}
	m.check()
	return xi, phi, it.Finite(m.checks[:])
}

// check adds up what shows a value that is not finite in one of the five derivatives, at any of the
// points that they were asked at.
func (m *untuned) check() {
	m.normYY = mat.NormFrobSym(m.yy)
	m.checks = [5]float64{
		0, m.gfy.s + m.gfy.d, m.ggy.s + m.ggy.d, mat.NormFrob(m.xy), m.normYY + m.gyy.s + m.gyy.d,
	}
	for i := range m.gfx {
		m.checks[0] += m.gfx[i].s + m.gfx[i].d
		m.checks[3] += m.gxy[i].s + m.gxy[i].d
	}
	for i := range m.noise {
		m.checks[i] += m.noise[i].omega
	}
}

// drawFirst draws the samples of step 0.
func (m *untuned) drawFirst(it *Iteration) (xi, phi []Sample) {
	nu, nl := m.InitBatch, m.InitBatch
	if m.nXi == 0 {
		nu = Full
	}
	if m.nPhi == 0 {
		nl = Full
	}
	return it.DrawXiIn(m.orderXi, nu), it.DrawPhiIn(m.orderPhi, nl)
}

// learnMove learns κ_g and curvature from the last move, at the samples of this step and with the H
// of the last one. κ_g is the part of the change of g_y that H_yy and H_xy do not foresee, squared
// in H⁻¹, over the square of the move in H: for data about d_y, without noise of the curvature 0.
// It starts at d_y, which d_y steps outweigh, or 10, since the scatter of κ_g over the samples,
// some √2 of itself on data, does not grow with d_y; one outlier may not raise it by more than its
// own size.
func (m *untuned) learnMove(it *Iteration, xi, phi []Sample) error {
	x, y := it.X(), it.Y()
	if same(x, m.x) && same(y, m.y) {
		clear(m.q) // that of an earlier, longer move would look like noise of this one's making
		return nil
	}
	for i, v := range x {
		m.dxv[i] = v - m.x[i]
	}
	if err := m.pair(it, m, xi, phi); err != nil {
		return err
	}
	if !(m.moved > 0) {
		return nil
	}
	for j, v := range y {
		m.w[j] = v - m.y[j]
	}
	mat.MulVecSym(m.w2, m.hp, m.w)
	mat.MulVecTrans(m.w, m.xy, m.dxv)
	for j := range m.w {
		m.w[j] = m.now.gy[j] - m.old.gy[j] - m.w2[j] - m.w[j]
	}
	if m.nPhi == 0 { // old is the estimate, which has not moved yet: the same
		clear(m.w)
	}
	if err := m.solve(m.w2, m.w); err != nil {
		return err
	}
	d := float64(m.dy)
	kappa := min(mat.Dot(m.w, m.w2)/m.moved, 4*(m.kappaG+d))
	m.kappaG += 4 / (4 + 4*min(d, 10) + float64(m.seenG)) * (kappa - m.kappaG)
	m.seenG++
	return nil
}

// same says whether a and b differ by no more than some thousand roundings of each entry: the
// change of a derivative between them would be noise of the arithmetic.
func same(a, b []float64) bool {
	for i, v := range a {
		if math.Abs(v-b[i]) > 0x1p-42*math.Abs(v) {
			return false
		}
	}
	return true
}

// reachY moves the lengths that steps of y and of x are measured by.
func (m *untuned) reachY(it *Iteration) {
	y := it.Y()
	if it.K() == 0 {
		for j, v := range y {
			m.w[j] = v - m.u[j]
		}
		m.longestY = mat.Norm(m.w)
	}
	m.visitedY = max(m.visitedY, mat.Norm(y))
	m.longestY = max(m.longestY, m.visitedY)
}

// moveY writes y⁺. A step of βu takes 2β of ‖u‖², and adds κ_gβ² of it to the error of g_y, which
// lives for 1/(2τ) steps, with the gain τ of g_y: over time both cost ‖u‖²(1/(2β) + κ_gβ/(4τ)),
// which is least for β = √(2τ/κ_g). And ‖u‖² falls no faster than with β = 1/(1+κ_g). Long at
// first, when everything is noise, the step gets shorter as the estimates get better than one
// sample.
func (m *untuned) moveY(it *Iteration) error {
	if m.Ablate&AblateDrift != 0 {
		clear(m.drift)
	}
	tau, _ := m.at(&m.ggy, it.K()+1, AblateLower)
	beta := 1 / (1 + m.kappaG + math.Sqrt(m.kappaG/(2*tau)))
	length, limit := mat.Norm(m.u), m.longestY/2
	if m.longestY > 0 && beta*length > limit {
		beta = limit / length
		it.Activity().Slowed++
	}
	m.moved = beta*beta*mat.Dot(m.u, m.gy) + mat.Dot(m.drift, m.pull)
	m.travelled += math.Sqrt(max(0, m.moved))
	for j, y := range it.Y() {
		m.yMid[j] = y - beta*m.u[j]
		it.NextY()[j] = m.yMid[j] - m.drift[j]
	}
	// As a gradient step, which Run.Tol measures, it has the size β‖u‖/‖g_y‖.
	if n := mat.Norm(m.gy); n > 0 {
		beta *= length / n
	}
	return it.UseSteps(m.size(it, m.h), beta, 0)
}

// Vectors visits what the next iterate was made of.
func (m *untuned) Vectors(visit func(name string, v []float64)) {
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("g_y", m.gy)
	for i, name := range [...]string{
		"moments of f_x", "moments of f_y", "moments of g_y", "moments of H_xy", "moments of H_yy",
	} {
		visit(name, m.checks[i:i+1])
	}
	visit("f_x of the samples", m.now.fx)
	visit("f_y of the samples", m.now.fy)
	visit("g_yy v of the samples", m.gyyvTo)
	visit("g_xy v of the samples", m.gxyvTo)
	visit("f_x between the iterates", m.other.fx)
	visit("f_y between the iterates", m.other.fy)
	visit("g_yy v", m.gyyv)
	visit("g_xy v", m.gxyv)
	visit("the change of the hypergradient", m.q)
	visit("H_yy⁻¹g_y", m.u)
	visit("H_yy⁻¹f_y", m.v)
	visit("the hypergradient", m.h)
	visit("f_x, g_yy v, g_xy v or f_y at a y nearby", m.inf.psi)
	visit("the drift correction", m.drift)
}

// State visits what outlives a step.
func (m *untuned) State(t *State) {
	m.follower.State(t)
	m.moverX.State(t)
	m.inf.State(t)
	m.bound.State(t)
	t.Sym(m.hp)
	t.Floats(m.v, m.yMid)
	t.Count(&m.seenG)
	for _, v := range []*float64{&m.clipped, &m.kappaG, &m.moved, &m.longestY, &m.visitedY} {
		t.Float(v)
	}
	if t.k > 0 {
		t.After(m.restore)
	}
}

// restore hands H back to the truncation, for the solves to come. It has been solved with, so that
// nothing of it is below 0, and it stays as it is.
func (m *untuned) restore() error {
	if r, err := m.invert.Truncate(m.hp, m.hp, 0); err != nil || r.Clipped > 0 {
		return damaged("H is not positive definite")
	}
	return nil
}
