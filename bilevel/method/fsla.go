package method

import (
	"errors"

	"stable/bilevel"
	"stable/mat"
)

// FSLA is the fully single-loop method of Li, Gu and Huang (AAAI 2022): SGD on y and v ≈ g_yy⁻¹f_y,
// STORM on x,
//
//	y^{k+1} = y^k − β_k g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k (g_yy(x^k, y^{k+1}; φ′) v^k − f_y(x^k, y^{k+1}; ξ)),       v⁰ = 0,
//	m^k = d^k + (1−η_k)(m^{k−1} − d°),       d^k = (f_x(·; ξ′) − g_xy(·; φ″) v^{k+1})(x^k, y^{k+1}),
//	x^{k+1} = P_X(x^k − α_k m^k),
//
// with d° the same direction, on the same samples, at the point of step k−1, (x^{k−1}, y^k, v^k),
// and m⁰ = d⁰.
type FSLA struct {
	// Step sizes. Required. The paper's order is (k+1)^(−1/2).
	Alpha, Beta bilevel.Schedule

	// Step size of v. Default: Beta.
	Gamma bilevel.Schedule

	// Eta is the weight η_k in [0, 1] of STORM. Default 1/√(k+1), the paper's order.
	Eta bilevel.Schedule
}

func (FSLA) Name() string { return "FSLA" }

type fsla struct {
	FSLA
	*memory
	v, vNext, xLast, m []float64 // v^k, v^{k+1}, x^{k−1}, m^k
	gy, hv, fx, fy, cv []float64
}

func (m FSLA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		checkSteps("FSLA", m.Alpha, m.Beta),
		schedule("FSLA.Gamma", &m.Gamma, m.Beta, anyStep),
		schedule("FSLA.Eta", &m.Eta, bilevel.Power{C: 1, P: 0.5}, 1),
	)
	mem := newMemory(it)
	return &fsla{FSLA: m, memory: mem, v: mem.y(""), xLast: mem.x(""), gy: mem.y("g_y"), hv: mem.y("g_yy v"),
		fx: mem.x("f_x"), fy: mem.y("f_y"), vNext: mem.y("v"), cv: mem.x("g_xy v"), m: mem.x("m")}, err
}

func (m *fsla) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.NextY()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	gamma, eta := s.At("Gamma", m.Gamma, anyStep), s.At("Eta", m.Eta, 1)
	s.UseSteps(alpha, beta, eta)

	// y^{k+1}.
	s.GradG(m.gy, x, it.Y(), s.DrawPhi(0))
	s.MoveY(beta, m.gy)
	s.Finite(y)

	// v^{k+1} goes beside v^k, which d° needs.
	s.HessVecG(m.hv, x, y, m.v, s.DrawPhi(0))
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	s.Finite(m.fx, m.fy, m.hv)
	copy(m.vNext, m.v)
	s.moveV(m.vNext, gamma, m.hv, -1, m.fy)

	// m^k, and x^{k+1}.
	xi, phi := s.DrawXi(0), s.DrawPhi(0)
	if it.K() == 0 {
		clear(m.m)
	} else {
		m.direction(s, m.xLast, it.Y(), m.v, xi, phi)
		for i, d := range m.fx {
			m.m[i] = (1 - eta) * (m.m[i] - d)
		}
	}
	m.direction(s, x, y, m.vNext, xi, phi)
	mat.Axpy(m.m, 1, m.fx)
	copy(m.xLast, x)
	copy(m.v, m.vNext)
	s.MoveX(alpha, m.m)
	return s.err
}

// direction writes f_x − g_xy v at a point into fx.
func (m *fsla) direction(s *step, x, y, v []float64, xi, phi []bilevel.Sample) {
	s.GradF(m.fx, m.fy, x, y, xi)
	s.CrossVecG(m.cv, x, y, v, phi)
	s.Finite(m.fx, m.fy, m.cv)
	mat.Axpy(m.fx, -1, m.cv)
}

func (m *fsla) State(t *bilevel.State) { t.Floats(m.v, m.xLast, m.m) }
