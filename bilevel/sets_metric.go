package bilevel

import (
	"math"
	"slices"
)

// MetricSet is a Set, as all of this package are, that also projects in a diagonal metric: ProjectMetric writes
// argmin over z in X of Σ w_i·(z_i − x_i)², for finite w_i > 0. dst may be x. It must not allocate.
//
// Those of this package may write NaN if sums or quotients leave the range. Their error
// bound is that of Project, with 64 in place of 8 for a Ball and a Simplex with weights over up to
// 12 decades, and times ‖A‖·‖W⁻¹A‖/(AᵀW⁻¹A) for a HalfSpace.
type MetricSet interface {
	Set
	ProjectMetric(dst, x, w []float64)
}

// ProjectMetric is Project: the entries are independent.
func (s Space) ProjectMetric(dst, x, _ []float64) { s.Project(dst, x) }

func (b Box) ProjectMetric(dst, x, _ []float64) { b.Project(dst, x) }

func (n NonNegative) ProjectMetric(dst, x, _ []float64) { n.Project(dst, x) }

// ProjectMetric is x − W⁻¹A·max(Aᵀx − B, 0)/(AᵀW⁻¹A), W = diag(w).
func (h HalfSpace) ProjectMetric(dst, x, w []float64) {
	excess, unit := h.excess(x)
	if !(excess > 0) {
		copy(dst, x)
		return
	}
	// With u = W^(−½)A, in units of its largest entry: AᵀW⁻¹A = top²·size.
	top, size := 0.0, 0.0
	for i, a := range h.A {
		top = max(top, math.Abs(a)/math.Sqrt(w[i]))
	}
	for i, a := range h.A {
		u := a / math.Sqrt(w[i]) / top
		size += u * u
	}
	for i, a := range h.A {
		r := math.Sqrt(w[i])
		dst[i] = x[i] - excess*(a/r/top)/(r*top*size)*unit
	}
}

// ProjectMetric writes max(x_i − θ/w_i, 0) with the θ of the sum, by two runs of Michelot's iteration. The
// second measures the entries from where the first left them, against a common offset.
func (s Simplex) ProjectMetric(dst, x, w []float64) {
	if len(x) == 0 {
		return
	}
	low, high := slices.Min(w), slices.Max(w)
	base := s.multiplier(x, w, low, 0, 1)
	// Measured from base, what is far below is large, and so is its rounding: it is out for good.
	theta := s.multiplier(x, w, low, base, 0x1p-30)
	if t := base + theta; t-t != 0 || low/high < 0x1p-1022 { // out of range
		base = math.NaN()
	}
	for i, v := range x {
		p := low / w[i]
		dst[i] = max(math.FMA(-base, p, v)-theta*p, 0)
	}
}

// multiplier is the θ with Σ max(r_i − θp_i, 0) = Sum, for p_i = low/w_i in (0, 1] and r_i = x_i −
// base·p_i, over the entries with r_i ≥ −near·(|x_i| + |base·p_i|), which with base = 0 and near =
// 1 are all; at most d rounds of O(d).
func (s Simplex) multiplier(x, w []float64, low, base, near float64) float64 {
	theta := math.Inf(-1)
	for active := len(x) + 1; ; {
		sum, weight, n := 0.0, 0.0, 0
		for i, v := range x {
			p := low / w[i]
			if r := math.FMA(-base, p, v); r > theta*p && r >= -near*(math.Abs(v)+math.Abs(base)*p) {
				sum += r
				weight += p
				n++
			}
		}
		if n == 0 || n >= active {
			return theta
		}
		theta, active = max(theta, (sum-s.sum())/weight), n // falls only by rounding
	}
}

// ProjectMetric writes c + s(λ) if x is outside, s_i = u_i·w_i/(w_i + λ), u = x − c, with the λ > 0
// of ‖s(λ)‖ = Radius, by Newton's iteration from the left on 1/‖s(λ)‖ = 1/Radius (Moré and
// Sorensen, SIAM J. Sci. Stat. Comput. 4, 1983): some 5 steps of O(d), at most 200.
func (b Ball) ProjectMetric(dst, x, w []float64) {
	size := b.distance(x)
	if !(size > b.Radius) {
		copy(dst, x)
		return
	}
	target := b.Radius / size
	if math.IsInf(1/target, 0) { // nothing is left of x; Radius may be −0
		for i, v := range x {
			c := b.center(i)
			dst[i] = c + target*(v-c)
		}
		return
	}
	low, high := slices.Min(w), slices.Max(w)
	// Weights and λ are in units of the largest weight. This λ is the root if all are the smallest.
	lambda := max(low/high*(1/target-1), 0x1p-1022)
	ratio, newton := b.secular(x, w, size, high, lambda)
	for k := 0; ratio > target*(1+4e-15) && k < 200; k++ {
		lambda *= 1 + (ratio/target-1)*newton
		ratio, newton = b.secular(x, w, size, high, lambda)
	}
	shrink := target / ratio // 1 but for rounding
	for i, v := range x {
		c, wi := b.center(i), w[i]/high
		dst[i] = c + shrink*(wi/(wi+lambda))*(v-c)
	}
}

// secular returns ‖s(λ)‖/size, and ‖s‖²/Σ s_i²·λ/(w_i + λ), which times (‖s(λ)‖/Radius − 1) is the
// relative Newton step.
func (b Ball) secular(x, w []float64, size, high, lambda float64) (ratio, newton float64) {
	big, sum, slope := 0.0, 0.0, 0.0
	for i, v := range x {
		wi := w[i] / high
		big = max(big, math.Abs(v-b.center(i))/size*(wi/(wi+lambda)))
	}
	for i, v := range x {
		wi := w[i] / high
		s := (v - b.center(i)) / size * (wi / (wi + lambda)) / big
		sum += s * s
		slope += s * s * (lambda / (wi + lambda))
	}
	return big * math.Sqrt(sum), sum / slope
}
