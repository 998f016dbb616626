package method

import (
	"stable/bilevel"
	"stable/bilevel/option"
)

// StocBiO is stocBiO of Ji, Yang and Liang (Bilevel Optimization: Convergence Analysis and Enhanced
// Design, ICML 2021, arXiv 2010.07962, its stochastic algorithm and Algorithm 2 for the
// hypergradient). Step k ≥ 0 does D steps of SGD on y and one on x,
//
//	y ← y − β_k g_y(x^k, y; φ),   D times, from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by the truncated sum (B), see [Neumann], at (x^k, y^{k+1}),
//
// where the j-th product of (B), j = 1, …, Q, averages ⌈B·Q(1 − ημ)^(j−1)⌉ samples, B =
// Options.LowerBatch; the factor next to f_y has the most. Samples per step: ξ one batch; φ D + 1
// batches and Σ_j ⌈B·Q(1 − ημ)^(j−1)⌉. Oracles: GradF 1, GradG D, CrossVecG 1 batch, HessVecG that
// sum.
//
// To an ε-stationary point: ε⁻² samples, with constant step sizes and batches of order ε⁻¹ (Table 1
// of the STABLE paper). The rule was checked against solvers/stocbio.py of benchmark_bilevel (see
// the package comment), where all products have batches of one size. Here the sizes are those of
// the paper's analysis (TestStocBiOBatches).
type StocBiO struct {
	// Alpha and Beta are the step sizes α_k of x and β_k of y. Required, ≥ 0. (The paper calls them
	// β and α.)
	Alpha, Beta bilevel.Schedule

	// Inner is D ≥ 1. Default 10. The theory asks for a multiple of κ = L_g/μ_g, up to logarithms.
	Inner int

	// Neumann holds the parameters of (B); its LG is required: η = 1/LG, Q = N−1. MuG is required.
	Neumann Neumann
}

// Name returns "stocBiO".
func (StocBiO) Name() string { return "stocBiO" }

func (m StocBiO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Inner == 0 {
		m.Inner = 10
	}
	if m.Neumann.MuG == 0 {
		return nil, option.Bad("StocBiO.Neumann.MuG is 0: the sizes of its batches need μ_g")
	}
	h := newHypergradient(it, m.Neumann, false)
	h.shrink = true
	return startAlternating(it, "StocBiO",
		alternating{alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(m.Inner), estimate: h})
}
