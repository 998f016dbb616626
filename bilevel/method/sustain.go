package method

import (
	"stable/bilevel"
)

// SUSTAIN is the single-timescale double-momentum method of Khanduri, Zeng, Hong, Wai, Wang and
// Yang (A Near-Optimal Algorithm for Stochastic Bilevel Optimization via Double-Momentum, NeurIPS
// 2021, arXiv 2102.07367, Algorithm 1). Step k ≥ 1 does
//
//	d_y^k = g_y(z^k; φ) + (1−τ_y)(d_y^{k−1} − g_y(z^{k−1}; φ)),      y^{k+1} = y^k − β_k d_y^k,
//	d_x^k = h(z^k; ξ, φ′) + (1−τ_x)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// with z^k = (x^k, y^k), and h by random truncation (A), see [Neumann], with the same ξ, p and φ_i
// at both points. At step 0, the directions are the plain estimates. With weights τ = 1 the method
// is plain SGD on both levels.
//
// Samples per step: ξ one batch; φ 2 + p batches. Oracles, for k ≥ 1: GradF 2, GradG 2, HessVecG
// 2p, CrossVecG 2, with p in {0, …, N−1}; for k = 0 half of that. To an ε-stationary point:
// ε^(−3/2) samples, up to logarithms.
//
// The rule was checked against solvers/sustain.py of benchmark_bilevel (see the package comment),
// which takes 0 for the point and the directions before step 0, and evaluates g_xy on the sample of
// g_y. With exact oracles the weights do not matter (TestMethodReductions). The paper is for X =
// R^dx; the projection is added here.
type SUSTAIN struct {
	// Alpha and Beta are the step sizes α_k of x and β_k of y. Required, ≥ 0. The paper's: α_k =
	// (w+k)^(−1/3), which is Power{C: 1, K0: w, P: 1.0/3}, and β_k = c·α_k.
	Alpha, Beta bilevel.Schedule

	// TauX and TauY are the weights τ in [0, 1] of the new sample in d_x and d_y; 1 forgets the
	// past. Default (k+1)^(−2/3), of the order c·α² of the paper.
	TauX, TauY bilevel.Schedule

	// Neumann holds the parameters of (A); its LG is required.
	Neumann Neumann
}

// Name returns "SUSTAIN".
func (SUSTAIN) Name() string { return "SUSTAIN" }

func (m SUSTAIN) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if err := checkTaus("SUSTAIN", &m.TauX, &m.TauY); err != nil {
		return nil, err
	}
	return startMomentum(it, "SUSTAIN", doubleMomentum{
		alpha: m.Alpha, beta: m.Beta, tauX: m.TauX, tauY: m.TauY, estimate: newHypergradient(it, m.Neumann, true),
	})
}
