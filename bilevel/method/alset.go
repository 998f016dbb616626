package method

import (
	"stable/bilevel"
)

// ALSET is the alternating stochastic gradient descent of Chen, Sun and Yin (Closing the Gap:
// Tighter Analysis of Alternating Stochastic Gradient Methods for Bilevel Problems, NeurIPS 2021,
// Algorithm 1). Step k ≥ 0 does T steps of SGD on y and one on x,
//
//	y ← y − β_k g_y(x^k, y; φ),   T times, from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}),
//
// with α_k and β_k of one order. On a compositional problem, g = ½‖y − h(x; φ)‖² with LG = 1 and
// Terms = 1, it is single-timescale SCGD (TestALSETCompositional).
//
// Samples per step: ξ one batch; φ T + 1 + p batches. Oracles: GradF 1, GradG T, HessVecG p,
// CrossVecG 1, with p in {0, …, N−1}. To an ε-stationary point: ε⁻² samples. Some texts draw p
// uniformly from {1, …, N}, which leaves an error of order 1/L_g that does not go away; here p
// starts at 0. Tests check the rule against the paper's equations, step by step
// (TestAlternatingFollowsThePapers), and against TTSA, which it is with T = 1
// (TestMethodReductions).
type ALSET struct {
	// Alpha and Beta are the step sizes α_k of x and β_k of y. Required, ≥ 0.
	Alpha, Beta bilevel.Schedule

	// Inner is T ≥ 1. Default 1.
	Inner int

	// Neumann holds the parameters of (A); its LG is required.
	Neumann Neumann
}

// Name returns "ALSET".
func (ALSET) Name() string { return "ALSET" }

func (m ALSET) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Inner == 0 {
		m.Inner = 1
	}
	return startAlternating(it, "ALSET", alternating{
		alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(m.Inner), estimate: newHypergradient(it, m.Neumann, true),
	})
}
