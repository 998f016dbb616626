package method

import (
	"stable/bilevel"
)

// BSA, bilevel stochastic approximation, is the double-loop method of Ghadimi and Wang
// (Approximation Methods for Bilevel Programming, arXiv 1802.02246, the stochastic algorithm). Step
// k ≥ 0 does t_k steps of SGD on y and one on x,
//
//	y ← y − β_t g_y(x^k, y; φ),   t = 0, …, t_k − 1,   from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}).
//
// The inner steps start where those of step k−1 ended: a warm start.
//
// Samples per step: ξ one batch; φ t_k + 1 + p batches. Oracles: GradF 1, GradG t_k, HessVecG p,
// CrossVecG 1, with p in {0, …, N−1}.
//
// To an ε-stationary point: ε⁻² samples ξ and ε⁻³ samples φ with t_k ~ √k; to an ε-optimal one of a
// strongly convex F: ε⁻¹ and ε⁻² with t_k ~ k (Table 1 of the STABLE paper). The rule was checked
// against solvers/bsa.py of benchmark_bilevel (see the package comment). There a step moves x first
// and then y, which is the same sequence shifted by half a step, and t_k is constant.
type BSA struct {
	// Alpha is the step size α_k of x. Required, ≥ 0.
	Alpha bilevel.Schedule

	// Beta is the step size β_t of inner step t, counted from 0 in every step k. Required, ≥ 0.
	// Under noise it must fall with t, as 1/(μ_g(t+2)) does; otherwise t_k steps are worth no more
	// than one.
	Beta bilevel.Schedule

	// Inner is t_k, rounded up to an integer ≥ 1. Default √(k+1), for a nonconvex F; Power{C: 1, P:
	// -1}, which is k+1, for a strongly convex one.
	Inner bilevel.Schedule

	// Neumann holds the parameters of (A); its LG is required. The paper's N grows as log k, and so
	// does the default.
	Neumann Neumann
}

// defaultInner is t_k = √(k+1).
var defaultInner = bilevel.Power{C: 1, P: -0.5}

// Name returns "BSA".
func (BSA) Name() string { return "BSA" }

func (m BSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Inner == nil {
		m.Inner = defaultInner
	}
	return startAlternating(it, "BSA", alternating{
		alpha: m.Alpha, beta: m.Beta, byInner: true, inner: m.Inner, estimate: newHypergradient(it, m.Neumann, true),
	})
}
