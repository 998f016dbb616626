package method

import (
	"stable/bilevel"
	"stable/bilevel/option"
)

// MSTSA is the momentum-assisted single-timescale method that SUSTAIN grew out of (Khanduri et al.,
// first version of arXiv 2102.07367): the recursion on the hypergradient only, SUSTAIN with TauY =
// 1. Step k ≥ 1 does
//
//	y^{k+1} = y^k − β_k g_y(z^k; φ),
//	d_x^k = h(z^k; ξ, φ′) + (1−τ)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// with h by random truncation (A), see [Neumann], on the same draws at both points.
//
// Samples per step: ξ one batch; φ 2 + p. Oracles, k ≥ 1: GradF 2, GradG 1, HessVecG 2p, CrossVecG
// 2, p in {0, …, N−1}; k = 0: one point only.
type MSTSA struct {
	// Step sizes of x and y, ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Tau is the weight τ in [0, 1] of the new sample in d_x. Default (k+1)^(−2/3).
	Tau bilevel.Schedule

	// Neumann is (A); LG is required.
	Neumann Neumann
}

func (MSTSA) Name() string { return "MSTSA" }

func (m MSTSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Tau == nil {
		m.Tau = stormWeight
	}
	if err := option.Schedule("MSTSA.Tau", m.Tau, 1); err != nil {
		return nil, err
	}
	return startMomentum(it, "MSTSA", doubleMomentum{
		alpha: m.Alpha, beta: m.Beta, tauX: m.Tau, estimate: newHypergradient(it, m.Neumann, true),
	})
}
