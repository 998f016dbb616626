package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// BiAdam is the adaptive method of Huang and Huang (arXiv 2106.11396, Algorithm 1): Adam's averages,
// a projection in the metric that they define, and a relaxation,
//
//	d_y^k = τ_y g_y(z^k; φ) + (1−τ_y) d_y^{k−1},          B = diag(√b + ρ),   b = (1−c)·b^{k−1} + c·g_y(z^k; φ)²,
//	d_x^k = τ_x h(z^k; ξ, φ′) + (1−τ_x) d_x^{k−1},       A = diag(√a + ρ),   a = (1−c)·a^{k−1} + c·h(z^k; ξ, φ′)²,
//	x̃ = argmin over x in X of ⟨d_x^k, x⟩ + ‖x − x^k‖²_A/(2α_k),   x^{k+1} = x^k + η_k (x̃ − x^k),
//	ỹ = y^k − β_k B⁻¹d_y^k,                                        y^{k+1} = y^k + η_k (ỹ − y^k),
//
// with squares and roots entry by entry, h by (A) of [Neumann], c = max(1/(k+1), 1 − Decay), and the plain
// estimates at step 0. Metric and direction share their samples, a bias of the order of the smaller of τ and 1
// − Decay: unless the weights fall, x stops short of the solution. The set must be a MetricSet.
type BiAdam struct {
	// Step sizes of x̃ and ỹ, lengths as in Adam; the paper's constants γ and λ. Required.
	Alpha, Beta bilevel.Schedule

	// Eta is η_k in [0, 1]. Default 1; the papers' orders: (k+1)^(−1/2), of VR-BiAdam (k+1)^(−1/3).
	Eta bilevel.Schedule

	// Weights τ in [0, 1] of the new sample in d_x and d_y. Default (k+1)^(−1/2), the order of the
	// paper's η; with VR-BiAdam (k+1)^(−2/3), that of η².
	TauX, TauY bilevel.Schedule

	// Decay in (0, 1) is the weight of the past in the metric. Default 0.99.
	Decay float64

	Rho     float64 // ρ > 0, a lower bound of the metric. Default 1e-3
	Neumann Neumann // (A); LG is required
}

// VRBiAdam is the paper's Algorithm 2: BiAdam with SUSTAIN's d_x and d_y.
type VRBiAdam BiAdam

func (BiAdam) Name() string { return "BiAdam" }

func (VRBiAdam) Name() string { return "VR-BiAdam" }

type biadam struct {
	BiAdam
	recursion
	storm bool
	set   bilevel.MetricSet
	x, y  adaptive
}

type adaptive struct {
	*tracked
	square []float64 // a
	metric []float64 // √a + ρ
}

func (m BiAdam) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return m.start(it, "BiAdam", false, bilevel.Power{C: 1, P: 0.5})
}

func (m VRBiAdam) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return BiAdam(m).start(it, "VRBiAdam", true, stormWeight)
}

func (m BiAdam) start(it *bilevel.Iteration, name string, storm bool, tau bilevel.Schedule) (bilevel.Stepper, error) {
	option.Default(&m.Decay, 0.99)
	set, err := it.MetricSet()
	err = errors.Join(
		err,
		checkSteps(name, m.Alpha, m.Beta),
		schedule(name+".Eta", &m.Eta, bilevel.Constant(1), 1),
		schedule(name+".TauX", &m.TauX, tau, 1),
		schedule(name+".TauY", &m.TauY, tau, 1),
		option.Share(name+".Decay", m.Decay),
		positive(name+".Rho", &m.Rho, 1e-3),
		m.Neumann.check(name),
	)
	r := &biadam{BiAdam: m, recursion: newRecursion(it, m.Neumann, true), storm: storm, set: set}
	r.y = adaptive{&r.g, r.memory.y(""), r.memory.y("the metric of y")}
	r.x = adaptive{&r.h, r.memory.x(""), r.memory.x("the metric of x")}
	return r, err
}

func (m *biadam) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	eta, tauX, tauY := s.At("Eta", m.Eta, 1), s.At("TauX", m.TauX, 1), s.At("TauY", m.TauY, 1)
	back := m.storm && it.K() > 0
	m.evaluate(s, it.X(), it.Y(), back, back)
	m.y.update(it.K(), tauY, m.Decay, m.Rho, m.storm)
	m.x.update(it.K(), tauX, m.Decay, m.Rho, m.storm)
	if s.Finite(m.x.metric, m.y.metric); s.err != nil {
		return s.err
	}
	m.remember(it.X(), it.Y())

	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	m.x.move(it.NextX(), it.X(), alpha)
	m.y.move(it.NextY(), it.Y(), beta)
	m.set.ProjectMetric(it.NextX(), it.NextX(), m.x.metric)
	relax(it.NextX(), it.X(), eta)
	relax(it.NextY(), it.Y(), eta)
	alpha *= eta * bilevel.MetricStep(it.NextX(), it.X(), m.x.metric)
	beta *= eta * bilevel.MetricStep(it.NextY(), it.Y(), m.y.metric)
	return it.UseSteps(alpha, beta, 0)
}

func (l *adaptive) update(k int, tau, decay, rho float64, storm bool) {
	if k == 0 {
		tau = 1
	}
	old := l.old
	if !storm {
		old = l.now // then d ← now + (1−τ)(d − now), which is the average
	}
	mat.RecurVec(l.est, tau, old, l.now)
	w := max(1-decay, 1/float64(k+1))
	for i, g := range l.now {
		l.square[i] = (1-w)*l.square[i] + w*g*g
		l.metric[i] = math.Sqrt(l.square[i]) + rho
	}
}

func (l *adaptive) move(next, x []float64, step float64) {
	for i, d := range l.est {
		next[i] = x[i] - step*d/l.metric[i]
	}
}

func relax(next, x []float64, eta float64) {
	if eta == 1 {
		return
	}
	for i, v := range x {
		next[i] = v + eta*(next[i]-v)
	}
}

func (m *biadam) State(t *bilevel.State) {
	t.Floats(m.x.est, m.x.square, m.y.est, m.y.square, m.xOld, m.yOld)
}
