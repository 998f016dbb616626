package bilevel

import (
	"errors"
	"fmt"
	"math"

	"stable/mat"
)

// STABLE is the method of Chen, Sun, Xiao and Yin (AISTATS 2022), Algorithm 1: one loop, one timescale. Step k ≥ 0 draws one batch of φ and one of
// ξ, moves the estimates H_xy, H_yy of the second derivatives by (STABLE-H), see Estimator, and then both variables by (STABLE),
//
//	x^{k+1} = P_X(x^k − α_k (f_x − H_xy H_yy⁻¹ f_y)),             f_x, f_y at (x^k, y^k; ξ^k),
//	y^{k+1} = y^k − β_k g_y − H_yy⁻¹ H_xyᵀ (x^{k+1} − x^k),         g_y at (x^k, y^k; φ^k).
//
// x moves first, and y is corrected by the displacement that the projection onto X left. Step 0 has no older point: H⁰ is the plain
// estimate over an initial batch, which also serves g_y.
//
// Cost a step, oracles excluded: 2·dy³/3 flops where nothing is to be truncated, an eigen-decomposition where something is, and
// O(dy² + dx·dy).
type STABLE struct {
	// Alpha and Beta are the step sizes α_k of x and β_k of y. Required.
	Alpha, Beta Schedule

	// Tau is the weight τ_k in [0, 1] of the new sample in H_xy and H_yy; 1 forgets the past. Default 1/√(k+1).
	Tau Schedule

	// MuG is μ_g > 0 of g_yy ⪰ μ_g I, below which no eigenvalue of H_yy may fall. Required.
	MuG float64

	// CGxy is C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound.
	CGxy float64

	// InitBatch is the number of samples φ in H⁰, or Full. Default: Options.LowerBatch.
	InitBatch int

	// Trust is the radius r > 0 of a trust region, which is not in the paper; +Inf leaves it out. Default 0.1. The correction H_yy⁻¹H_xyᵀΔx extrapolates
	// y*(x) along its tangent, far where μ_g is small or H_yy noisy. Where it is longer than r·max(1, ‖y‖), x^{k+1} is drawn back along
	// the line to x^k (into X, which is convex) until it is that long.
	Trust float64
}

// Name returns "STABLE".
func (STABLE) Name() string { return "STABLE" }

// stable is the running state of STABLE.
type stable struct {
	STABLE
	est        *Estimator
	fx, fy, gy []float64
	h          []float64 // f_x − H_xy H_yy⁻¹ f_y
	dx         []float64 // x^{k+1} − x^k
	drift      []float64 // H_yy⁻¹ H_xyᵀ dx
}

func (m STABLE) start(s *Solver) (stepper, error) {
	if m.Tau == nil {
		m.Tau = Power{C: 1, P: 0.5}
	}
	if m.CGxy == 0 {
		m.CGxy = math.Inf(1)
	}
	if m.InitBatch == 0 {
		m.InitBatch = s.opt.LowerBatch
	}
	if m.Trust == 0 {
		m.Trust = 0.1
	}
	if !(m.Trust > 0) {
		return nil, badOption("STABLE.Trust is %v, want > 0 (+Inf for none)", m.Trust)
	}
	if err := errors.Join(
		checkSchedule("STABLE.Alpha", m.Alpha, math.MaxFloat64),
		checkSchedule("STABLE.Beta", m.Beta, math.MaxFloat64),
		checkSchedule("STABLE.Tau", m.Tau, 1),
		checkBatch("STABLE.InitBatch", m.InitBatch),
	); err != nil {
		return nil, err
	}
	est, err := NewEstimator(s.oracle, m.MuG, m.CGxy)
	if err != nil {
		return nil, fmt.Errorf("STABLE: %w", err)
	}
	dx, dy := len(s.x), len(s.y)
	return &stable{
		STABLE: m, est: est,
		fx: make([]float64, dx), h: make([]float64, dx), dx: make([]float64, dx),
		fy: make([]float64, dy), gy: make([]float64, dy), drift: make([]float64, dy),
	}, nil
}

func (m *stable) step(s *Solver) error {
	alpha, beta, tau := m.Alpha.At(s.k), m.Beta.At(s.k), m.Tau.At(s.k)
	if err := s.useSteps(alpha, beta, tau); err != nil {
		return err
	}

	// φ^k, and (STABLE-H) at (x^k, y^k).
	var phi []Sample
	var err error
	if s.k == 0 {
		phi = s.phi.draw(m.InitBatch)
		err = m.est.Init(s.x, s.y, phi)
	} else {
		phi = s.phi.draw(s.opt.LowerBatch)
		err = m.est.Update(tau, s.x, s.y, phi)
	}
	if err != nil {
		return err
	}
	if err := s.oracle.GradG(m.gy, s.x, s.y, phi); err != nil {
		return err
	}

	// ξ^k.
	xi := s.xi.draw(s.opt.UpperBatch)
	if err := s.oracle.GradF(m.fx, m.fy, s.x, s.y, xi); err != nil {
		return err
	}

	// (STABLE), first line: x^{k+1} = P_X(x^k − α h).
	if err := m.est.Hypergradient(m.h, m.fx, m.fy); err != nil {
		return err
	}
	for i, x := range s.x {
		s.xNext[i] = x - alpha*m.h[i]
	}
	s.opt.Set.Project(s.xNext, s.xNext)

	// (STABLE), second line: y^{k+1} = y^k − β g_y − H_yy⁻¹ H_xyᵀ (x^{k+1} − x^k).
	for i, x := range s.x {
		m.dx[i] = s.xNext[i] - x
	}
	if err := m.est.Drift(m.drift, m.dx); err != nil {
		return err
	}
	m.trust(s)
	for i, y := range s.y {
		s.yNext[i] = y - beta*m.gy[i] - m.drift[i]
	}
	m.tally(s)
	return nil
}

// trust draws x^{k+1} and the drift back to the trust region. The drift is linear in x^{k+1} − x^k, so one factor serves both.
func (m *stable) trust(s *Solver) {
	length, radius := mat.Norm(m.drift), m.Trust*max(1, mat.Norm(s.y))
	if !(length > radius) {
		return
	}
	theta := radius / length
	for i, x := range s.x {
		s.xNext[i] = x + theta*m.dx[i]
	}
	for i := range m.drift {
		m.drift[i] *= theta
	}
	s.activity.Cut++
}

// tally counts what the projections of (STABLE-H) did.
func (m *stable) tally(s *Solver) {
	r := m.est.Report()
	if r.Truncate.Clipped > 0 {
		s.activity.Truncated++
	}
	if r.CrossNorm > m.CGxy {
		s.activity.Shrunk++
	}
}

// parts names what the next iterate was made of, in the order of computation, for the search of a non-finite value.
func (m *stable) parts(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("the hypergradient", m.h)
	visit("the drift correction", m.drift)
}
