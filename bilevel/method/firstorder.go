package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// F2SA is the fully first-order method of Kwon, Kwon, Wright and Nowak (ICML 2023). Besides y ≈
// y*(x) it moves y_λ ≈ argmin_y f/λ + g:
//
//	y_λ ← y_λ − β_k (f_y(x^k, y_λ; ξ)/λ_k + g_y(x^k, y_λ; φ)),   y ← y − β_k g_y(x^k, y; φ′),   Inner times,
//	x^{k+1} = P_X(x^k − α_k [f_x(x^k, y_λ; ξ′) + λ_k (g_x(x^k, y_λ; φ″) − g_x(x^k, y; φ‴))]).
//
// The paper's step size of y_λ is γ_k λ_k, here in units of that of y. The bias is O(1/λ), so λ
// grows. The problem must be a bilevel.UpperGradient.
type F2SA struct {
	// Step sizes. Required. The paper's orders are (k+1)^(−5/7) and (k+1)^(−4/7).
	Alpha, Beta bilevel.Schedule

	// Lambda is λ_k > 0, in units of g over f. Default 10·(k+1)^(1/7), the paper's order.
	Lambda bilevel.Schedule

	Inner int // ≥ 1, the number of steps of both y. Default 1
}

func (F2SA) Name() string { return "F2SA" }

type f2sa struct {
	F2SA
	*memory
	side                  // at y_λ
	g0x, g0y, h []float64 // g_x and g_y at y, and the direction of x
}

type side struct{ fx, fy, gy, z, gx []float64 }

func newSide(m *memory, at string, y []float64) side {
	e := side{m.x("f_x at " + at), m.y("f_y at " + at), m.y("g_y at " + at), m.y(at), m.x("g_x at " + at)}
	copy(e.z, y)
	return e
}

// move does z ← z − β(g_y + (a/b)·f_y), and returns the direction's length.
func (e *side) move(beta, a, b float64) float64 {
	square := 0.0
	for j := range e.z {
		d := e.gy[j] + a*e.fy[j]/b
		e.z[j] -= beta * d
		square += d * d
	}
	return math.Sqrt(square)
}

func (m F2SA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		firstOrder(it, "F2SA"),
		checkSteps("F2SA", m.Alpha, m.Beta),
		schedule("F2SA.Lambda", &m.Lambda, bilevel.Power{C: 10, P: -1.0 / 7}, anyStep),
		count("F2SA.Inner", &m.Inner, 1),
	)
	mem := newMemory(it)
	return &f2sa{F2SA: m, memory: mem, side: newSide(mem, "y_λ", it.Y()), g0y: mem.y("g_y"), g0x: mem.x("g_x"),
		h: mem.x("the hypergradient")}, err
}

func firstOrder(it *bilevel.Iteration, name string) error {
	if it.Oracle().HasGradXG() {
		return nil
	}
	return option.Bad("%s needs g_x: the problem has no method GradXG, see bilevel.UpperGradient", name)
}

func (m *f2sa) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.NextY()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	lambda := s.At("Lambda", m.Lambda, anyStep)
	if s.err == nil && !(lambda > 0) {
		return option.Bad("F2SA: Lambda at step %d is %v, want > 0", it.K(), lambda)
	}
	s.UseSteps(alpha, float64(m.Inner)*beta, 0)
	for range m.Inner {
		s.GradF(m.fx, m.fy, x, m.z, s.DrawXi(0))
		s.GradG(m.gy, x, m.z, s.DrawPhi(0))
		s.GradG(m.g0y, x, y, s.DrawPhi(0))
		mat.Axpy(y, -beta, m.g0y)
		s.Watch(max(m.move(beta, 1, lambda), mat.Norm(m.g0y)))
		s.Finite(m.fx, m.z, y)
	}
	s.GradF(m.fx, m.fy, x, m.z, s.DrawXi(0))
	s.GradXG(m.gx, x, m.z, s.DrawPhi(0))
	s.GradXG(m.g0x, x, y, s.DrawPhi(0))
	for i, fx := range m.fx {
		m.h[i] = fx + lambda*(m.gx[i]-m.g0x[i])
	}
	s.MoveX(alpha, m.h)
	return s.err
}

func (m *f2sa) State(t *bilevel.State) { t.Floats(m.z) }

// F2SAp is F2SA with a central difference, of order p = 2 (Chen, Li, Chayti, Zhang, ICLR 2026,
// arXiv 2509.02937): with ℓ_ν(x) = min_y g + νf, whose gradient is g_x + νf_x at the minimiser y_ν,
//
//	y_{±ν} ← y_{±ν} − β_k (g_y ± ν f_y)(x^k, y_{±ν}; φ, ξ),   Inner times,
//	h = [(g_x + νf_x)(x^k, y_ν) − (g_x − νf_x)(x^k, y_{−ν})]/2ν,   x^{k+1} = P_X(x^k − α_k h).
//
// The bias is O(ν²), F2SA's O(ν) with ν = 1/λ. Both sides share their samples, so that noise does
// not grow as 1/ν. The Solver's y is the mean of both. The problem must be a bilevel.UpperGradient.
type F2SAp struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are constant
	Nu          float64          // ν > 0, in units of g over f. Default 0.1
	Inner       int              // ≥ 1, the number of steps of both y. Default 1
}

func (F2SAp) Name() string { return "F2SA-p" }

type f2sap struct {
	F2SAp
	*memory
	up, low side
	h       []float64
}

func (m F2SAp) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		firstOrder(it, "F2SA-p"),
		checkSteps("F2SAp", m.Alpha, m.Beta),
		positive("F2SAp.Nu", &m.Nu, 0.1),
		count("F2SAp.Inner", &m.Inner, 1),
	)
	mem := newMemory(it)
	up, low := newSide(mem, "y_ν", it.Y()), newSide(mem, "y_−ν", it.Y())
	return &f2sap{F2SAp: m, memory: mem, up: up, low: low, h: mem.x("the hypergradient")}, err
}

func (m *f2sap) Step(it *bilevel.Iteration) error {
	s, x, up, low := m.begin(it), it.X(), &m.up, &m.low
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(0, float64(m.Inner)*beta, 0)
	for range m.Inner {
		xi, phi := s.DrawXi(0), s.DrawPhi(0)
		s.GradF(up.fx, up.fy, x, up.z, xi)
		s.GradG(up.gy, x, up.z, phi)
		s.GradF(low.fx, low.fy, x, low.z, xi)
		s.GradG(low.gy, x, low.z, phi)
		s.Watch(max(up.move(beta, m.Nu, 1), low.move(beta, -m.Nu, 1)))
		s.Finite(up.fx, low.fx, up.z, low.z)
	}
	xi, phi := s.DrawXi(0), s.DrawPhi(0)
	s.GradF(up.fx, up.fy, x, up.z, xi)
	s.GradF(low.fx, low.fy, x, low.z, xi)
	s.GradXG(up.gx, x, up.z, phi)
	s.GradXG(low.gx, x, low.z, phi)
	for i := range m.h {
		m.h[i] = 0.5 * (up.fx[i] + low.fx[i] + (up.gx[i]-low.gx[i])/m.Nu)
	}
	s.UseSteps(alpha, 0, 0)
	s.MoveX(alpha, m.h)
	for j, z := range up.z {
		it.NextY()[j] = 0.5 * (z + low.z[j])
	}
	return s.err
}

func (m *f2sap) State(t *bilevel.State) { t.Floats(m.up.z, m.low.z) }

// BOME is the method of Ye, Liu, Wright, Stone and Liu (NeurIPS 2022). With ŷ, y after Inner gradient
// steps on g(x, ·), held fixed, and q(x, y) = g(x, y) − g(x, ŷ), x and y move along
//
//	d = ∇f + λ∇q,   λ = max(0, η‖∇q‖² − ⟨∇f, ∇q⟩)/‖∇q‖²,   ∇ in (x, y),
//
// which lowers f as much as it can while q falls at the rate η‖∇q‖². At y*(x) it flips with the sign
// of ∇q: let the step sizes fall. The paper is deterministic; noise in ∇q is a bias. The problem
// must be a bilevel.UpperGradient.
type BOME struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are constant
	Gamma       bilevel.Schedule // the step size of ŷ. Default: Beta
	Eta         float64          // η > 0. Default 0.5, the paper's
	Inner       int              // ≥ 1. Default 10, the paper's
}

func (BOME) Name() string { return "BOME" }

type bome struct {
	BOME
	*memory
	hat                []float64 // ŷ
	fx, gx, qx, fy, gy []float64
}

func (m BOME) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		firstOrder(it, "BOME"),
		checkSteps("BOME", m.Alpha, m.Beta),
		schedule("BOME.Gamma", &m.Gamma, m.Beta, anyStep),
		positive("BOME.Eta", &m.Eta, 0.5),
		count("BOME.Inner", &m.Inner, 10),
	)
	mem := newMemory(it)
	return &bome{BOME: m, memory: mem, gy: mem.y("g_y"), hat: mem.y("ŷ"), fx: mem.x("f_x"), fy: mem.y("f_y"),
		gx: mem.x("g_x at ŷ"), qx: mem.x("g_x − g_x at ŷ")}, err
}

func (m *bome) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.Y()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(alpha, beta, 0)
	gamma := s.At("Gamma", m.Gamma, anyStep)
	copy(m.hat, y)
	for range m.Inner {
		s.GradG(m.gy, x, m.hat, s.DrawPhi(0))
		mat.Axpy(m.hat, -gamma, m.gy)
		s.Watch(mat.Norm(m.gy))
		s.Finite(m.hat)
	}
	phi := s.DrawPhi(0)
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	s.GradG(m.gy, x, y, phi)
	s.GradXG(m.qx, x, y, phi)
	s.GradXG(m.gx, x, m.hat, phi)
	mat.Axpy(m.qx, -1, m.gx)
	square := mat.Dot(m.qx, m.qx) + mat.Dot(m.gy, m.gy)
	along := mat.Dot(m.fx, m.qx) + mat.Dot(m.fy, m.gy)
	s.Finite(m.fx, m.fy, m.qx, m.gy)
	if square > 0 {
		lambda := max(0, m.Eta*square-along) / square
		mat.Axpy(m.fx, lambda, m.qx) // f_x + λ∇_x q
		mat.Axpy(m.fy, lambda, m.gy)
	}
	s.MoveX(alpha, m.fx)
	s.MoveY(beta, m.fy)
	return s.err
}

func (m *bome) State(*bilevel.State) {}
