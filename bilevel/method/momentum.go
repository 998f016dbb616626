package method

import (
	"cmp"
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// SUSTAIN is the single-timescale double-momentum method of Khanduri, Zeng, Hong, Wai, Wang and
// Yang (NeurIPS 2021, arXiv 2102.07367, Algorithm 1). Step k ≥ 1 does
//
//	d_y^k = g_y(z^k; φ) + (1−τ_y)(d_y^{k−1} − g_y(z^{k−1}; φ)),      y^{k+1} = y^k − β_k d_y^k,
//	d_x^k = h(z^k; ξ, φ′) + (1−τ_x)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// with h by random truncation (A), see [Neumann], and the same ξ, p and φ_i at both points. At step
// 0, the directions are the plain estimates, as always with τ = 1.
type SUSTAIN struct {
	// Step sizes. Required. The paper's: α_k = (w+k)^(−1/3), Power{C: 1, K0: w, P: 1.0/3}, and β_k = c·α_k.
	Alpha, Beta bilevel.Schedule

	// Weights τ in [0, 1] of new samples in d_x and d_y. Default (k+1)^(−2/3), the order of c·α².
	TauX, TauY bilevel.Schedule

	Neumann Neumann // (A), of MRBO (B); LG is required
}

// MRBO, the momentum-based recursive bilevel optimizer, is Algorithm 1 of Yang, Ji and Liang
// (NeurIPS 2021, arXiv 2106.04692): SUSTAIN with the truncated sum (B) for h, see [Neumann]. The
// paper's step sizes are γη_k and λη_k, η_k = d/(m+k)^(1/3), as Power{C: γd, K0: m, P: 1.0/3}.
type MRBO SUSTAIN

func (SUSTAIN) Name() string { return "SUSTAIN" }

func (MRBO) Name() string { return "MRBO" }

func (m SUSTAIN) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return m.start(it, "SUSTAIN", true)
}

func (m MRBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return SUSTAIN(m).start(it, "MRBO", false)
}

func (m SUSTAIN) start(it *bilevel.Iteration, name string, random bool) (bilevel.Stepper, error) {
	err := errors.Join(
		schedule(name+".TauX", &m.TauX, stormWeight, 1),
		schedule(name+".TauY", &m.TauY, stormWeight, 1),
	)
	return startMomentum(name, err, momentum{newRecursion(it, m.Neumann, random), m.Alpha, m.Beta, m.TauX, m.TauY})
}

// MSTSA is the momentum-assisted single-timescale method that SUSTAIN grew out of (Khanduri et al.,
// first version of arXiv 2102.07367): SUSTAIN with τ_y = 1, d_y^k = g_y(z^k; φ).
type MSTSA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required

	// Tau is the weight τ in [0, 1] of the new sample in d_x. Default (k+1)^(−2/3).
	Tau bilevel.Schedule

	Neumann Neumann // (A); LG is required
}

func (MSTSA) Name() string { return "MSTSA" }

func (m MSTSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := schedule("MSTSA.Tau", &m.Tau, stormWeight, 1)
	return startMomentum("MSTSA", err, momentum{newRecursion(it, m.Neumann, true), m.Alpha, m.Beta, m.Tau, nil})
}

// stormWeight is the papers' c·α² for α ~ (k+1)^(−1/3), scaled to be 1 at k = 0.
var stormWeight = bilevel.Power{C: 1, P: 2.0 / 3}

// recursion holds the estimates of g_y and of h that take the change from z⁻ to z on the same samples:
// STORM (Cutkosky and Orabona, NeurIPS 2019) and, with τ = 0, SPIDER.
type recursion struct {
	*memory
	estimate   hypergradient
	xOld, yOld []float64 // z⁻
	g, h       tracked
}

// tracked is the estimate of a vector, and the values at z⁻ and z.
type tracked struct{ old, now, est []float64 }

func newTracked(vec func(name string) []float64, name, est string) tracked {
	return tracked{vec(name + " at the last point"), vec(name), vec(est)}
}

func (t tracked) update(tau float64) { mat.RecurVec(t.est, tau, t.old, t.now) }

func newRecursion(it *bilevel.Iteration, n Neumann, random bool) recursion {
	m := newMemory(it)
	r := recursion{memory: m, estimate: hypergradient{series: n, random: random}, xOld: m.x(""), yOld: m.y("")}
	r.g = newTracked(m.y, "g_y", "the direction of y (g_y)")
	r.h = tracked{old: m.x("the hypergradient at the last point"), now: m.x("")}
	r.estimate.start(m)
	r.h.est = m.x("the direction of x")
	return r
}

func (m *recursion) evaluate(s *step, x, y []float64, oldG, oldH bool) {
	phi := s.DrawPhi(0)
	if oldG {
		s.GradG(m.g.old, m.xOld, m.yOld, phi)
	}
	s.GradG(m.g.now, x, y, phi)
	m.estimate.draw(s, 0, 0)
	if oldH {
		m.estimate.at(s, m.h.old, m.xOld, m.yOld)
	}
	m.estimate.at(s, m.h.now, x, y)
}

func (m *recursion) remember(x, y []float64) {
	copy(m.xOld, x)
	copy(m.yOld, y)
}

type momentum struct {
	recursion
	alpha, beta bilevel.Schedule
	tauX, tauY  bilevel.Schedule // tauY nil: τ = 1, d_y = g_y
}

func startMomentum(name string, err error, m momentum) (bilevel.Stepper, error) {
	return &m, errors.Join(err, checkSteps(name, m.alpha, m.beta), m.estimate.series.check(name))
}

func (m *momentum) Step(it *bilevel.Iteration) error {
	s, back, tauY := m.begin(it), it.K() > 0, 1.0
	alpha, beta, tauX := m.alpha.At(it.K()), m.beta.At(it.K()), m.tauX.At(it.K())
	s.UseSteps(alpha, beta, 0)
	if m.tauY != nil {
		tauY = m.tauY.At(it.K())
	}
	s.UseSteps(0, 0, tauY)
	s.UseSteps(0, 0, tauX)
	m.evaluate(s, it.X(), it.Y(), back && m.tauY != nil, back)
	m.g.update(tauY)
	m.h.update(tauX)
	m.remember(it.X(), it.Y())
	s.MoveY(beta, m.g.est)
	s.MoveX(alpha, m.h.est)
	return s.err
}

func (m *momentum) State(t *bilevel.State) { t.Floats(m.xOld, m.yOld, m.h.est, m.g.est) }

// VRBO is Algorithm 2 of Yang, Ji and Liang (NeurIPS 2021, arXiv 2106.04692): SPIDER on both levels,
// with directions u of x and v of y. Every Period steps, large batches reset them,
//
//	u = h(x^k, y^k; ξ, φ′),   v = g_y(x^k, y^k; φ),   S_1 samples in each batch.
//
// Step k moves x first, x^{k+1} = P_X(x^k − αu), and then y m times. Before each inner step, and
// after the last, the directions follow the change of the point from z⁻ to z, on the same batches,
//
//	v ← v + g_y(z; φ) − g_y(z⁻; φ),   u ← u + h(z; ξ, φ′) − h(z⁻; ξ, φ′);   then y ← y − βv.
//
// The first change is that from x^k to x^{k+1}; the last is left out before a reset. h is the
// truncated sum (B), see [Neumann]. The paper counts m+1 inner steps.
type VRBO struct {
	// Step sizes of x and of an inner step of y. Required. The paper's are constant.
	Alpha, Beta bilevel.Schedule

	Period int // ≥ 1, the paper's q. Default 10
	Inner  int // m ≥ 1. Default 10

	// LargeBatch is S_1 ≥ 1, or Full. Default: Period batches of a stream; Full where these are.
	LargeBatch int

	Neumann Neumann // (B); LG is required
}

func (VRBO) Name() string { return "VRBO" }

type vrbo struct {
	VRBO
	recursion         // h.est is u, g.est is v
	largeXi, largePhi int
}

func (m VRBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		checkSteps("VRBO", m.Alpha, m.Beta),
		count("VRBO.Period", &m.Period, 10),
		count("VRBO.Inner", &m.Inner, 10),
		m.Neumann.check("VRBO"),
	)
	upper, lower := it.Batches()
	r := &vrbo{m, newRecursion(it, m.Neumann, false), m.large(upper), m.large(lower)}
	return r, errors.Join(err, option.Batch("VRBO.LargeBatch", max(r.largeXi, r.largePhi)))
}

// large is S_1 for a stream with small batches of the given size.
func (m VRBO) large(small int) int {
	switch {
	case m.LargeBatch != 0:
		return m.LargeBatch
	case small == bilevel.Full:
		return bilevel.Full
	}
	return m.Period * small
}

func (m *vrbo) Step(it *bilevel.Iteration) error {
	s, u, v := m.begin(it), m.h.est, m.g.est
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(alpha, 0, 0)
	if it.K()%m.Period == 0 {
		s.GradG(v, it.X(), it.Y(), s.DrawPhi(m.largePhi))
		m.estimate.draw(s, m.largeXi, m.largePhi)
		m.estimate.at(s, u, it.X(), it.Y())
		s.Finite(u, v)
	}

	s.MoveX(alpha, u)

	m.remember(it.X(), it.Y())
	m.addChange(s)
	for t := 1; t <= m.Inner; t++ {
		m.remember(it.NextX(), it.NextY())
		s.InnerStep(beta, v)
		if t < m.Inner || (it.K()+1)%m.Period != 0 {
			m.addChange(s)
		}
	}
	return s.err
}

func (m *vrbo) addChange(s *step) {
	m.evaluate(s, s.NextX(), s.NextY(), true, true)
	m.g.update(0)
	m.h.update(0)
	s.Finite(m.h.est, m.g.est)
}

func (m *vrbo) State(t *bilevel.State) { t.Floats(m.h.est, m.g.est) }

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
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's order is (k+1)^(−1/3)

	// Tau is the weight τ_k in [0, 1] of the new sample in the estimates. Default (k+1)^(−2/3).
	Tau bilevel.Schedule

	MuG  float64 // λ > 0, of g_yy ⪰ λI. Required
	CGxy float64 // C_gxy > 0, the bound on ‖H_xy‖_F. Default +Inf: no bound

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

func (m RSVRB) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.CGxy, math.Inf(1))
	err := errors.Join(
		checkSteps("RSVRB", m.Alpha, m.Beta),
		schedule("RSVRB.Tau", &m.Tau, stormWeight, 1),
		option.Finite("RSVRB.MuG", m.MuG),
		option.Positive("RSVRB.CGxy", m.CGxy),
		option.Batch("RSVRB.InitBatch", cmp.Or(m.InitBatch, 1)), // 0 is the default
	)
	if err != nil {
		return nil, err
	}
	est, err := bilevel.NewEstimator(it.Oracle(), m.MuG, m.CGxy)
	mem := newMemory(it)
	r := &rsvrb{RSVRB: m, memory: mem, est: est, xOld: mem.x(""), yOld: mem.y("")}
	r.u = newTracked(mem.x, "f_x", "the estimate of f_x")
	r.w = newTracked(mem.y, "f_y", "the estimate of f_y")
	r.d = newTracked(mem.y, "g_y", "the direction of y (g_y)")
	r.h = mem.x("the hypergradient")
	return r, err
}

func (m *rsvrb) Step(it *bilevel.Iteration) error {
	alpha, beta, tau := m.Alpha.At(it.K()), m.Beta.At(it.K()), m.Tau.At(it.K())
	if err := it.UseSteps(alpha, beta, tau); err != nil {
		return err
	}
	s, xi, phi := m.begin(it), it.DrawXi(0), m.est.Draw(it, m.InitBatch)
	if it.K() > 0 {
		s.GradF(m.u.old, m.w.old, m.xOld, m.yOld, xi)
		s.GradG(m.d.old, m.xOld, m.yOld, phi)
	}
	s.do(func() error { return m.est.Track(it, tau, phi) })
	s.GradF(m.u.now, m.w.now, it.X(), it.Y(), xi)
	s.GradG(m.d.now, it.X(), it.Y(), phi)
	m.u.update(tau)
	m.w.update(tau)
	m.d.update(tau)
	s.do(func() error { return m.est.Hypergradient(m.h, m.u.est, m.w.est) })
	copy(m.xOld, it.X())
	copy(m.yOld, it.Y())
	s.MoveX(alpha, m.h)
	s.MoveY(beta, m.d.est)
	return s.err
}

func (m *rsvrb) Health() bilevel.Health { return m.est.Health() }

func (m *rsvrb) State(t *bilevel.State) {
	m.est.State(t)
	t.Floats(m.u.est, m.w.est, m.d.est, m.xOld, m.yOld)
}
