// Package theorem holds the constants of the paper's assumptions, and the step sizes of STABLE in its
// Theorems 2 and 3 (Chen, Sun, Xiao, Yin, AISTATS 2022). Package flow has Theorem 1.
package theorem

import (
	"math"
	"reflect"

	"stable/bilevel"
	"stable/bilevel/option"
)

// Constants holds the constants of the paper's Assumptions 1 to 5, under its names. L… is the
// Lipschitz constant in y, and L…Bar the one in x, of the derivative in its name. C… bounds a
// moment of the stochastic derivative, and Sigma… its standard deviation, in the Frobenius norm for
// matrices. All must be finite, and all except MuF not negative.
type Constants struct {
	Lfx, LfxBar                 float64 // of f_x
	Lfy, LfyBar                 float64 // of f_y
	Lg                          float64 // of g_y, L_g ≥ μ_g
	Lgxy, LgxyBar               float64 // of g_xy(·; φ)
	Lgyy, LgyyBar               float64 // of g_yy(·; φ)
	Cfx, Cfy, Cgxy              float64
	SigmaGy, SigmaGxy, SigmaGyy float64
	MuG                         float64 // g(x, ·) is μ_g-strongly convex, μ_g > 0
	MuF                         float64 // F is μ_F-weakly convex: ∇²F ⪰ μ_F I, of any sign. Theorem 2
	Mu                          float64 // F is μ-strongly convex, μ > 0. Theorem 3
}

type Steps struct {
	Alpha, Beta, Tau bilevel.Schedule
}

// Lipschitz returns L_f, L_y and L_F of the paper's lemma_lip: the Lipschitz constants of f_x −
// g_xy g_yy⁻¹ f_y in y, of y*(x), and of ∇F. The lemma's L_fxy, which its assumptions do not
// define, is read as L_gxy. The paper's proofs use L_y for the Lipschitz constant of ∇y*, too.
func (c Constants) Lipschitz() (lf, ly, lF float64) {
	r := c.Cgxy / c.MuG
	lf = c.Lfx + r*c.Lfy + c.Cfy/c.MuG*(c.Lgxy+r*c.Lgyy)
	ly = r
	lF = c.LfxBar + r*(c.LfyBar+lf) + c.Cfy/c.MuG*(c.LgxyBar+r*c.LgyyBar)
	return lf, ly, lF
}

// lemma2 returns c = c̃₁c̃₂ of the paper's lemma2, as printed. Its proof needs two other terms: for
// L_y the Lipschitz constant of ∇y* (eq. lemma2-pf-4), and L_gyy and L_gxy squared.
func (c Constants) lemma2() float64 {
	_, ly, _ := c.Lipschitz()
	r2 := sq(c.Cgxy / c.MuG)
	m2 := sq(c.Cfx) + r2*sq(c.Cfy)
	m4 := sq(sq(c.Cfx)) + sq(r2)*sq(sq(c.Cfy))
	mu2 := sq(c.MuG)
	c1 := max(
		12*sq(ly)*m4,
		12/mu2*(r2*c.Lgyy+c.Lgxy)*m2,
		12*r2/mu2*m2,
		12/mu2*m2,
	)
	c2 := 2/(c.MuG+c.Lg) + (c.MuG+c.Lg)/(c.MuG*c.Lg)
	return c1 * c2
}

func (c Constants) c3() float64 { return sq(c.Lgxy) + sq(c.LgxyBar) + sq(c.Lgyy) + sq(c.LgyyBar) }

func (c Constants) kappa() float64 { return c.MuG * c.Lg / (c.MuG + c.Lg) }

// betaMax is the bound on β of (eq.stepsize) and (eq.stepsize2): μ_g/L_g / (32 (μ_g + L_g) c), with
// c of the proofs, c̃₃ (step (g) for Theorem 2), and the printed one, and 2/(μ_g + L_g) of lemma2.
func (c Constants) betaMax(printed float64) float64 {
	return min(2/(c.MuG+c.Lg), c.MuG/c.Lg/(32*(c.MuG+c.Lg)*max(printed, c.c3())))
}

// Theorem2 returns the step sizes (eq.stepsize), for a nonconvex F, a run of k steps and rho >
// |μ_F|: τ = 1/√k, β ≤ 1/√k and α ≤ β, all constant, each at its largest allowed value.
func (c Constants) Theorem2(k int, rho float64) (Steps, error) {
	if err := c.validate(); err != nil {
		return Steps{}, err
	}
	if k < 1 {
		return Steps{}, option.Bad("Theorem2: k is %d, want ≥ 1", k)
	}
	if !(rho > math.Abs(c.MuF)) || math.IsInf(rho, 1) {
		return Steps{}, option.Bad("Theorem2: rho is %v, want a finite rho > |μ_F| = %v", rho, math.Abs(c.MuF))
	}
	lf, _, _ := c.Lipschitz()
	c12, root := c.lemma2(), math.Sqrt(float64(k))
	beta := min(1/root, c.betaMax(c12))
	moreau := 4 * rho * sq(c.Cfy) / ((c.MuF + rho) * sq(c.MuG))
	alpha := min(
		beta,
		1/(c12+moreau*sq(c.Cgxy/c.MuG))/root,
		1/(c12+moreau)/root,
		c.kappa()*beta/(2*(c12+2*rho*sq(lf)/(c.MuF+rho))),
	)
	return Steps{bilevel.Constant(alpha), bilevel.Constant(beta), bilevel.Constant(1 / root)}, inRange(alpha)
}

// Theorem3 returns the step sizes (eq.stepsize2), for a μ-strongly convex F: β_k = τ_k =
// 2/(c̃₅(K₀+k)) and α_k = a·β_k, with the smallest K₀ that keeps β_0 within the constant bounds.
//
// Where statement and proof differ, it follows the proof. The statement bounds β_k by 1/(K₀+k), with which the
// recursion V^{k+1} ≤ (1 − c̃₅β_k)V^k + c̃₆β_k² falls only as k^(−c̃₅), c̃₅ ≤ 1/4. And inequality (c) of the
// proof needs a ≤ μ μ_g L_g/(8 L_f²(μ_g+L_g)); the statement prints 2 for the 8.
func (c Constants) Theorem3() (Steps, error) {
	if err := c.validate(); err != nil {
		return Steps{}, err
	}
	if !(c.Mu > 0) {
		return Steps{}, option.Bad("Constants.Mu is %v, want μ > 0 for Theorem 3", c.Mu)
	}
	lf, _, _ := c.Lipschitz()
	c12 := c.lemma2()
	a := min(
		math.Sqrt(c.kappa()/(4*c12)),
		c.Mu*c.kappa()/(8*sq(lf)),
		1/math.Sqrt(4*c12),
		c.Mu*sq(sq(c.MuG))/(8*sq(c.Cgxy)*sq(c.Cfy)),
		c.Mu*sq(c.MuG)/(8*sq(c.Cfy)),
	)
	if math.IsInf(a, 1) {
		a = 1 // f does not depend on y, or x does not move it: nothing bounds α/β
	}
	c5 := min(c.Mu*a, c.kappa()/4, 0.25)
	k0 := math.Ceil(2 / c5 / min(1, c.betaMax(1)))
	power := func(c float64) bilevel.Power { return bilevel.Power{C: c, K0: k0, P: 1} }
	return Steps{power(2 / c5 * a), power(2 / c5), power(2 / c5)}, inRange(2 / c5 * a / k0)
}

// inRange refuses a step size that is 0 or NaN by overflow.
func inRange(alpha float64) error {
	if !(alpha > 0) {
		return option.Bad("Constants of these sizes give a step size of x of %v", alpha)
	}
	return nil
}

func (c Constants) validate() error {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name, x := v.Type().Field(i).Name, v.Field(i).Float()
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 && name != "MuF" {
			return option.Bad("Constants.%s is %v, want a finite value ≥ 0", name, x)
		}
	}
	if c.MuG == 0 {
		return option.Bad("Constants.MuG is 0, want μ_g > 0")
	}
	if c.Lg < c.MuG {
		return option.Bad("Constants.Lg is %v, smaller than MuG = %v", c.Lg, c.MuG)
	}
	return nil
}

func sq(x float64) float64 { return x * x }
