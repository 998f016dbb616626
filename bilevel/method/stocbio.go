package method

import (
	"stable/bilevel"
	"stable/bilevel/option"
)

// StocBiO is stocBiO of Ji, Yang and Liang (ICML 2021, arXiv 2010.07962): D steps of SGD on y, then
// one on x,
//
//	y ← y − β_k g_y(x^k, y; φ),   D times, from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by the truncated sum (B), see [Neumann], at (x^k, y^{k+1}),
//
// where the j-th product of (B), j = 1, …, Q, averages ⌈B·Q(1 − ημ)^(j−1)⌉ samples, B =
// Options.LowerBatch; the factor next to f_y has the most. The sizes are those of the paper's
// analysis.
//
// Samples per step: ξ one batch; φ D + 1 batches and Σ_j ⌈B·Q(1 − ημ)^(j−1)⌉. Oracles: GradF 1,
// GradG D, CrossVecG 1 batch, HessVecG that sum.
type StocBiO struct {
	// Step sizes of x and y (the paper's β and α), ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Inner is D ≥ 1. Default 10. The theory asks for a multiple of κ = L_g/μ_g, up to logarithms.
	Inner int

	// Neumann is (B); LG and MuG are required: η = 1/LG, Q = N−1.
	Neumann Neumann
}

func (StocBiO) Name() string { return "stocBiO" }

func (m StocBiO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Inner, 10)
	if m.Neumann.MuG == 0 {
		return nil, option.Bad("StocBiO.Neumann.MuG is 0: the sizes of its batches need μ_g")
	}
	h := newHypergradient(it, m.Neumann, false)
	h.shrink = true
	return startAlternating(it, "StocBiO",
		alternating{alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(m.Inner), estimate: h})
}
