package hyperopt

import (
	"math"
	"slices"

	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

// Box returns the bounds of x, as new vectors: the feasible set X.
func (p *Problem) Box() (lo, hi []float64) {
	return slices.Repeat([]float64{p.opt.Lo}, p.dx), slices.Repeat([]float64{p.opt.Hi}, p.dx)
}

// Start writes y = 0 and x in the middle of the box: geometric for weights of features.
func (p *Problem) Start(x, y []float64) {
	p.sizes("hyperopt: Start: dimension mismatch", len(x), len(y))
	if p.perRow() {
		for i := range x {
			x[i] = p.opt.Lo/2 + p.opt.Hi/2
		}
	} else {
		p.Uniform(x, 0.5*math.Sqrt(p.ridge(p.opt.Lo))*math.Sqrt(p.ridge(p.opt.Hi)))
	}
	clear(y)
}

// Uniform writes the x that weighs every feature by lambda: lambda (Raw) or log(2·lambda) (Exp). x
// may lie outside the box, and snaps to an edge within rounding. Panics with PerRow.
func (p *Problem) Uniform(x []float64, lambda float64) {
	if p.perRow() {
		panic("hyperopt: Uniform: x weighs rows")
	}
	p.sizes("hyperopt: Uniform: dimension mismatch", len(x), p.dy())
	v, least := lambda, 0.0
	if p.opt.Form == Exp {
		v, least = math.Log(2*lambda), 1
	}
	for _, edge := range []float64{p.opt.Lo, p.opt.Hi} {
		if math.Abs(v-edge) <= 4e-16*max(least, math.Abs(edge)) {
			v = edge
		}
	}
	for i := range x {
		x[i] = v
	}
}

func (p *Problem) convexity(xi float64) float64 {
	least := p.ridge(xi)
	if p.perRow() {
		least = 2 * p.opt.Ridge
	}
	if p.free > 0 {
		least = min(least, p.free)
	}
	return least
}

// StrongConvexity returns μ_g with g_yy ⪰ μ_g·I for all x of the box, y and samples: 2·Lo (Raw),
// exp(Lo) (Exp), 2·Ridge (PerRow), or the c of a free intercept if that is less.
func (p *Problem) StrongConvexity() float64 { return p.convexity(p.opt.Lo) }

// ConvexityAt returns s with g_yy(x, y; φ) ⪰ s·I for all y and samples, also for x outside the box:
// StrongConvexity's with min x_i in place of Lo; with PerRow −Inf where a weight is negative. O(dx).
func (p *Problem) ConvexityAt(x []float64) float64 {
	p.sizes("hyperopt: ConvexityAt: dimension mismatch", len(x), p.dy())
	if p.perRow() && slices.Min(x) < 0 {
		return math.Inf(-1)
	}
	return p.convexity(slices.Min(x))
}

// Smoothness bounds ‖g_yy‖₂ over the box, all y and rows: ℓ″_max·max‖a‖² + 2·reg(Hi), ℓ″_max = ¼, 1
// and ½ for Logistic, Squared and Softmax; with PerRow, Hi times the first term, plus 2·Ridge; the c
// of a free intercept in place of the last term where that is more. Cost: a pass over the training data.
func (p *Problem) Smoothness() float64 {
	r := maxRow(p.train)
	curvature := [...]float64{0.25, 1, 0.5}[p.opt.Loss] * r * r
	if p.perRow() {
		return p.opt.Hi*curvature + max(2*p.opt.Ridge, p.free)
	}
	return curvature + max(p.ridge(p.opt.Hi), p.free)
}

// CrossBound returns C_gxy, a bound of ‖g_xy(x, y*(x))‖_F over the box, at y*(x) alone. With PerRow
// it bounds one sample's matrix: max‖ℓ′‖·max‖a‖, max‖ℓ′‖ = 1, ∞ and √2 for Logistic, Squared and
// Softmax. Cost: a pass over the training data.
//
// # How it works
//
// With G₀ = g(x, 0), h = g_y(x, 0), free of x, and r the least 2·reg: ‖y*‖ ≤ ‖h‖/μ_g; without the
// intercept, ‖y*‖² ≤ G₀/r, from r‖y*‖²/2 ≤ min(G₀ − g(x, y*), g(x, y*)); and
// ‖g_xy‖_F ≤ max_i slope(x_i)·‖y*‖, slope 2 (Raw) or exp(x_i) (Exp).
func (p *Problem) CrossBound() float64 {
	if p.perRow() {
		return [...]float64{1, math.Inf(1), math.Sqrt2}[p.opt.Loss] * maxRow(p.train)
	}
	x, zero, h := make([]float64, p.dx), make([]float64, p.dy()), make([]float64, p.dy())
	q := p.Clone()
	_ = q.GradG(h, x, zero, nil) // exact sums do not fail
	value, _ := q.ValueG(x, zero, nil)
	return p.slope(p.ridge(p.opt.Hi)) * min(mat.Norm(h)/p.StrongConvexity(), math.Sqrt(value/p.ridge(p.opt.Lo)))
}

func maxRow(d *data.Data) float64 {
	most := 0.0
	for i := range d.Rows() {
		_, val := d.Row(i)
		most = max(most, mat.Norm(val))
	}
	return most
}
