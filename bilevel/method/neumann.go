package method

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
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

func (n Neumann) check(method string) error {
	switch {
	case !(n.LG > 0) || math.IsInf(n.LG, 1):
		return option.Bad("%s.Neumann.LG is %v, want a finite L_g > 0", method, n.LG)
	case n.Terms < 0:
		return option.Bad("%s.Neumann.Terms is %d, want ≥ 1", method, n.Terms)
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
	phi   batches // for g_xy, then one for each product

	fx, fy, v, cross []float64 // v estimates g_yy⁻¹ f_y, and cross is g_xy v
	r, w             []float64
}

func (h *hypergradient) start(m *memory) {
	h.fx, h.fy, h.v, h.cross = m.x("f_x"), m.y("f_y"), m.y("g_yy⁻¹ f_y"), m.x("g_xy g_yy⁻¹ f_y")
	h.r, h.w = m.y(""), m.y("")
}

// draw takes a batch ξ of size upper, and batches φ of size lower for g_xy and for each product; 0
// stands for Options.
func (h *hypergradient) draw(s *step, upper, lower int) {
	if s.err != nil {
		return
	}
	if lower == 0 {
		_, lower = s.Batches()
	}
	h.n = h.series.terms(s.K())
	h.prods, h.sum = h.n-1, true
	if h.random && lower != bilevel.Full {
		h.prods, h.sum = s.Rand().IntN(h.n), false
	}
	h.xi = s.DrawXi(upper)
	h.phi.clear()
	h.phi.add(s.DrawPhi(lower))
	for j := range h.prods {
		h.phi.add(s.DrawPhi(h.size(j, lower)))
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
	if s.err != nil {
		return
	}
	s.CrossVecG(h.cross, x, y, h.v, h.phi.at(0))
	for i := range dst {
		dst[i] = h.fx[i] - h.cross[i]
	}
}

// solve sets v to (A) or (B) for f_y.
func (h *hypergradient) solve(s *step, x, y []float64) {
	eta := 1 / h.series.LG
	copy(h.r, h.fy)
	copy(h.v, h.fy)
	for j := 0; j < h.prods && s.err == nil; j++ {
		// r ← (I − η g_yy(·; φ_j)) r
		s.HessVecG(h.w, x, y, h.r, h.phi.at(1+j))
		mat.Axpy(h.r, -eta, h.w)
		if h.sum {
			mat.Axpy(h.v, 1, h.r)
		}
	}
	if !h.sum { // (A)
		copy(h.v, h.r)
		eta *= float64(h.n)
	}
	for i := range h.v {
		h.v[i] *= eta
	}
}

// batches keeps several batches in one piece of memory.
type batches struct {
	buf  []bilevel.Sample
	ends []int
}

func (b *batches) clear() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

func (b *batches) add(s []bilevel.Sample) {
	b.buf = append(b.buf, s...)
	b.ends = append(b.ends, len(b.buf))
}

func (b *batches) at(i int) []bilevel.Sample {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.buf[start:b.ends[i]]
}
