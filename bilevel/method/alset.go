package method

import (
	"stable/bilevel"
	"stable/bilevel/option"
)

// ALSET is the alternating stochastic gradient descent of Chen, Sun and Yin (Closing the Gap,
// NeurIPS 2021, Algorithm 1): T steps of SGD on y, then one on x,
//
//	y ← y − β_k g_y(x^k, y; φ),   T times, from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}),
//
// with α_k and β_k of one order. On a compositional problem, g = ½‖y − h(x; φ)‖² with LG = 1 and
// Terms = 1, it is single-timescale SCGD; with T = 1 it is TTSA.
//
// Samples per step: ξ one batch; φ T + 1 + p. Oracles: GradF 1, GradG T, HessVecG p, CrossVecG 1, p
// in {0, …, N−1}; where some texts draw p from {1, …, N}, an error of order 1/L_g stays.
type ALSET struct {
	// Step sizes of x and y, ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Inner is T ≥ 1. Default 1.
	Inner int

	// Neumann is (A); LG is required.
	Neumann Neumann
}

func (ALSET) Name() string { return "ALSET" }

func (m ALSET) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Inner, 1)
	return startAlternating(it, "ALSET", alternating{
		alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(m.Inner), estimate: newHypergradient(it, m.Neumann, true),
	})
}
