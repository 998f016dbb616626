package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// RSVRB is the variance-reduced method of Guo, Hu, Zhang and Yang (arXiv 2105.02266), which tracks
// all five derivatives by STORM, on one sample, the second ones as matrices. Step k ≥ 1 does
//
//	u = f_x(z^k; ξ) + (1−τ)(u − f_x(z^{k−1}; ξ)),     w = f_y(z^k; ξ) + (1−τ)(w − f_y(z^{k−1}; ξ)),
//	d = g_y(z^k; φ) + (1−τ)(d − g_y(z^{k−1}; φ)),     H_xy, H_yy ⪰ λI by the same recursion, see bilevel.Estimator,
//	x^{k+1} = P_X(x^k − α_k (u − H_xy H_yy⁻¹ w)),     y^{k+1} = y^k − β_k d,
//
// and step 0 takes the plain estimates, from an initial batch of φ. Unlike in STABLE, y is not
// corrected for the displacement of x. With one lower-level task, as here, it is the paper's SVRB.
// Work beside the oracles: as for STABLE.
type RSVRB struct {
	// Step sizes. Required. The paper's order is (k+1)^(−1/3).
	Alpha, Beta bilevel.Schedule

	// Tau is the weight τ_k in [0, 1] of the new sample in the estimates. Default (k+1)^(−2/3).
	Tau bilevel.Schedule

	// MuG is λ > 0, of g_yy ⪰ λI. Required.
	MuG float64

	// CGxy is C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound.
	CGxy float64

	// InitBatch ≥ 1 is the number of samples φ of step 0, or Full. Default: dy, or a larger batch.
	InitBatch int
}

func (RSVRB) Name() string { return "RSVRB" }

type rsvrb struct {
	RSVRB
	*memory
	est        *bilevel.Estimator // H_xy, H_yy
	u, w, d    tracked            // of f_x, f_y, g_y
	xOld, yOld []float64          // z^{k−1}
	h          []float64          // u − H_xy H_yy⁻¹ w
}

// tracked is the STORM estimate of a vector, and the values at z^{k−1} and z^k.
type tracked struct{ old, now, est []float64 }

func (t tracked) update(tau float64) { mat.RecurVec(t.est, tau, t.old, t.now) }

func (m RSVRB) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.CGxy, math.Inf(1))
	err := errors.Join(
		checkSteps("RSVRB", m.Alpha, m.Beta),
		schedule("RSVRB.Tau", &m.Tau, stormWeight, 1),
		option.Finite("RSVRB.MuG", m.MuG),
		option.Positive("RSVRB.CGxy", m.CGxy),
	)
	if m.InitBatch != 0 {
		err = errors.Join(err, option.Batch("RSVRB.InitBatch", m.InitBatch))
	}
	if err != nil {
		return nil, err
	}
	est, err := bilevel.NewEstimator(it.Oracle(), m.MuG, m.CGxy)
	mem := newMemory(it)
	r := &rsvrb{RSVRB: m, memory: mem, est: est, xOld: mem.x(""), yOld: mem.y("")}
	u, w, d := &r.u, &r.w, &r.d
	u.old, w.old, d.old = mem.x("f_x at the last iterate"), mem.y("f_y at the last iterate"), mem.y("g_y at the last iterate")
	u.now, w.now, d.now = mem.x("f_x"), mem.y("f_y"), mem.y("g_y")
	u.est, w.est, d.est = mem.x("the estimate of f_x"), mem.y("the estimate of f_y"), mem.y("the direction of y (g_y)")
	r.h = mem.x("the hypergradient")
	return r, err
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

func (m *rsvrb) track(it *bilevel.Iteration, tau float64) error {
	s, xi, phi := m.begin(it), it.DrawXi(0), m.est.Draw(it, m.InitBatch)
	if it.K() > 0 {
		s.GradF(m.u.old, m.w.old, m.xOld, m.yOld, xi)
		s.GradG(m.d.old, m.xOld, m.yOld, phi)
	}
	if s.err == nil {
		s.err = m.est.Track(it, tau, phi)
	}
	s.GradF(m.u.now, m.w.now, it.X(), it.Y(), xi)
	s.GradG(m.d.now, it.X(), it.Y(), phi)
	m.u.update(tau)
	m.w.update(tau)
	m.d.update(tau)
	return s.err
}

func (m *rsvrb) Estimator() *bilevel.Estimator { return m.est }

func (m *rsvrb) Health() bilevel.Health { return m.est.Health() }

func (m *rsvrb) State(t *bilevel.State) {
	m.est.State(t)
	t.Floats(m.u.est, m.w.est, m.d.est, m.xOld, m.yOld)
}
