package method

import (
	"errors"

	"stable/bilevel"
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
	// Step sizes. Required. The paper's: α_k = (w+k)^(−1/3), Power{C: 1, K0: w, P:
	// 1.0/3}, and β_k = c·α_k.
	Alpha, Beta bilevel.Schedule

	// Weights τ in [0, 1] of the new sample in d_x and d_y. Default (k+1)^(−2/3), the order of the
	// paper's c·α².
	TauX, TauY bilevel.Schedule

	// (A), of MRBO (B); LG is required.
	Neumann Neumann
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
	return startMomentum(it, name, err, momentum{alpha: m.Alpha, beta: m.Beta, tauX: m.TauX, tauY: m.TauY,
		estimate: hypergradient{series: m.Neumann, random: random}})
}

// MSTSA is the momentum-assisted single-timescale method that SUSTAIN grew out of (Khanduri et al.,
// first version of arXiv 2102.07367): SUSTAIN with τ_y = 1, d_y^k = g_y(z^k; φ).
type MSTSA struct {
	// Step sizes. Required.
	Alpha, Beta bilevel.Schedule

	// Tau is the weight τ in [0, 1] of the new sample in d_x. Default (k+1)^(−2/3).
	Tau bilevel.Schedule

	// (A); LG is required.
	Neumann Neumann
}

func (MSTSA) Name() string { return "MSTSA" }

func (m MSTSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := schedule("MSTSA.Tau", &m.Tau, stormWeight, 1)
	return startMomentum(it, "MSTSA", err, momentum{alpha: m.Alpha, beta: m.Beta, tauX: m.Tau,
		estimate: hypergradient{series: m.Neumann, random: true}})
}

// stormWeight is the papers' c·α² for α ~ (k+1)^(−1/3), scaled to be 1 at k = 0.
var stormWeight = bilevel.Power{C: 1, P: 2.0 / 3}

// momentum is the running state of all three: STORM (Cutkosky and Orabona, NeurIPS 2019).
type momentum struct {
	*memory
	alpha, beta bilevel.Schedule
	tauX, tauY  bilevel.Schedule // tauY nil: no recursion in y, d_y = g_y
	estimate    hypergradient
	xOld, yOld  []float64 // z^{k−1}
	dx, dy      []float64 // d_x, d_y
	hOld, h     []float64 // at z^{k−1} and z^k
	gOld, g     []float64
}

func startMomentum(it *bilevel.Iteration, name string, err error, m momentum) (bilevel.Stepper, error) {
	m.memory = newMemory(it)
	m.xOld, m.yOld = m.x(""), m.y("")
	m.gOld, m.g, m.dy = m.y("g_y at the last iterate"), m.y("g_y"), m.y("the direction of y (g_y)")
	m.hOld, m.h = m.x("the hypergradient at the last iterate"), m.x("")
	m.estimate.start(m.memory)
	m.dx = m.x("the direction of x")
	return &m, errors.Join(err, checkSteps(name, m.alpha, m.beta), m.estimate.series.check(name))
}

func (m *momentum) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	alpha, beta := m.alpha.At(it.K()), m.beta.At(it.K())
	s.UseSteps(alpha, beta, 0)
	m.lower(s)

	tau := m.tauX.At(it.K())
	s.UseSteps(0, 0, tau)
	m.estimate.draw(s, 0, 0)
	if it.K() > 0 {
		m.estimate.at(s, m.hOld, m.xOld, m.yOld)
	}
	m.estimate.at(s, m.h, it.X(), it.Y())
	mat.RecurVec(m.dx, tau, m.hOld, m.h)
	copy(m.xOld, it.X())
	copy(m.yOld, it.Y())

	it.MoveY(beta, m.dy)
	s.MoveX(alpha, m.dx)
	return s.err
}

func (m *momentum) lower(s *step) {
	phi := s.DrawPhi(0)
	if m.tauY == nil {
		s.GradG(m.dy, s.X(), s.Y(), phi)
		return
	}
	tau := m.tauY.At(s.K())
	s.UseSteps(0, 0, tau)
	if s.K() > 0 {
		s.GradG(m.gOld, m.xOld, m.yOld, phi)
	}
	s.GradG(m.g, s.X(), s.Y(), phi)
	mat.RecurVec(m.dy, tau, m.gOld, m.g)
}

func (m *momentum) State(t *bilevel.State) { t.Floats(m.xOld, m.yOld, m.dx, m.dy) }
