package method

import (
	"stable/bilevel"
)

// TTSA is the two-timescale stochastic approximation of Hong, Wai, Wang and Yang (arXiv 2007.05170,
// Algorithm 1): one step of SGD on y, and one on x on the slower timescale, α_k/β_k → 0,
//
//	y^{k+1} = y^k − β_k g_y(x^k, y^k; φ),
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}).
//
// with h at y^{k+1}, as in the method's own paper; the STABLE paper prints y^k in (eq.TTSA-2).
//
// Samples per step: ξ one batch; φ 2 + p. Oracles: GradF 1, GradG 1, HessVecG p, CrossVecG 1, p in
// {0, …, N−1}.
type TTSA struct {
	// Step sizes of x and y, ≥ 0. Required. Strongly convex F: α_k ~ 1/k,
	// β_k ~ k^(−2/3); nonconvex, K steps: constants α ~ K^(−3/5), β ~ K^(−2/5).
	Alpha, Beta bilevel.Schedule

	// Neumann is (A); LG is required.
	Neumann Neumann
}

func (TTSA) Name() string { return "TTSA" }

func (m TTSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return startAlternating(it, "TTSA", alternating{
		alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(1), estimate: newHypergradient(it, m.Neumann, true),
	})
}
