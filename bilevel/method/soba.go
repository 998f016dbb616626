package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/mat"
)

// SOBA is the method of Dagréou, Ablin, Vaiter and Moreau (NeurIPS 2022, arXiv 2201.13409), which
// moves v ≈ −g_yy⁻¹ f_y beside x and y, along directions that are linear in the derivatives, and
// therefore unbiased:
//
//	y^{k+1} = y^k − β_k D_y,         D_y = g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k D_v,         D_v = g_yy(x^k, y^k; φ) v^k + f_y(x^k, y^k; ξ),     v⁰ = 0,
//	x^{k+1} = P_X(x^k − α_k D_x),    D_x = g_xy(x^k, y^k; φ) v^k + f_x(x^k, y^k; ξ).
type SOBA struct {
	// Step sizes. Required. The paper's are constant 1/√K for K steps.
	Alpha, Beta bilevel.Schedule

	// Gamma is the step size of v. Default: Beta, as in the paper.
	Gamma bilevel.Schedule
}

func (SOBA) Name() string { return "SOBA" }

// soba is the running state of SOBA, and of the methods that compute f, g or D_x in another way.
type soba struct {
	SOBA
	*memory
	v []float64
	f []float64 // f_x, f_y
	g []float64 // g_y, g_yy v, g_xy v
	d []float64 // D_x
}

func (m SOBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { return m.start(it, "SOBA") }

func (m SOBA) start(it *bilevel.Iteration, name string) (*soba, error) {
	err := errors.Join(
		checkSteps(name, m.Alpha, m.Beta),
		schedule(name+".Gamma", &m.Gamma, m.Beta, anyStep),
	)
	r := newSOBA(it)
	r.SOBA = m
	return r, err
}

func newSOBA(it *bilevel.Iteration) *soba {
	r := &soba{memory: newMemory(it)}
	r.f, r.g = make([]float64, r.dx+r.dy), make([]float64, 2*r.dy+r.dx)
	r.add("f_x", r.f[:r.dx])
	r.add("f_y", r.f[r.dx:])
	gy, hv, cv := r.split(r.g)
	r.add("g_y", gy)
	r.add("g_yy v", hv)
	r.add("g_xy v", cv)
	r.v, r.d = r.y("v"), r.x("")
	return r
}

func (m *soba) split(g []float64) (gy, hv, cv []float64) {
	return g[:m.dy], g[m.dy : 2*m.dy], g[2*m.dy:]
}

func (m *soba) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	m.parts(s)
	m.move(s)
	return s.err
}

// parts writes f and g at z^k, from one batch of each stream.
func (m *soba) parts(s *step) {
	m.upper(s, m.f, s.DrawXi(0))
	m.lower(s, m.g, s.DrawPhi(0))
}

func (m *soba) upper(s *step, f []float64, xi []bilevel.Sample) {
	s.GradF(f[:m.dx], f[m.dx:], s.X(), s.Y(), xi)
}

func (m *soba) lower(s *step, g []float64, phi []bilevel.Sample) {
	m.lowerAt(s, g, s.X(), s.Y(), m.v, phi)
}

func (m *soba) lowerAt(s *step, g, x, y, v []float64, phi []bilevel.Sample) {
	gy, hv, cv := m.split(g)
	s.GradG(gy, x, y, phi)
	s.HessVecG(hv, x, y, v, phi)
	s.CrossVecG(cv, x, y, v, phi)
}

// move makes y^{k+1}, x^{k+1} and v^{k+1} from f and g.
func (m *soba) move(s *step) {
	_, _, cv := m.split(m.g)
	for i, fx := range m.f[:m.dx] {
		m.d[i] = cv[i] + fx
	}
	m.moveAlong(s, m.d)
}

func (m *soba) moveAlong(s *step, d []float64) {
	alpha, beta := m.Alpha.At(s.K()), m.Beta.At(s.K())
	s.UseSteps(alpha, beta, 0)
	gamma := s.At("Gamma", m.Gamma, anyStep)
	gy, hv, _ := m.split(m.g)
	s.MoveY(beta, gy)
	s.MoveX(alpha, d)
	s.moveV(m.v, gamma, hv, 1, m.f[m.dx:])
}

func (m *soba) State(t *bilevel.State) { t.Floats(m.v) }

// MASOBA is SOBA with a moving average of the direction of x (MA-SOBA: Chen, Xiao, Balasubramanian,
// arXiv 2306.12067, Algorithm 1),
//
//	h^k = (1−θ_k) h^{k−1} + θ_k D_x,   x^{k+1} = P_X(x^k − α_k h^k),   h⁰ = D_x,
//
// whose theory needs no third derivatives of g. The paper moves x along h^{k−1}.
type MASOBA struct {
	// Step sizes. Required. The paper's are 1/√K.
	Alpha, Beta bilevel.Schedule

	// Step size of v. Default: Beta.
	Gamma bilevel.Schedule

	// Theta is the weight θ_k in [0, 1] of the new direction. Default 1/√(k+1), the paper's order.
	Theta bilevel.Schedule
}

func (MASOBA) Name() string { return "MA-SOBA" }

type masoba struct {
	*soba
	theta bilevel.Schedule
	h     []float64
}

func (m MASOBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.start(it, "MASOBA")
	err = errors.Join(err, schedule("MASOBA.Theta", &m.Theta, bilevel.Power{C: 1, P: 0.5}, 1))
	return &masoba{soba: b, theta: m.Theta, h: b.x("h")}, err
}

func (m *masoba) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	theta := s.At("Theta", m.theta, 1)
	if it.K() == 0 {
		theta = 1
	}
	m.parts(s)
	_, _, cv := m.split(m.g)
	for i, h := range m.h {
		m.h[i] = (1-theta)*h + theta*(m.f[i]+cv[i])
	}
	m.moveAlong(s, m.h)
	return s.err
}

func (m *masoba) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.h)
}

// STFBO is the tuning-free method of Yang, Ban, Huang, Ma and Ji (ICLR 2025): SOBA's directions with
// step sizes of AdaGrad-norm,
//
//	b² ← b² + ‖D_y‖²,   c² ← c² + ‖D_v‖²,   a² ← a² + ‖D_x‖²,   s = max(b, c),
//	y ← y − D_y/b,   v ← v − D_v/s,   x ← P_X(x − D_x/(a·s)).
//
// The analysis is deterministic: under noise the step sizes fall as 1/√k, that of x as 1/k.
type STFBO struct {
	// A, B and C > 0 are a, b, c before the first step, in units of the directions. Default 1 each.
	A, B, C float64
}

func (STFBO) Name() string { return "S-TFBO" }

type stfbo struct {
	*soba
	a, b, c float64 // the sums of squares
}

func (m STFBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		positive("STFBO.A", &m.A, 1),
		positive("STFBO.B", &m.B, 1),
		positive("STFBO.C", &m.C, 1),
	)
	return &stfbo{soba: newSOBA(it), a: m.A * m.A, b: m.B * m.B, c: m.C * m.C}, err
}

func (m *stfbo) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	m.parts(s)
	gy, dv, dx := m.split(m.g)
	mat.Axpy(dv, 1, m.f[m.dx:]) // g_yy v + f_y
	mat.Axpy(dx, 1, m.f[:m.dx]) // g_xy v + f_x
	s.Finite(m.g)               // else it would spoil the sums
	m.a += mat.Dot(dx, dx)
	m.b += mat.Dot(gy, gy)
	m.c += mat.Dot(dv, dv)
	a, b := math.Sqrt(m.a), math.Sqrt(m.b)
	slow := max(b, math.Sqrt(m.c))
	s.UseSteps(1/(a*slow), 1/b, 0)
	s.MoveY(1/b, gy)
	s.MoveX(1/(a*slow), dx)
	mat.Axpy(m.v, -1/slow, dv)
	s.Watch(mat.Norm(dv))
	return s.err
}

func (m *stfbo) State(t *bilevel.State) {
	m.soba.State(t)
	for _, sum := range []*float64{&m.a, &m.b, &m.c} {
		t.Float(sum)
	}
}
