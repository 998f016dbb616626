package bilevel

import (
	"cmp"
	"errors"
	"math"

	"stable/bilevel/option"
	"stable/mat"
)

// STABLE is the method of Chen, Sun, Xiao and Yin (AISTATS 2022), Algorithm 1: one loop, one
// timescale. Step k ≥ 0 draws one batch of φ and one of ξ, moves H_xy and H_yy by (STABLE-H), see
// Estimator, and then both variables by (STABLE),
//
//	x^{k+1} = P_X(x^k − α_k (f_x − H_xy H_yy⁻¹ f_y)),             f_x, f_y at (x^k, y^k; ξ^k),
//	y^{k+1} = y^k − β_k g_y − H_yy⁻¹ H_xyᵀ (x^{k+1} − x^k),         g_y at (x^k, y^k; φ^k).
//
// H⁰ is the plain estimate over an initial batch, which g_y uses too. Cost per step, without the
// oracles: O(dy² + dx·dy), and 2·dy³/3 flops where no eigenvalue is truncated, dy³/3 where a
// StronglyConvex problem proves it, an eigen-decomposition where one is.
type STABLE struct {
	// Alpha is the step size α_k ≥ 0 of x. Default: nil, for entry x_i
	//
	//	α_k,i = ScaleX·w_i / √((k+1)·mean of h_i² over steps 0 … k)
	//
	// with the hypergradient estimate h, the width w_i of Set in that direction (1 where it has none), and a
	// weight of order j³ of step j. x is then projected in the metric of these step sizes; if Set is no
	// MetricSet, all entries share one. 1/√k is the order of Theorem 2, without its constants.
	Alpha Schedule

	// Beta is the step size β_k ≥ 0 of y. Default: nil, ScaleY / √((k+1)·that mean of ‖g_y‖²).
	Beta Schedule

	// ScaleX and ScaleY > 0 set the lengths of these default steps. Default 0.1, a share of the
	// width of Set, and 0.5, in units of y.
	ScaleX, ScaleY float64

	// Tau is the weight τ_k in [0, 1] of the new sample in H_xy and H_yy. Default 1/√(k+1).
	Tau Schedule

	// MuG is μ_g > 0 of g_yy ⪰ μ_g I, to which smaller eigenvalues of H_yy are raised. Required.
	MuG float64

	// CGxy is the bound C_gxy > 0 on ‖H_xy‖_F. Default +Inf.
	CGxy float64

	// InitBatch is the number of samples φ in H⁰, ≥ 1, or Full. Default: dy or Options.LowerBatch,
	// whichever is more; fewer than dy may lack curvature.
	InitBatch int

	// Plain leaves out what is not in the paper: the trust region, and the bound β_k ≤ 2/(μ_g + L),
	// with the largest ‖g_yy(x, y; φ)‖_F of a batch so far for the L_g of the paper's lemma. With
	// Plain, the paper's Alpha, Beta, Tau, MuG and CGxy, and InitBatch 1, the method is the
	// paper's, equation by equation. Default false.
	Plain bool

	// Trust is the radius r > 0 of the trust region, +Inf for none. Default 0.1. Where the
	// correction H_yy⁻¹H_xyᵀΔx along the tangent of y*(x) is longer than r·max(1, ‖y‖), x^{k+1} is
	// moved back towards x^k until it has that length.
	Trust float64
}

func (m STABLE) Name() string { return "STABLE" }

type stable struct {
	STABLE
	est        *Estimator
	gradx      *adagrad
	meanSq     float64 // mean of ‖g_y‖², for the default of Beta
	curvature  float64 // the largest ‖g_yy(x, y; φ)‖_F so far
	fx, fy, gy []float64
	h          []float64 // f_x − H_xy H_yy⁻¹ f_y
	dx         []float64
	drift      []float64 // H_yy⁻¹ H_xyᵀ dx
}

func (m STABLE) Start(it *Iteration) (Stepper, error) {
	dx, dy := len(it.X()), len(it.Y())
	option.Default[Schedule](&m.Tau, Power{C: 1, P: 0.5})
	for _, o := range [...]struct {
		name, by string
		v        float64
		unused   bool
	}{
		{"Trust", "Plain", m.Trust, m.Plain},
		{"ScaleX", "Alpha", m.ScaleX, m.Alpha != nil},
		{"ScaleY", "Beta", m.ScaleY, m.Beta != nil},
	} {
		if o.unused && o.v != 0 {
			return nil, option.Bad("STABLE.%s is %v, and STABLE.%s makes it void", o.name, o.v, o.by)
		}
	}
	option.Default(&m.CGxy, math.Inf(1))
	option.Default(&m.Trust, 0.1)
	if m.Plain {
		m.Trust = math.Inf(1)
	}
	option.Default(&m.ScaleX, 0.1)
	option.Default(&m.ScaleY, 0.5)
	err := errors.Join(
		option.Schedule("STABLE.Tau", m.Tau, 1),
		option.Finite("STABLE.ScaleX", m.ScaleX),
		option.Finite("STABLE.ScaleY", m.ScaleY),
		option.Positive("STABLE.Trust", m.Trust),
		checkBounds("STABLE.", m.MuG, m.CGxy),
		// 0 and nil are valid: the defaults, which Step knows.
		option.Batch("STABLE.InitBatch", cmp.Or(m.InitBatch, 1)),
		option.Schedule("STABLE.Alpha", cmp.Or[Schedule](m.Alpha, Constant(0)), math.Inf(1)),
		option.Schedule("STABLE.Beta", cmp.Or[Schedule](m.Beta, Constant(0)), math.Inf(1)),
	)
	if err != nil {
		return nil, err
	}
	est, err := NewEstimator(it.Oracle(), m.MuG, m.CGxy)
	r := &stable{
		STABLE: m, est: est,
		fx: make([]float64, dx), h: make([]float64, dx), dx: make([]float64, dx),
		fy: make([]float64, dy), gy: make([]float64, dy), drift: make([]float64, dy),
	}
	if m.Alpha == nil {
		r.gradx = newAdagrad(it.Set(), it.Project, dx, m.ScaleX)
	}
	return r, err
}

func (m *stable) Step(it *Iteration) error {
	// ξ^k, φ^k, and (STABLE-H) at (x^k, y^k).
	xi := it.DrawXi(0)
	tau := m.Tau.At(it.K())
	if err := it.UseSteps(0, 0, tau); err != nil {
		return err
	}
	phi := m.est.Draw(it, m.InitBatch)
	if err := m.est.Track(it, tau, phi); err != nil {
		return err
	}

	// g_y, and f_x − H_xy H_yy⁻¹ f_y at (x^k, y^k; ξ^k).
	o := it.Oracle()
	if err := o.GradG(m.gy, it.X(), it.Y(), phi); err != nil {
		return err
	}
	if err := o.GradF(m.fx, m.fy, it.X(), it.Y(), xi); err != nil {
		return err
	}
	if err := m.est.Hypergradient(m.h, m.fx, m.fy); err != nil {
		return err
	}
	if err := it.Finite(m.h, m.gy); err != nil { // before the default steps
		return err
	}
	it.Shown() // f_x and f_y in h, the drift in y^{k+1}

	// (STABLE), first line: x^{k+1} = P_X(x^k − α h).
	alpha, beta := m.moveX(it), m.beta(it)
	if m.gradx != nil && !(alpha > 0) { // the squares may be too large
		if err := it.Finite(m.gradx.mean); err != nil {
			return err
		}
	}
	if err := it.UseSteps(alpha, beta, 0); err != nil {
		return err
	}

	// (STABLE), second line: y^{k+1} = y^k − β g_y − H_yy⁻¹ H_xyᵀ (x^{k+1} − x^k).
	nextX, dx := it.xNext, m.dx[:len(it.xNext)]
	for i, x := range it.x[:len(nextX)] {
		dx[i] = nextX[i] - x
	}
	if err := m.est.Drift(m.drift, dx); err != nil {
		return err
	}
	theta, nextY, gy, drift := m.trust(it), it.yNext, m.gy[:len(it.yNext)], m.drift[:len(it.yNext)]
	for i, y := range it.y[:len(nextY)] {
		nextY[i] = y - beta*gy[i] - drift[i]
	}
	it.alpha, it.beta = theta*alpha, beta
	return nil
}

// moveX writes P_X(x^k − α h) and returns α, or the MetricStep of the α_i.
func (m *stable) moveX(it *Iteration) float64 {
	if m.gradx != nil {
		return m.gradx.move(it.NextX(), it.X(), m.h)
	}
	alpha := m.Alpha.At(it.K())
	it.MoveX(alpha, m.h)
	return alpha
}

func (m *stable) beta(it *Iteration) float64 {
	beta := 0.0
	if m.Beta != nil {
		if beta = m.Beta.At(it.K()); math.IsInf(beta, 1) {
			return beta // to be refused
		}
	} else if m.meanSq += cubicWeight(it.K()) * (mat.Dot(m.gy, m.gy) - m.meanSq); m.meanSq > 0 {
		beta = m.ScaleY / math.Sqrt(float64(it.K()+1)*m.meanSq)
	}
	m.curvature = max(m.curvature, m.est.report.HessNorm)
	if bound := 2 / (m.MuG + m.curvature); !m.Plain && beta > bound {
		it.Activity().Slowed++
		return bound
	}
	return beta
}

// trust scales x^{k+1} − x^k and the drift, which is linear in it, by a factor θ ≤ 1.
func (m *stable) trust(it *Iteration) (theta float64) {
	length, radius := mat.Norm(m.drift), m.Trust
	if length > radius {
		radius *= max(1, mat.Norm(it.Y()))
	}
	if !(length > radius) {
		return 1
	}
	theta = radius / length
	for i, x := range it.X() {
		it.NextX()[i] = x + theta*m.dx[i]
	}
	for i := range m.drift {
		m.drift[i] *= theta
	}
	it.Activity().Cut++
	return theta
}

func (m *stable) Health() Health { return m.est.Health() }

func (m *stable) State(t *State) {
	m.est.State(t)
	t.Float(&m.meanSq)
	t.Float(&m.curvature)
	if m.gradx != nil {
		t.Floats(m.gradx.mean)
		t.Count(&m.gradx.k)
	}
}

func (m *stable) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("the hypergradient", m.h)
	visit("the drift correction", m.drift)
	if m.gradx != nil {
		visit("the mean square of the hypergradient", m.gradx.mean)
	}
}

// adagrad keeps the step sizes c_i/√((k+1)·v_i) of step k ≥ 0, one for each entry, or one for all
// if the set has no metric projection. v_i is a running mean of g_i²: with equal weights, AdaGrad
// (Duchi, Hazan, Singer, J. Mach. Learn. Res. 12, 2011, diagonal form); here with weights of order
// j³, because the first gradients are long.
type adagrad struct {
	project func(x []float64)
	metric  MetricSet // nil: one step size for all entries
	scale   []float64 // c_i
	mean    []float64 // v_i
	weight  []float64 // 1/step size
	k       int
}

// newAdagrad starts with c_i = share·Width(set, i).
func newAdagrad(set Set, project func(x []float64), d int, share float64) *adagrad {
	a := &adagrad{project: project, scale: make([]float64, d), mean: make([]float64, d), weight: make([]float64, d)}
	a.metric, _ = set.(MetricSet)
	for i := range a.scale {
		a.scale[i] = share * Width(set, i)
	}
	return a
}

// move writes the projection of x − step·g into next, and returns the step size, or the MetricStep.
func (a *adagrad) move(next, x, g []float64) float64 {
	steps, weight := float64(a.k+1), cubicWeight(a.k)
	for i, v := range g {
		a.mean[i] += weight * (v*v - a.mean[i])
	}
	a.k++
	if a.metric == nil {
		return a.moveEuclid(next, x, g, steps)
	}
	for i, v := range g {
		if a.mean[i] == 0 {
			next[i], a.weight[i] = x[i], 1/a.scale[i]
			continue
		}
		step := a.scale[i] / math.Sqrt(steps*a.mean[i])
		next[i], a.weight[i] = x[i]-step*v, 1/step
	}
	a.metric.ProjectMetric(next, next, a.weight)
	return MetricStep(next, x, a.weight)
}

// moveEuclid is move with one step size for all entries, from the means of c_i and v_i.
func (a *adagrad) moveEuclid(next, x, g []float64, steps float64) (step float64) {
	var scale, mean float64
	for i, v := range a.mean {
		scale += a.scale[i]
		mean += v
	}
	if d := float64(len(g)); mean > 0 {
		step = scale / d / math.Sqrt(steps*mean/d)
	}
	for i, v := range g {
		next[i] = x[i] - step*v
	}
	a.project(next)
	return step
}
