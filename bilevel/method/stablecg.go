package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// STABLECG is STABLE for lower levels that are too large for a dy × dy matrix: it never forms H_yy.
// It keeps the order of the paper's step, the recursion and projection of H_xy (STABLE-H1, H2), and
// the correction of y,
//
//	x^{k+1} = P_X(x^k − α_k (f_x − H_xy v)),                 v ≈ H⁻¹f_y,
//	y^{k+1} = y^k − β_k g_y − w,                            w ≈ H⁻¹H_xyᵀ(x^{k+1} − x^k).
//
// For H_yy it takes the mean over the last Window samples φ at the present point, H = mean of
// g_yy(x^k, y^k; φ_j): where g_yy does not depend on the point, the recursion with weights
// 1/Window. H is never below the curvature of the samples, so nothing is truncated. Conjugate
// gradients on products apply H⁻¹ (Hestenes, Stiefel 1952), T = min(Iterations, dy) iterations for
// each system; the one for v starts from the last v.
//
// Samples per step: ξ and φ one batch; step 0: Window samples φ. Oracles: GradF 1, GradG 1, CrossG
// 2, HessVecG Window, on the same samples again, for each of at most 2(T+1) products. Other cost:
// O(dx·dy + T·dy). Memory: 3·dx·dy numbers and Window names.
type STABLECG struct {
	// Step sizes of x and y, ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Tau is the weight τ_k in [0, 1] of the new sample in H_xy. Default 1/√(k+1).
	Tau bilevel.Schedule

	// CGxy is C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound.
	CGxy float64

	// Window is the number of samples φ in H, ≥ 1. Default 32. Not used with Options.LowerBatch
	// Full.
	Window int

	// Iterations bounds the conjugate-gradient iterations for one system, ≥ 1. Default 10.
	Iterations int
}

func (STABLECG) Name() string { return "STABLE-CG" }

type stableCG struct {
	STABLECG
	window     []bilevel.Sample // a ring; empty with exact oracles
	next       int              // where the next sample goes
	hxy        *mat.Dense
	old, now   *mat.Dense
	xLast      []float64
	yLast      []float64
	v, w       []float64
	fx, h, dx  []float64
	fy, gy, b  []float64
	res, p, hp []float64 // of the conjugate gradients
}

func (m STABLECG) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Tau == nil {
		m.Tau = bilevel.Power{C: 1, P: 0.5}
	}
	option.Default(&m.CGxy, math.Inf(1))
	option.Default(&m.Window, 32)
	option.Default(&m.Iterations, 10)
	if err := errors.Join(
		checkSteps("STABLECG", m.Alpha, m.Beta),
		option.Schedule("STABLECG.Tau", m.Tau, 1),
		option.Positive("STABLECG.CGxy", m.CGxy),
		option.AtLeast("STABLECG.Window", m.Window, 1),
		option.AtLeast("STABLECG.Iterations", m.Iterations, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &stableCG{STABLECG: m, hxy: mat.NewDense(dx, dy), old: mat.NewDense(dx, dy), now: mat.NewDense(dx, dy)}
	vectors(dx, &r.xLast, &r.fx, &r.h, &r.dx)
	vectors(dy, &r.yLast, &r.v, &r.w, &r.fy, &r.gy, &r.b, &r.res, &r.p, &r.hp)
	if _, lower := it.Batches(); lower != bilevel.Full {
		r.window = make([]bilevel.Sample, max(m.Window, lower))
	}
	return r, nil
}

func (m *stableCG) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	tau, err := it.At("Tau", m.Tau, 1)
	if err != nil {
		return err
	}
	if err := it.UseSteps(alpha, beta, tau); err != nil {
		return err
	}
	o, x, y := it.Oracle(), it.X(), it.Y()
	phi, err := m.estimate(it, tau)
	if err != nil {
		return err
	}
	if err := errors.Join(o.GradG(m.gy, x, y, phi), o.GradF(m.fx, m.fy, x, y, it.DrawXi(0))); err != nil {
		return err
	}
	if err := it.Finite(m.fy, m.gy); err != nil {
		return err
	}
	if err := m.solve(it, m.v, m.fy); err != nil {
		return err
	}
	mat.MulVec(m.h, m.hxy, m.v)
	for i, fx := range m.fx {
		m.h[i] = fx - m.h[i]
	}
	it.MoveX(alpha, m.h)

	for i, next := range it.NextX() {
		m.dx[i] = next - x[i]
	}
	mat.MulVecTrans(m.b, m.hxy, m.dx)
	clear(m.w)
	if err := m.solve(it, m.w, m.b); err != nil {
		return err
	}
	it.MoveY(beta, m.gy)
	mat.Axpy(it.NextY(), -1, m.w)
	return nil
}

// estimate draws φ^k, moves H_xy by (STABLE-H1, H2), and puts φ^k into the window.
func (m *stableCG) estimate(it *bilevel.Iteration, tau float64) ([]bilevel.Sample, error) {
	o, x, y := it.Oracle(), it.X(), it.Y()
	first := 0
	if it.K() == 0 {
		first = len(m.window)
	}
	phi := it.DrawPhi(first)
	if err := o.CrossG(m.now, x, y, phi); err != nil {
		return nil, err
	}
	if it.K() == 0 {
		mat.Copy(m.hxy, m.now)
	} else {
		if err := o.CrossG(m.old, m.xLast, m.yLast, phi); err != nil {
			return nil, err
		}
		mat.Recur(m.hxy, tau, m.hxy, m.old, m.now)
	}
	switch n := mat.ProjectFrob(m.hxy, m.hxy, m.CGxy); {
	case n-n != 0:
		return nil, &bilevel.DivergedError{Step: it.K(), Quantity: "H_xy", Value: n}
	case n > m.CGxy:
		it.Activity().Shrunk++
	}
	for _, s := range phi {
		m.window[m.next] = s
		m.next = (m.next + 1) % len(m.window)
	}
	copy(m.xLast, x)
	copy(m.yLast, y)
	return phi, nil
}

// solve moves z towards H⁻¹b by conjugate gradients that start at z.
func (m *stableCG) solve(it *bilevel.Iteration, z, b []float64) error {
	o, x, y := it.Oracle(), it.X(), it.Y()
	if err := o.HessVecG(m.hp, x, y, z, m.window); err != nil {
		return err
	}
	if err := it.Finite(m.hp); err != nil {
		return err
	}
	for j, bj := range b {
		m.res[j] = bj - m.hp[j]
	}
	copy(m.p, m.res)
	rr := mat.Dot(m.res, m.res)
	for range min(m.Iterations, len(b)) {
		if !(rr > 0) {
			break
		}
		if err := o.HessVecG(m.hp, x, y, m.p, m.window); err != nil {
			return err
		}
		if err := it.Finite(m.hp); err != nil {
			return err
		}
		curvature := mat.Dot(m.p, m.hp)
		if !(curvature > 0) { // H is not positive definite along p
			break
		}
		step := rr / curvature
		mat.Axpy(z, step, m.p)
		mat.Axpy(m.res, -step, m.hp)
		last := rr
		rr = mat.Dot(m.res, m.res)
		for j, r := range m.res {
			m.p[j] = r + rr/last*m.p[j]
		}
	}
	return nil
}

func (m *stableCG) State(t *bilevel.State) {
	t.Floats(m.xLast, m.yLast, m.v)
	t.Dense(m.hxy)
	t.Count(&m.next)
	for j := range m.window {
		t.Uint((*uint64)(&m.window[j]))
	}
}

func (m *stableCG) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("H_yy v", m.hp)
	visit("v", m.v)
	visit("the hypergradient", m.h)
	visit("the drift correction", m.w)
}
