package method

import (
	"errors"

	"stable/bilevel"
	"stable/mat"
)

// AmIGO is the method of Arbel and Mairal (ICLR 2022): T warm-started steps on y, T on v ≈ −g_yy⁻¹f_y,
// and one on x,
//
//	y^{k,t+1} = y^{k,t} − β_k g_y(x^k, y^{k,t}; φ_t),                          y^{k+1} = y^{k,T},
//	v^{k,t+1} = v^{k,t} − γ_k (g_yy(x^k, y^{k+1}; φ′_t) v^{k,t} + f_y(x^k, y^{k+1}; ξ)),
//	x^{k+1} = P_X(x^k − α_k (f_x + g_xy(·; φ″) v^{k+1})),                     at (x^k, y^{k+1}; ξ).
type AmIGO struct {
	// Step sizes. Required. The paper's are constant.
	Alpha, Beta bilevel.Schedule

	// Step size of v. Default: Beta.
	Gamma bilevel.Schedule

	// Inner is T ≥ 1. Default 10.
	Inner int
}

func (AmIGO) Name() string { return "AmIGO" }

type amigo struct {
	AmIGO
	*memory
	v, gy, hv, fx, fy, cv []float64
}

func (m AmIGO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		checkSteps("AmIGO", m.Alpha, m.Beta),
		schedule("AmIGO.Gamma", &m.Gamma, m.Beta, anyStep),
		count("AmIGO.Inner", &m.Inner, 10),
	)
	mem := newMemory(it)
	return &amigo{AmIGO: m, memory: mem, gy: mem.y("g_y"), fx: mem.x("f_x"), fy: mem.y("f_y"), hv: mem.y("g_yy v"),
		v: mem.y("v"), cv: mem.x("f_x + g_xy v")}, err
}

func (m *amigo) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.NextY()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(alpha, 0, 0)
	gamma := s.At("Gamma", m.Gamma, anyStep)
	for range m.Inner {
		s.GradG(m.gy, x, y, s.DrawPhi(0))
		s.InnerStep(beta, m.gy)
		s.Finite(y)
	}
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	for range m.Inner {
		s.HessVecG(m.hv, x, y, m.v, s.DrawPhi(0))
		s.moveV(m.v, gamma, m.hv, 1, m.fy)
	}
	s.CrossVecG(m.cv, x, y, m.v, s.DrawPhi(0))
	mat.Axpy(m.cv, 1, m.fx)
	s.MoveX(alpha, m.cv)
	return s.err
}

func (m *amigo) State(t *bilevel.State) { t.Floats(m.v) }
