package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// RSVRB is the variance-reduced method of Guo, Hu, Zhang and Yang (arXiv 2105.02266), which tracks
// all five derivatives by STORM, the second ones as matrices. With z^k = (x^k, y^k), step k ≥ 1
// does
//
//	u = f_x(z^k; ξ) + (1−τ)(u − f_x(z^{k−1}; ξ)),     w = f_y(z^k; ξ) + (1−τ)(w − f_y(z^{k−1}; ξ)),
//	d = g_y(z^k; φ) + (1−τ)(d − g_y(z^{k−1}; φ)),     H_xy, H_yy ⪰ λI by the same recursion, see bilevel.Estimator,
//	x^{k+1} = P_X(x^k − α_k (u − H_xy H_yy⁻¹ w)),     y^{k+1} = y^k − β_k d.
//
// Step 0 takes the plain estimates, from an initial batch of φ as in STABLE. Unlike STABLE, it uses
// STORM on the gradients too, and does not correct y for the displacement of x. With one lower-level
// task, as here, it is the paper's SVRB. All estimators share one sample.
//
// Samples per step: ξ and φ one batch. Oracles, k ≥ 1: GradF 2, GradG 2, CrossG 2, HessG 2; k = 0:
// half of that. Other cost: as for STABLE.
type RSVRB struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's order is
	// (k+1)^(−1/3).
	Alpha, Beta bilevel.Schedule

	// Tau is the weight τ_k in [0, 1] of the new sample in all five estimates. Default
	// (k+1)^(−2/3).
	Tau bilevel.Schedule

	// MuG is λ > 0, the strong convexity of g(x, ·): H_yy has no eigenvalue below. Required.
	MuG float64

	// CGxy is C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound.
	CGxy float64

	// InitBatch is the number of samples φ of step 0, ≥ 1, or Full. Default: the larger of dy and a
	// batch.
	InitBatch int
}

func (RSVRB) Name() string { return "RSVRB" }

type rsvrb struct {
	RSVRB
	est        *bilevel.Estimator // H_xy, H_yy
	u, w, d    tracked            // of f_x, f_y, g_y
	xOld, yOld []float64          // z^{k−1}
	h          []float64          // u − H_xy H_yy⁻¹ w
}

// tracked is the STORM estimate of a vector, with the values it was made from.
type tracked struct {
	old, now []float64 // at z^{k−1} and z^k, with one sample
	est      []float64
}

func (t tracked) update(tau float64) { mat.RecurVec(t.est, tau, t.old, t.now) }

func (m RSVRB) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Tau == nil {
		m.Tau = stormWeight
	}
	option.Default(&m.CGxy, math.Inf(1))
	if err := errors.Join(
		checkSteps("RSVRB", m.Alpha, m.Beta),
		option.Schedule("RSVRB.Tau", m.Tau, 1),
		option.Finite("RSVRB.MuG", m.MuG),
		option.Positive("RSVRB.CGxy", m.CGxy),
	); err != nil {
		return nil, err
	}
	if m.InitBatch != 0 {
		if err := option.Batch("RSVRB.InitBatch", m.InitBatch); err != nil {
			return nil, err
		}
	}
	est, err := bilevel.NewEstimator(it.Oracle(), m.MuG, m.CGxy)
	if err != nil {
		return nil, err
	}
	r := &rsvrb{RSVRB: m, est: est}
	dx, dy := it.Dims()
	vectors(dx, &r.u.old, &r.u.now, &r.u.est, &r.xOld, &r.h)
	vectors(dy, &r.w.old, &r.w.now, &r.w.est, &r.d.old, &r.d.now, &r.d.est, &r.yOld)
	return r, nil
}

func (m *rsvrb) Step(it *bilevel.Iteration) error {
	alpha, beta, tau := m.Alpha.At(it.K()), m.Beta.At(it.K()), m.Tau.At(it.K())
	if err := it.UseSteps(alpha, beta, tau); err != nil {
		return err
	}
	if err := m.track(it, tau); err != nil {
		return err
	}
	if err := m.est.Hypergradient(m.h, m.u.est, m.w.est); err != nil {
		return err
	}
	copy(m.xOld, it.X())
	copy(m.yOld, it.Y())

	it.MoveX(alpha, m.h)
	it.MoveY(beta, m.d.est)
	return nil
}

func (m *rsvrb) Estimator() *bilevel.Estimator { return m.est }

func (m *rsvrb) Health() bilevel.Health { return m.est.Health() }

// track moves all five estimates from z^{k−1} to z^k.
func (m *rsvrb) track(it *bilevel.Iteration, tau float64) error {
	xi := it.DrawXi(0)
	phi := m.est.Draw(it, m.InitBatch)
	if it.K() > 0 {
		if err := errors.Join(
			it.Oracle().GradF(m.u.old, m.w.old, m.xOld, m.yOld, xi),
			it.Oracle().GradG(m.d.old, m.xOld, m.yOld, phi),
		); err != nil {
			return err
		}
	}
	if err := m.est.Track(it, tau, phi); err != nil {
		return err
	}
	if err := errors.Join(
		it.Oracle().GradF(m.u.now, m.w.now, it.X(), it.Y(), xi),
		it.Oracle().GradG(m.d.now, it.X(), it.Y(), phi),
	); err != nil {
		return err
	}
	m.u.update(tau)
	m.w.update(tau)
	m.d.update(tau)
	return nil
}

func (m *rsvrb) State(t *bilevel.State) {
	m.est.State(t)
	t.Floats(m.u.est, m.w.est, m.d.est, m.xOld, m.yOld)
}

func (m *rsvrb) Vectors(visit func(name string, v []float64)) {
	visit("f_x at the last iterate", m.u.old)
	visit("f_y at the last iterate", m.w.old)
	visit("g_y at the last iterate", m.d.old)
	visit("f_x", m.u.now)
	visit("f_y", m.w.now)
	visit("g_y", m.d.now)
	visit("the estimate of f_x", m.u.est)
	visit("the estimate of f_y", m.w.est)
	visit("the direction of y (g_y)", m.d.est)
	visit("the hypergradient", m.h)
}
