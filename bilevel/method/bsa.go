package method

import (
	"stable/bilevel"
)

// BSA, bilevel stochastic approximation, is the double-loop method of Ghadimi and Wang (arXiv
// 1802.02246): t_k warm-started steps of SGD on y, then one on x,
//
//	y ← y − β_t g_y(x^k, y; φ),   t = 0, …, t_k − 1,   from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}).
//
// Samples per step: ξ one batch; φ t_k + 1 + p. Oracles: GradF 1, GradG t_k, HessVecG p, CrossVecG
// 1, p in {0, …, N−1}.
type BSA struct {
	// Alpha is the step size α_k of x. Required, ≥ 0.
	Alpha bilevel.Schedule

	// Beta is the step size β_t of inner step t, counted from 0 in every step k. Required, ≥ 0.
	// Under noise it must fall with t, as 1/(μ_g(t+2)) does, or t_k steps are worth no more than
	// one.
	Beta bilevel.Schedule

	// Inner is t_k, rounded up to an integer ≥ 1. Default √(k+1), for a nonconvex F; for a strongly
	// convex one take k+1, Power{C: 1, P: -1}.
	Inner bilevel.Schedule

	// Neumann is (A); LG is required. N grows as log k by default, as in the paper.
	Neumann Neumann
}

// defaultInner is t_k = √(k+1).
var defaultInner = bilevel.Power{C: 1, P: -0.5}

func (BSA) Name() string { return "BSA" }

func (m BSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Inner == nil {
		m.Inner = defaultInner
	}
	return startAlternating(it, "BSA", alternating{
		alpha: m.Alpha, beta: m.Beta, byInner: true, inner: m.Inner, estimate: newHypergradient(it, m.Neumann, true),
	})
}
