package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
	"stable/mat/kernel"
)

// Neumann are the parameters of the series g_yy⁻¹ f_y ≈ (1/L) Σ_{q<N} (I − g_yy/L)^q f_y, of which a
// method takes its paper's estimate, with independent batches φ_1, φ_2, …:
//
//	(A) random truncation: v = (N/L) ∏_{i=1..p} (I − g_yy(·; φ_i)/L) f_y, p uniform on {0, …, N−1}
//	(B) truncated sum: v = η Σ_{q=0..Q} ∏_{i=1..q} (I − η g_yy(·; φ_i)) f_y, η = 1/L, Q = N−1
//
// (B) has more products, and less variance. The terms left out change a hypergradient by at most
// C_gxy·(‖f_y‖/μ)(1 − μ/L)^N. With Options.LowerBatch = Full, (A) is (B), its mean.
//
// Source: (A) Ghadimi and Wang, arXiv 1802.02246, and Hong et al., arXiv 2007.05170; (B) Ji, Yang
// and Liang, arXiv 2010.07962, Algorithm 2.
type Neumann struct {
	// LG is L > 0, the Lipschitz constant of g_y(x, ·; φ). Required. The series diverges where g_yy
	// exceeds 2L·I, and under noise of variance σ² unless L > (μ²+σ²)/(2μ).
	LG float64

	// MuG is μ in (0, LG], of g_yy ⪰ μI. Required where Terms is 0, and by StocBiO.
	MuG float64

	Terms int // N ≥ 1. Default 1 + ⌈(LG/MuG) ln(k+1)⌉: (1 − μ/L)^N ≤ 1/(k+1)
}

const maxTerms = 1 << 24 // each has a batch of its own

func (n Neumann) check(method string) error {
	switch {
	case !(n.LG > 0) || math.IsInf(n.LG, 1):
		return option.Bad("%s.Neumann.LG is %v, want a finite L_g > 0", method, n.LG)
	case n.Terms < 0 || n.Terms > maxTerms:
		return option.Bad("%s.Neumann.Terms is %d, want 1 … 2²⁴", method, n.Terms)
	case (n.Terms == 0 || n.MuG != 0) && !(n.MuG > 0 && n.MuG <= n.LG):
		return option.Bad("%s.Neumann.MuG is %v, want μ_g in (0, LG]", method, n.MuG)
	case n.Terms == 0 && n.LG/n.MuG > 1e6:
		return option.Bad("%s.Neumann.Terms is 0, and the default for LG/MuG = %g is a series of millions of "+
			"terms: set Terms", method, n.LG/n.MuG)
	}
	return nil
}

func (n Neumann) terms(k int) int {
	if n.Terms > 0 {
		return n.Terms
	}
	return 1 + int(math.Ceil(n.LG/n.MuG*math.Log1p(float64(k))))
}

// hypergradient estimates f_x − g_xy g_yy⁻¹ f_y at any point, with the samples of the last draw.
type hypergradient struct {
	series Neumann
	random bool // (A); otherwise (B)
	shrink bool // b_j of stocBiO; otherwise batches of one size

	// The last draw.
	n     int  // N
	prods int  // products with g_yy: p in (A), N−1 in (B)
	sum   bool // v is the sum of all terms
	xi    []bilevel.Sample
	phi   [][]bilevel.Sample // for g_xy, then one for each product

	fx, fy, v, cross []float64 // v estimates g_yy⁻¹ f_y, and cross is g_xy v
	r, w             []float64
}

func (h *hypergradient) start(m *memory) {
	h.fx, h.fy, h.v, h.cross = m.x("f_x"), m.y("f_y"), m.y("g_yy⁻¹ f_y"), m.x("g_xy g_yy⁻¹ f_y")
	h.r, h.w = m.y(""), m.y("")
}

// draw takes upper ξ, and lower φ for g_xy and for each product; 0 stands for Options.
func (h *hypergradient) draw(s *step, upper, lower int) {
	if lower == 0 {
		_, lower = s.Batches()
	}
	h.n = h.series.terms(s.K())
	h.prods, h.sum = h.n-1, true
	if h.random && lower != bilevel.Full {
		h.prods, h.sum = s.Rand().IntN(h.n), false
	}
	h.xi = s.DrawXi(upper)
	for len(h.phi) <= h.prods {
		h.phi = append(h.phi, nil)
	}
	h.phi[0] = append(h.phi[0][:0], s.DrawPhi(lower)...)
	for j := range h.prods {
		h.phi[1+j] = append(h.phi[1+j][:0], s.DrawPhi(h.size(j, lower))...)
	}
}

// size is that of the batch of product j ≥ 0: lower, or in stocBiO b_{j+1}.
func (h *hypergradient) size(j, lower int) int {
	if !h.shrink || lower == bilevel.Full {
		return lower
	}
	q := float64(h.n - 1)
	return max(1, int(math.Ceil(float64(lower)*q*math.Pow(1-h.series.MuG/h.series.LG, float64(j)))))
}

func (h *hypergradient) at(s *step, dst, x, y []float64) {
	s.GradF(h.fx, h.fy, x, y, h.xi)
	h.solve(s, x, y)
	s.CrossVecG(h.cross, x, y, h.v, h.phi[0])
	for i := range dst {
		dst[i] = h.fx[i] - h.cross[i]
	}
}

func (h *hypergradient) solve(s *step, x, y []float64) {
	eta := 1 / h.series.LG
	copy(h.r, h.fy)
	copy(h.v, h.fy)
	for j := range h.prods {
		// r ← (I − η g_yy(·; φ_j)) r
		s.HessVecG(h.w, x, y, h.r, h.phi[1+j])
		mat.Axpy(h.r, -eta, h.w)
		if h.sum {
			mat.Axpy(h.v, 1, h.r)
		}
	}
	if !h.sum { // (A)
		copy(h.v, h.r)
		eta *= float64(h.n)
	}
	kernel.Scale(h.v, eta, h.v)
}

// BSA, bilevel stochastic approximation (Ghadimi and Wang, arXiv 1802.02246), has a double loop: t_k
// warm-started steps of SGD on y, then one on x,
//
//	y ← y − β_t g_y(x^k, y; φ),   t = 0, …, t_k − 1,   from y^k to y^{k+1},
//	x^{k+1} = P_X(x^k − α_k h),   h by random truncation (A), see [Neumann], at (x^k, y^{k+1}).
type BSA struct {
	// Step sizes α_k of x, and β_t of inner step t, counted from 0 in every step k. Required. Under
	// noise β_t must fall, as 1/(μ_g(t+2)), or t_k steps are worth no more than one.
	Alpha, Beta bilevel.Schedule

	// Inner is t_k ≥ 1, rounded up. Default √(k+1), for a nonconvex F; for a strongly convex one
	// take k+1, Power{C: 1, P: -1}.
	Inner bilevel.Schedule

	Neumann Neumann // (A); LG is required
}

func (BSA) Name() string { return "BSA" }

func (m BSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default[bilevel.Schedule](&m.Inner, bilevel.Power{C: 1, P: -0.5})
	return startAlternating(it, alternating{name: "BSA", alpha: m.Alpha, beta: m.Beta, byInner: true, inner: m.Inner,
		estimate: hypergradient{series: m.Neumann, random: true}})
}

// TTSA is the two-timescale stochastic approximation of Hong, Wai, Wang and Yang (arXiv 2007.05170,
// Algorithm 1): BSA with t_k = 1 and the step size β_k of y, α_k/β_k → 0. The STABLE paper prints y^k
// for y^{k+1} in (eq.TTSA-2).
type TTSA struct {
	// Step sizes. Required. Strongly convex F: α_k ~ 1/k, β_k ~ k^(−2/3);
	// nonconvex, K steps: α ~ K^(−3/5), β ~ K^(−2/5).
	Alpha, Beta bilevel.Schedule

	Neumann Neumann // (A); LG is required
}

func (TTSA) Name() string { return "TTSA" }

func (m TTSA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return startAlternating(it, alternating{name: "TTSA", alpha: m.Alpha, beta: m.Beta, inner: bilevel.Constant(1),
		estimate: hypergradient{series: m.Neumann, random: true}})
}

// StocBiO is stocBiO of Ji, Yang and Liang (ICML 2021, arXiv 2010.07962): BSA with t_k = D, the step
// size β_k, and h by the truncated sum (B), whose product j = 1, …, Q, the first next to f_y,
// averages b_j = ⌈B·Q(1 − ημ)^(j−1)⌉ samples, B = Options.LowerBatch, as in the paper's analysis.
type StocBiO struct {
	Alpha, Beta bilevel.Schedule // step sizes of x and y (the paper's β and α), ≥ 0. Required

	// Inner is D ≥ 1. Default 10; the theory asks for a multiple of L_g/μ_g, up to logarithms.
	Inner int

	Neumann Neumann // (B); LG and MuG are required
}

func (StocBiO) Name() string { return "stocBiO" }

func (m StocBiO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Inner, 10)
	if m.Neumann.MuG == 0 {
		return nil, option.Bad("StocBiO.Neumann.MuG is 0: the sizes of its batches need μ_g")
	}
	return startAlternating(it, alternating{name: "StocBiO", alpha: m.Alpha, beta: m.Beta,
		inner: bilevel.Constant(m.Inner), estimate: hypergradient{series: m.Neumann, shrink: true}})
}

// ALSET is the alternating method of Chen, Sun and Yin (NeurIPS 2021, Algorithm 1): BSA with t_k = T
// and the step size β_k, of the order of α_k. With T = 1 it is TTSA; on a compositional problem, g =
// ½‖y − h(x; φ)‖², with LG = 1 and Terms = 1, single-timescale SCGD.
type ALSET struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required
	Inner       int              // T ≥ 1. Default 1
	Neumann     Neumann          // (A); LG is required
}

func (ALSET) Name() string { return "ALSET" }

func (m ALSET) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Inner, 1)
	return startAlternating(it, alternating{name: "ALSET", alpha: m.Alpha, beta: m.Beta,
		inner: bilevel.Constant(m.Inner), estimate: hypergradient{series: m.Neumann, random: true}})
}

type alternating struct {
	*memory
	name        string // the Go name
	alpha, beta bilevel.Schedule
	inner       bilevel.Schedule // t_k = ⌈inner⌉
	byInner     bool             // β_t, otherwise β_k
	estimate    hypergradient
	gy, h       []float64
}

func startAlternating(it *bilevel.Iteration, m alternating) (bilevel.Stepper, error) {
	m.memory = newMemory(it)
	m.gy = m.y("g_y")
	m.estimate.start(m.memory)
	m.h = m.x("the hypergradient")
	err := errors.Join(checkSteps(m.name, m.alpha, m.beta), m.estimate.series.check(m.name))
	if n := m.inner.At(0); !(n > 0 && n <= maxCount) {
		err = errors.Join(err, option.Bad("%s.Inner at step 0 is %v, want a number in (0, %d]", m.name, n, maxCount))
	}
	return &m, err
}

func (m *alternating) Step(it *bilevel.Iteration) error {
	n := math.Ceil(m.inner.At(it.K()))
	if !(n >= 1 && n <= maxCount) {
		return option.Bad("%s: number of inner steps at step %d is %v, want a number in [1, %d]", m.name, it.K(), n, maxCount)
	}
	s := m.begin(it)
	for t := 0; t < int(n) && s.err == nil; t++ {
		beta := m.beta.At(it.K())
		if m.byInner {
			beta = m.beta.At(t)
		}
		s.GradG(m.gy, it.X(), it.NextY(), s.DrawPhi(0))
		s.Finite(m.gy)
		s.InnerStep(beta, m.gy)
	}
	alpha := m.alpha.At(it.K())
	s.UseSteps(alpha, 0, 0)
	m.estimate.draw(s, 0, 0)
	m.estimate.at(s, m.h, it.X(), it.NextY())
	s.MoveX(alpha, m.h)
	return s.err
}

func (m *alternating) State(*bilevel.State) {}
