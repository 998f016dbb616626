package quadratic

import (
	"math"

	"stable/bilevel/theorem"
	"stable/mat"
)

// Constants returns the constants of the paper's Assumptions 1 to 5 that hold for all x with ‖x −
// x*‖ ≤ r and all y with ‖y − y*(x*)‖ ≤ r·max(1, CrossNorm/MuG), which include y*(x). Matrix norms
// are Frobenius norms in Cgxy, SigmaGxy and SigmaGyy. MuF and Mu hold everywhere, and leave out J Jᵀ
// ⪰ 0. In a finite sum, moments are averages over draws of the terms; a moment that Tail leaves
// infinite is infinite. It panics if r is negative or not finite. 2Dx² flops.
//
// # How it works
//
// For a mean of norm M and Gaussian noise σe in dimension d, E‖m + σe‖² = M² + σ² and E‖m + σe‖⁴ =
// M⁴ + 2(1 + 2/d)·M²σ² + (1 + 2/d)·σ⁴. The noise of g_y has the mean square σ_gy² + σ_gxy²‖η‖²/Dx +
// σ_gyy²‖δ‖²/Dy. A sample of rank one has E‖a aᵀ − A‖_F² = (tr A)² + tr A², E‖(a aᵀ − A)δ‖² =
// δᵀ(tr A·A + A²)δ, and E‖n nᵀδ‖⁴ = (105 + 30(Dy−1) + 3(Dy²−1))‖δ‖⁴; a Tail ν has E U^(−k/ν) =
// ν/(ν−k).
func (p *Problem) Constants(r float64) theorem.Constants {
	if !valid(r) {
		panic("quadratic: Constants: radius is not a finite number ≥ 0")
	}
	o, dx, dy := p.o, float64(p.o.Dx-p.o.Blind), float64(p.o.Dy)
	ry := r * max(1, o.CrossNorm/o.MuG)
	p.meanGradF(p.eta, p.delta, p.xs, p.ys)
	fx, fy := mat.Norm(p.eta), mat.Norm(p.delta)+ry
	second, fourth := math.Sqrt(o.tail(2)), math.Sqrt(math.Sqrt(o.tail(4)))
	c := theorem.Constants{
		Lfy:  1,
		Lg:   o.LG,
		MuG:  o.MuG,
		Cfy:  moment(fy, times(o.SigmaFy, fourth), dy),
		Cgxy: math.Hypot(o.CrossNorm, times(o.SigmaGxy, second)),
		SigmaGy: times(math.Hypot(o.SigmaGy, math.Hypot(o.SigmaGxy*r/math.Sqrt(dx), o.SigmaGyy*ry/math.Sqrt(dy))),
			second),
		SigmaGxy: times(o.SigmaGxy, second),
		SigmaGyy: times(o.SigmaGyy, second),
	}
	if o.RankOneF { // n nᵀ has no bound
		c.Lfy = math.Inf(1)
		c.Cfy += ry * (1 + math.Pow(105+30*(dy-1)+3*(dy*dy-1), 0.25))
	}
	if o.RankOneG {
		trace := 0.0
		for i := range p.a.N {
			trace += p.a.At(i, i)
		}
		c.SigmaGyy = math.Hypot(trace, mat.NormFrobSym(p.a))
		c.SigmaGy = math.Hypot(c.SigmaGy, ry*math.Sqrt(trace*o.LG+o.LG*o.LG))
	}
	dx = float64(o.Dx)
	sigmaFx := times(o.SigmaFx, fourth)
	if p.p != nil {
		c.LfxBar = o.LP
		c.Cfx = moment(fx+o.LP*r, sigmaFx, dx)
		c.MuF, c.Mu = o.MuP, o.MuP
		if o.Saddle {
			c.MuF -= math.Pow(o.CrossNorm/o.MuG, 2)
			c.Mu = max(c.MuF, 0)
		}
		return c
	}
	// h(u) = u²/(1+u²): |h′| ≤ 3√3/8 (at u² = 1/3), −1/2 ≤ h″ ≤ 2 (at |u| = 1 and at 0), and h′(0)
	// = 0.
	w := o.Nonconvex
	c.LfxBar = 2 * w
	c.Cfx = moment(w*min(2*r, 3*math.Sqrt(3)/8*math.Sqrt(dx)), sigmaFx, dx)
	c.MuF = -w / 2
	return c
}

// tail is E U^(−k/ν), 1 without tails.
func (o *Options) tail(k float64) float64 {
	switch {
	case o.Tail == 0:
		return 1
	case o.Tail <= k:
		return math.Inf(1)
	}
	return o.Tail / (o.Tail - k)
}

// times is a·b, and 0 where a is 0 and b infinite.
func times(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a * b
}

// moment is the fourth root of E‖m + σe‖⁴ for ‖m‖ = mean, e ~ N(0, I/d).
func moment(mean, sigma, d float64) float64 {
	m, s, k := mean*mean, sigma*sigma, 1+2/d
	return math.Sqrt(math.Sqrt(m*m + 2*k*m*s + k*s*s))
}
