package method

import (
	"stable/bilevel"
)

// SUSTAIN is the single-timescale double-momentum method of Khanduri, Zeng, Hong, Wai, Wang and
// Yang (NeurIPS 2021, arXiv 2102.07367, Algorithm 1). Step k ≥ 1 does
//
//	d_y^k = g_y(z^k; φ) + (1−τ_y)(d_y^{k−1} − g_y(z^{k−1}; φ)),      y^{k+1} = y^k − β_k d_y^k,
//	d_x^k = h(z^k; ξ, φ′) + (1−τ_x)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// with h by random truncation (A), see [Neumann], with the same ξ, p and φ_i at both points. At
// step 0, the directions are the plain estimates. Weights τ = 1 are plain SGD on both levels.
//
// Samples per step: ξ one batch; φ 2 + p. Oracles, k ≥ 1: GradF 2, GradG 2, HessVecG 2p, CrossVecG
// 2, p in {0, …, N−1}; k = 0: half of that.
type SUSTAIN struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's: α_k = (w+k)^(−1/3),
	// which is Power{C: 1, K0: w, P: 1.0/3}, and β_k = c·α_k.
	Alpha, Beta bilevel.Schedule

	// Weights τ in [0, 1] of the new sample in d_x and d_y. Default
	// (k+1)^(−2/3), the order of the paper's c·α².
	TauX, TauY bilevel.Schedule

	// Neumann is (A); LG is required.
	Neumann Neumann
}

func (SUSTAIN) Name() string { return "SUSTAIN" }

func (m SUSTAIN) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if err := checkTaus("SUSTAIN", &m.TauX, &m.TauY); err != nil {
		return nil, err
	}
	return startMomentum(it, "SUSTAIN", doubleMomentum{
		alpha: m.Alpha, beta: m.Beta, tauX: m.TauX, tauY: m.TauY, estimate: newHypergradient(it, m.Neumann, true),
	})
}
