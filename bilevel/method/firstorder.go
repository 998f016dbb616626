package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// F2SA is the fully first-order method of Kwon, Kwon, Wright and Nowak (ICML 2023). Besides y ≈ y*(x) it moves y_λ ≈
// argmin_y f/λ + g; the difference of g_x at the two estimates the part of the hypergradient that
// goes through y*:
//
//	y_λ ← y_λ − β_k (f_y(x^k, y_λ; ξ)/λ_k + g_y(x^k, y_λ; φ)),   y ← y − β_k g_y(x^k, y; φ′),   Inner times,
//	x^{k+1} = P_X(x^k − α_k [f_x(x^k, y_λ; ξ′) + λ_k (g_x(x^k, y_λ; φ″) − g_x(x^k, y; φ‴))]).
//
// The paper's step size of y_λ is γ_k λ_k, here written in units of that of y. The bias is O(1/λ),
// so λ grows. The iterate y of the solver minimises g. The problem must be a bilevel.UpperGradient.
//
// Samples per step, T = Inner: ξ T + 1 batches, φ 2T + 2. Oracles: GradF T + 1, GradG 2T, GradXG 2.
// Other cost: O(dx + T·dy).
type F2SA struct {
	// Step sizes of x and of both y, ≥ 0. Required. The paper's orders are
	// (k+1)^(−5/7) and (k+1)^(−4/7).
	Alpha, Beta bilevel.Schedule

	// Lambda is λ_k > 0, in units of g over f. Default 10·(k+1)^(1/7), the paper's order.
	Lambda bilevel.Schedule

	// Inner is the number T ≥ 1 of steps of both y. Default 1.
	Inner int
}

func (F2SA) Name() string { return "F2SA" }

type f2sa struct {
	F2SA
	z              []float64 // y_λ
	fx, gx, g0x, h []float64 // at y_λ, and g_x at y
	fy, gy, g0y    []float64
}

func (m F2SA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Lambda == nil {
		m.Lambda = bilevel.Power{C: 10, P: -1.0 / 7}
	}
	option.Default(&m.Inner, 1)
	if err := errors.Join(
		firstOrder(it, m.Name()),
		checkSteps("F2SA", m.Alpha, m.Beta),
		option.Schedule("F2SA.Lambda", m.Lambda, anyStep),
		option.AtLeast("F2SA.Inner", m.Inner, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &f2sa{F2SA: m}
	vectors(dx, &r.fx, &r.gx, &r.g0x, &r.h)
	vectors(dy, &r.z, &r.fy, &r.gy, &r.g0y)
	copy(r.z, it.Y())
	return r, nil
}

// firstOrder refuses a problem without g_x.
func firstOrder(it *bilevel.Iteration, name string) error {
	if it.Oracle().HasGradXG() {
		return nil
	}
	return option.Bad("%s needs g_x: the problem has no method GradXG, see bilevel.UpperGradient", name)
}

func (m *f2sa) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	lambda, err := it.At("Lambda", m.Lambda, anyStep)
	if err != nil {
		return err
	}
	if !(lambda > 0) {
		return option.Bad("F2SA: Lambda at step %d is %v, want > 0", it.K(), lambda)
	}
	if err := it.UseSteps(alpha, float64(m.Inner)*beta, 0); err != nil {
		return err
	}
	o, x, y := it.Oracle(), it.X(), it.NextY()
	for range m.Inner {
		if err := errors.Join(
			o.GradF(m.fx, m.fy, x, m.z, it.DrawXi(0)),
			o.GradG(m.gy, x, m.z, it.DrawPhi(0)),
			o.GradG(m.g0y, x, y, it.DrawPhi(0)),
		); err != nil {
			return err
		}
		square := 0.0
		for j := range m.z {
			d := m.fy[j]/lambda + m.gy[j]
			m.z[j] -= beta * d
			y[j] -= beta * m.g0y[j]
			square += d * d
		}
		it.Watch(math.Sqrt(square))
		it.Watch(mat.Norm(m.g0y))
		if err := it.Finite(m.fx, m.z, y); err != nil {
			return err
		}
	}
	if err := errors.Join(
		o.GradF(m.fx, m.fy, x, m.z, it.DrawXi(0)),
		o.GradXG(m.gx, x, m.z, it.DrawPhi(0)),
		o.GradXG(m.g0x, x, y, it.DrawPhi(0)),
	); err != nil {
		return err
	}
	for i, fx := range m.fx {
		m.h[i] = fx + lambda*(m.gx[i]-m.g0x[i])
	}
	it.MoveX(alpha, m.h)
	return nil
}

func (m *f2sa) State(t *bilevel.State) { t.Floats(m.z) }

func (m *f2sa) Vectors(visit func(name string, v []float64)) {
	visit("f_x at y_λ", m.fx)
	visit("f_y at y_λ", m.fy)
	visit("g_y at y_λ", m.gy)
	visit("g_y", m.g0y)
	visit("y_λ", m.z)
	visit("g_x at y_λ", m.gx)
	visit("g_x", m.g0x)
	visit("the hypergradient", m.h)
}

// F2SAp is F2SA with a central difference, of order p = 2 (Chen, Li, Chayti, Zhang, ICLR 2026,
// arXiv 2509.02937): with ℓ_ν(x) = min_y g + νf, whose gradient is g_x + νf_x at the minimiser y_ν,
//
//	y_{±ν} ← y_{±ν} − β_k (g_y ± ν f_y)(x^k, y_{±ν}; φ, ξ),   Inner times,
//	h = [(g_x + νf_x)(x^k, y_ν) − (g_x − νf_x)(x^k, y_{−ν})]/2ν,   x^{k+1} = P_X(x^k − α_k h).
//
// The bias is O(ν²) where F2SA's is O(ν), ν = 1/λ. Both sides share their samples, so that noise
// does not grow as 1/ν. The iterate y of the solver is the mean of y_ν and y_{−ν}, O(ν²) from
// y*(x). The problem must be a bilevel.UpperGradient.
//
// Samples per step, T = Inner: ξ and φ T + 1 batches. Oracles: GradF 2T + 2, GradG 2T, GradXG 2.
// Other cost: O(dx + T·dy).
type F2SAp struct {
	// Step sizes of x and of both y, ≥ 0. Required. The paper's are
	// constant.
	Alpha, Beta bilevel.Schedule

	// Nu is ν > 0, in units of g over f. Default 0.1.
	Nu float64

	// Normalise makes α_k the length of a step: x^{k+1} = P_X(x^k − α_k h/‖h‖). Default false.
	Normalise bool

	// Inner is the number T ≥ 1 of steps of both y. Default 1.
	Inner int
}

func (F2SAp) Name() string { return "F2SA-p" }

// f2sap is the running state of F2SAp: y_ν in z, y_{−ν} in low.
type f2sap struct {
	F2SAp
	z, low               []float64
	fx, fxLow            []float64
	gx, gxLow, h         []float64
	fy, gy, fyLow, gyLow []float64
}

func (m F2SAp) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Nu, 0.1)
	option.Default(&m.Inner, 1)
	if err := errors.Join(
		firstOrder(it, m.Name()),
		checkSteps("F2SAp", m.Alpha, m.Beta),
		option.Finite("F2SAp.Nu", m.Nu),
		option.AtLeast("F2SAp.Inner", m.Inner, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &f2sap{F2SAp: m}
	vectors(dx, &r.fx, &r.fxLow, &r.gx, &r.gxLow, &r.h)
	vectors(dy, &r.z, &r.low, &r.fy, &r.gy, &r.fyLow, &r.gyLow)
	copy(r.z, it.Y())
	copy(r.low, it.Y())
	return r, nil
}

func (m *f2sap) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	if err := it.UseSteps(0, float64(m.Inner)*beta, 0); err != nil {
		return err
	}
	o, x := it.Oracle(), it.X()
	for range m.Inner {
		xi, phi := it.DrawXi(0), it.DrawPhi(0)
		if err := errors.Join(
			o.GradF(m.fx, m.fy, x, m.z, xi),
			o.GradG(m.gy, x, m.z, phi),
			o.GradF(m.fxLow, m.fyLow, x, m.low, xi),
			o.GradG(m.gyLow, x, m.low, phi),
		); err != nil {
			return err
		}
		square, squareLow := 0.0, 0.0
		for j := range m.z {
			d, low := m.gy[j]+m.Nu*m.fy[j], m.gyLow[j]-m.Nu*m.fyLow[j]
			m.z[j] -= beta * d
			m.low[j] -= beta * low
			square, squareLow = square+d*d, squareLow+low*low
		}
		it.Watch(math.Sqrt(max(square, squareLow)))
		if err := it.Finite(m.fx, m.fxLow, m.z, m.low); err != nil {
			return err
		}
	}
	xi, phi := it.DrawXi(0), it.DrawPhi(0)
	if err := errors.Join(
		o.GradF(m.fx, m.fy, x, m.z, xi),
		o.GradF(m.fxLow, m.fyLow, x, m.low, xi),
		o.GradXG(m.gx, x, m.z, phi),
		o.GradXG(m.gxLow, x, m.low, phi),
	); err != nil {
		return err
	}
	for i := range m.h {
		m.h[i] = 0.5 * (m.fx[i] + m.fxLow[i] + (m.gx[i]-m.gxLow[i])/m.Nu)
	}
	if err := it.Finite(m.h); err != nil {
		return err
	}
	if m.Normalise {
		alpha /= max(mat.Norm(m.h), 1e-300)
	}
	if err := it.UseSteps(alpha, 0, 0); err != nil {
		return err
	}
	it.MoveX(alpha, m.h)
	mean := it.NextY()
	for j, z := range m.z {
		mean[j] = 0.5 * (z + m.low[j])
	}
	return nil
}

func (m *f2sap) State(t *bilevel.State) { t.Floats(m.z, m.low) }

func (m *f2sap) Vectors(visit func(name string, v []float64)) {
	visit("f_x at y_ν", m.fx)
	visit("f_y at y_ν", m.fy)
	visit("g_y at y_ν", m.gy)
	visit("f_x at y_−ν", m.fxLow)
	visit("f_y at y_−ν", m.fyLow)
	visit("g_y at y_−ν", m.gyLow)
	visit("y_ν", m.z)
	visit("y_−ν", m.low)
	visit("g_x at y_ν", m.gx)
	visit("g_x at y_−ν", m.gxLow)
	visit("the hypergradient", m.h)
}

// BOME is the method of Ye, Liu, Wright, Stone and Liu (BOME! Bilevel Optimization Made Easy,
// NeurIPS 2022): with ŷ, y after Inner gradient steps on g(x, ·), held fixed, q(x, y) = g(x, y) −
// g(x, ŷ) measures how far y is from y*(x), and x and y move along
//
//	d = ∇f + λ∇q,   λ = max(0, η‖∇q‖² − ⟨∇f, ∇q⟩)/‖∇q‖²,   ∇ in (x, y),
//
// which lowers f as much as it can while q falls at the rate η‖∇q‖². At y*(x) the direction flips
// with the sign of ∇q: let the step sizes fall. The paper is deterministic; noise in ∇q is a bias
// that nothing removes. Each inner step draws its own φ; the directions share one ξ and one φ. The
// problem must be a bilevel.UpperGradient.
//
// Samples per step, T = Inner: ξ one batch, φ T + 1. Oracles: GradF 1, GradG T + 1, GradXG 2. Other
// cost: O(dx + T·dy).
type BOME struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's are constant.
	Alpha, Beta bilevel.Schedule

	// Gamma is the step size of ŷ. Range ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Eta is η > 0. Default 0.5, the paper's.
	Eta float64

	// Inner is T ≥ 1. Default 10, the paper's.
	Inner int
}

func (BOME) Name() string { return "BOME" }

type bome struct {
	BOME
	hat        []float64 // ŷ
	fx, gx, qx []float64
	fy, gy     []float64
}

func (m BOME) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Gamma == nil {
		m.Gamma = m.Beta
	}
	option.Default(&m.Eta, 0.5)
	option.Default(&m.Inner, 10)
	if err := errors.Join(
		firstOrder(it, m.Name()),
		checkSteps("BOME", m.Alpha, m.Beta),
		option.Schedule("BOME.Gamma", m.Gamma, anyStep),
		option.Finite("BOME.Eta", m.Eta),
		option.AtLeast("BOME.Inner", m.Inner, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &bome{BOME: m}
	vectors(dx, &r.fx, &r.gx, &r.qx)
	vectors(dy, &r.hat, &r.fy, &r.gy)
	return r, nil
}

func (m *bome) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	if err := it.UseSteps(alpha, beta, 0); err != nil {
		return err
	}
	gamma, err := it.At("Gamma", m.Gamma, anyStep)
	if err != nil {
		return err
	}
	o, x, y := it.Oracle(), it.X(), it.Y()
	copy(m.hat, y)
	for range m.Inner {
		if err := o.GradG(m.gy, x, m.hat, it.DrawPhi(0)); err != nil {
			return err
		}
		mat.Axpy(m.hat, -gamma, m.gy)
		it.Watch(mat.Norm(m.gy))
		if err := it.Finite(m.hat); err != nil {
			return err
		}
	}
	phi := it.DrawPhi(0)
	if err := errors.Join(
		o.GradF(m.fx, m.fy, x, y, it.DrawXi(0)),
		o.GradG(m.gy, x, y, phi),
		o.GradXG(m.qx, x, y, phi),
		o.GradXG(m.gx, x, m.hat, phi),
	); err != nil {
		return err
	}
	mat.Axpy(m.qx, -1, m.gx)
	square := mat.Dot(m.qx, m.qx) + mat.Dot(m.gy, m.gy)
	along := mat.Dot(m.fx, m.qx) + mat.Dot(m.fy, m.gy)
	if err := it.Finite(m.fx, m.fy, m.qx, m.gy); err != nil {
		return err
	}
	if square > 0 {
		lambda := max(0, m.Eta*square-along) / square
		mat.Axpy(m.fx, lambda, m.qx)
		mat.Axpy(m.fy, lambda, m.gy)
	}
	it.MoveX(alpha, m.fx)
	it.MoveY(beta, m.fy)
	return nil
}

func (m *bome) State(*bilevel.State) {}

func (m *bome) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("ŷ", m.hat)
	visit("f_x", m.fx) // in the end f_x + λ∇_x q
	visit("f_y", m.fy)
	visit("g_x at ŷ", m.gx)
	visit("g_x − g_x at ŷ", m.qx)
}
