package method

import (
	"stable/bilevel"
)

// MRBO, the momentum-based recursive bilevel optimizer, is Algorithm 1 of Yang, Ji and Liang
// (NeurIPS 2021, arXiv 2106.04692): SUSTAIN with the truncated sum (B) for h, see [Neumann], on the
// same batches at both points. Step k ≥ 1 does
//
//	d_y^k = g_y(z^k; φ) + (1−τ_y)(d_y^{k−1} − g_y(z^{k−1}; φ)),      y^{k+1} = y^k − β_k d_y^k,
//	d_x^k = h(z^k; ξ, φ′) + (1−τ_x)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// At step 0, the directions are the plain estimates.
//
// Samples and oracles as for SUSTAIN, with Q = N−1 in place of p.
type MRBO struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's: γη_k and λη_k with
	// η_k = d/(m+k)^(1/3), as Power{C: γd, K0: m, P: 1.0/3}.
	Alpha, Beta bilevel.Schedule

	// Weights τ in [0, 1] of the new sample in d_x and d_y. Default
	// (k+1)^(−2/3), the order of the paper's c·η².
	TauX, TauY bilevel.Schedule

	// Neumann is (B); LG is required: η = 1/LG, Q = N−1.
	Neumann Neumann
}

func (MRBO) Name() string { return "MRBO" }

func (m MRBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if err := checkTaus("MRBO", &m.TauX, &m.TauY); err != nil {
		return nil, err
	}
	return startMomentum(it, "MRBO", doubleMomentum{
		alpha: m.Alpha, beta: m.Beta, tauX: m.TauX, tauY: m.TauY, estimate: newHypergradient(it, m.Neumann, false),
	})
}
