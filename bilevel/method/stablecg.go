package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// STABLECG is STABLE for lower levels that are too large for a dy × dy matrix: with the recursion and
// projection of H_xy (STABLE-H1, H2),
//
//	x^{k+1} = P_X(x^k − α_k (f_x − H_xy v)),                 v ≈ H⁻¹f_y,
//	y^{k+1} = y^k − β_k g_y − w,                            w ≈ H⁻¹H_xyᵀ(x^{k+1} − x^k),
//
// where H is the mean of g_yy(x^k, y^k; φ_j) over the last Window samples: where g_yy does not depend
// on the point, the recursion with weights 1/Window. Nothing is truncated. Conjugate gradients on
// products apply H⁻¹ (Hestenes, Stiefel 1952); those for v start from the last v.
//
// Step 0 draws Window samples φ. Memory: 3·dx·dy numbers and Window names; O(dx·dy) operations.
type STABLECG struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required

	// Tau is the weight τ_k in [0, 1] of the new sample in H_xy. Default 1/√(k+1).
	Tau bilevel.Schedule

	CGxy float64 // C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound

	// Window ≥ 1. Default 32; all samples with Options.LowerBatch = Full.
	Window int

	Iterations int // ≥ 1, bounds those for one system. Default 10
}

func (STABLECG) Name() string { return "STABLE-CG" }

type stableCG struct {
	STABLECG
	*memory
	window               []bilevel.Sample // a ring; empty with exact oracles
	next                 int              // where the next sample goes
	hxy, old, now        *mat.Dense
	xLast, yLast         []float64
	v, w, h, dx          []float64 // dx = x^{k+1} − x^k
	fx, fy, gy           []float64
	b, residual, dir, hp []float64 // of the conjugate gradients
}

func (m STABLECG) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.CGxy, math.Inf(1))
	err := errors.Join(
		checkSteps("STABLECG", m.Alpha, m.Beta),
		schedule("STABLECG.Tau", &m.Tau, bilevel.Power{C: 1, P: 0.5}, 1),
		option.Positive("STABLECG.CGxy", m.CGxy),
		count("STABLECG.Window", &m.Window, 32),
		option.Batch("STABLECG.Window", max(m.Window, 1)), // which step 0 draws
		count("STABLECG.Iterations", &m.Iterations, 10),
	)
	dx, dy := it.Dims()
	mem := newMemory(it)
	r := &stableCG{STABLECG: m, memory: mem, hxy: mat.NewDense(dx, dy), old: mat.NewDense(dx, dy),
		now: mat.NewDense(dx, dy), xLast: mem.x(""), yLast: mem.y(""), dx: mem.x(""), gy: mem.y("g_y"), fx: mem.x("f_x"),
		fy: mem.y("f_y"), hp: mem.y("H_yy v"), v: mem.y("v"), h: mem.x("the hypergradient"),
		w: mem.y("the drift correction"), b: mem.y(""), residual: mem.y(""), dir: mem.y("")}
	if _, lower := it.Batches(); lower != bilevel.Full && err == nil {
		r.window = make([]bilevel.Sample, max(m.Window, lower))
	}
	return r, err
}

func (m *stableCG) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.Y()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	tau := s.At("Tau", m.Tau, 1)
	s.UseSteps(alpha, beta, tau)
	phi := m.estimate(s, tau)
	s.GradG(m.gy, x, y, phi)
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	s.Finite(m.fy, m.gy)
	m.solve(s, m.v, m.fy)
	mat.MulVec(m.h, m.hxy, m.v)
	for i, fx := range m.fx {
		m.h[i] = fx - m.h[i]
	}
	s.MoveX(alpha, m.h)

	for i, next := range it.NextX() {
		m.dx[i] = next - x[i]
	}
	mat.MulVecTrans(m.b, m.hxy, m.dx)
	clear(m.w)
	m.solve(s, m.w, m.b)
	s.MoveY(beta, m.gy)
	mat.Axpy(it.NextY(), -1, m.w)
	return s.err
}

func (m *stableCG) estimate(s *step, tau float64) (phi []bilevel.Sample) {
	if s.K() > 0 {
		phi = s.DrawPhi(0)
		s.CrossG(m.now, s.X(), s.Y(), phi)
		s.CrossG(m.old, m.xLast, m.yLast, phi)
		mat.Recur(m.hxy, tau, m.hxy, m.old, m.now)
	} else {
		phi = s.DrawPhi(len(m.window))
		s.CrossG(m.hxy, s.X(), s.Y(), phi)
	}
	if s.err != nil {
		return nil
	}
	switch n := mat.ProjectFrob(m.hxy, m.hxy, m.CGxy); {
	case n-n != 0:
		s.err = &bilevel.DivergedError{Step: s.K(), Quantity: "H_xy", Value: n}
	case n > m.CGxy:
		s.Activity().Shrunk++
	}
	for _, sample := range phi {
		m.window[m.next] = sample
		m.next = (m.next + 1) % len(m.window)
	}
	copy(m.xLast, s.X())
	copy(m.yLast, s.Y())
	return phi
}

// solve moves z towards H⁻¹b by conjugate gradients.
func (m *stableCG) solve(s *step, z, b []float64) {
	x, y := s.X(), s.Y()
	s.HessVecG(m.hp, x, y, z, m.window)
	s.Finite(m.hp)
	for j, bj := range b {
		m.residual[j] = bj - m.hp[j]
	}
	copy(m.dir, m.residual)
	square := mat.Dot(m.residual, m.residual)
	for range min(m.Iterations, len(b)) {
		if s.err != nil || !(square > 0) {
			return
		}
		s.HessVecG(m.hp, x, y, m.dir, m.window)
		s.Finite(m.hp)
		curvature := mat.Dot(m.dir, m.hp)
		if !(curvature > 0) { // H is not positive definite along dir
			return
		}
		alpha := square / curvature
		mat.Axpy(z, alpha, m.dir)
		mat.Axpy(m.residual, -alpha, m.hp)
		last := square
		square = mat.Dot(m.residual, m.residual)
		for j, r := range m.residual {
			m.dir[j] = r + square/last*m.dir[j]
		}
	}
}

func (m *stableCG) State(t *bilevel.State) {
	t.Floats(m.xLast, m.yLast, m.v)
	t.Dense(m.hxy)
	t.Count(&m.next)
	for j := range m.window {
		t.Uint((*uint64)(&m.window[j]))
	}
}
