package method

import (
	"errors"

	"stable/bilevel"
	"stable/bilevel/option"
)

// MASOBA is SOBA with a moving average of the direction of x (MA-SOBA: Chen, Xiao, Balasubramanian,
// arXiv 2306.12067, Algorithm 1). y and v move as in SOBA, and
//
//	h^k = (1−θ_k) h^{k−1} + θ_k D_x,   x^{k+1} = P_X(x^k − α_k h^k),   D_x = g_xy v^k + f_x at z^k.
//
// The theory needs no third derivatives of g, as SOBA's does. θ = 1 is SOBA. Here h⁰ is D_x; the
// paper starts from any h⁰, and moves x along h^{k−1}, one step behind.
//
// Samples and cost as for SOBA.
type MASOBA struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's are constant, of the
	// order 1/√K for K steps.
	Alpha, Beta bilevel.Schedule

	// Step size of v, ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Theta is the weight θ_k in [0, 1] of the new direction. Default 1/√(k+1), the paper's order.
	Theta bilevel.Schedule
}

func (MASOBA) Name() string { return "MA-SOBA" }

type masoba struct {
	*soba
	theta bilevel.Schedule
	h     []float64
}

func (m MASOBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Theta == nil {
		m.Theta = bilevel.Power{C: 1, P: 0.5}
	}
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.check(it, "MASOBA")
	if err = errors.Join(err, option.Schedule("MASOBA.Theta", m.Theta, 1)); err != nil {
		return nil, err
	}
	return &masoba{soba: b, theta: m.Theta, h: make([]float64, len(it.X()))}, nil
}

func (m *masoba) Step(it *bilevel.Iteration) error {
	theta, err := it.At("Theta", m.theta, 1)
	if err != nil {
		return err
	}
	if it.K() == 0 {
		theta = 1
	}
	if err := m.parts(it); err != nil {
		return err
	}
	_, _, cv := m.split(m.g)
	for i, h := range m.h {
		m.h[i] = (1-theta)*h + theta*(m.f[i]+cv[i])
	}
	return m.moveAlong(it, m.h)
}

func (m *masoba) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.h)
}

func (m *masoba) Vectors(visit func(name string, v []float64)) {
	m.soba.Vectors(visit)
	visit("h", m.h)
}
