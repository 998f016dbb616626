package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/mat"
)

// SOBA is the method of Dagréou, Ablin, Vaiter and Moreau (NeurIPS 2022, arXiv 2201.13409), which moves v ≈
// −g_yy⁻¹ f_y beside x and y, along directions that are linear in the derivatives, and therefore unbiased:
//
//	y^{k+1} = y^k − β_k D_y,         D_y = g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k D_v,         D_v = g_yy(x^k, y^k; φ) v^k + f_y(x^k, y^k; ξ),     v⁰ = 0,
//	x^{k+1} = P_X(x^k − α_k D_x),    D_x = g_xy(x^k, y^k; φ) v^k + f_x(x^k, y^k; ξ).
type SOBA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are 1/√K for K steps
	Gamma       bilevel.Schedule // the step size of v. Default: Beta, as in the paper
}

func (SOBA) Name() string { return "SOBA" }

// soba runs SOBA, and methods that compute f, g or D_x in another way.
type soba struct {
	SOBA
	*memory
	v             []float64
	f, fx, fy     []float64 // f is fx, fy
	g, gy, hv, cv []float64 // g is gy, hv = g_yy v, cv = g_xy v
	d             []float64 // D_x
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
	r.fx, r.fy = r.add("f_x", r.f[:r.dx]), r.add("f_y", r.f[r.dx:])
	r.gy, r.hv = r.add("g_y", r.g[:r.dy]), r.add("g_yy v", r.g[r.dy:2*r.dy])
	r.cv = r.add("g_xy v", r.g[2*r.dy:])
	r.v, r.d = r.y("v"), r.x("")
	return r
}

func (m *soba) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	m.parts(s)
	m.move(s)
	return s.err
}

func (m *soba) parts(s *step) {
	xi, phi := s.DrawXi(0), s.DrawPhi(0)
	m.upper(s, m.f, xi)
	m.lower(s, m.g, phi)
}

func (m *soba) upper(s *step, f []float64, xi []bilevel.Sample) {
	s.GradF(f[:m.dx], f[m.dx:], s.X(), s.Y(), xi)
}

func (m *soba) lower(s *step, g []float64, phi []bilevel.Sample) {
	m.lowerAt(s, g, s.X(), s.Y(), m.v, phi)
}

func (m *soba) lowerAt(s *step, g, x, y, v []float64, phi []bilevel.Sample) {
	s.do(func() error {
		return s.Oracle().JointG(g[:m.dy], g[m.dy:2*m.dy], g[2*m.dy:], x, y, v, phi)
	})
}

func (m *soba) move(s *step) {
	d, cv := m.d[:len(m.fx)], m.cv[:len(m.fx)]
	for i, fx := range m.fx {
		d[i] = cv[i] + fx
	}
	m.moveAlong(s, d)
}

func (m *soba) moveAlong(s *step, d []float64) {
	alpha, beta := m.Alpha.At(s.K()), m.Beta.At(s.K())
	s.UseSteps(alpha, beta, 0)
	gamma := s.At("Gamma", m.Gamma, anyStep)
	s.MoveY(beta, m.gy)
	s.MoveX(alpha, d)
	s.moveV(m.v, gamma, m.hv, 1, m.fy)
	if mat.NotFinite(d) < 0 && mat.NotFinite(m.v) < 0 {
		s.Shown() // f_x and g_xy v in d, f_y and g_yy v in v, g_y in y^{k+1}
	}
}

func (m *soba) State(t *bilevel.State) { t.Floats(m.v) }

// MASOBA is SOBA with a moving average of the direction of x (MA-SOBA: Chen, Xiao, Balasubramanian,
// arXiv 2306.12067, Algorithm 1),
//
//	h^k = (1−θ_k) h^{k−1} + θ_k D_x,   x^{k+1} = P_X(x^k − α_k h^k),   h⁰ = D_x,
//
// whose theory needs no third derivatives of g. The paper moves x along h^{k−1}.
type MASOBA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are 1/√K
	Gamma       bilevel.Schedule // step size of v. Default: Beta

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
	for i, h := range m.h {
		m.h[i] = (1-theta)*h + theta*(m.fx[i]+m.cv[i])
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
	gy, dv, dx := m.gy, m.hv, m.cv
	mat.Axpy(dv, 1, m.fy) // g_yy v + f_y
	mat.Axpy(dx, 1, m.fx) // g_xy v + f_x
	s.Finite(m.g)         // else it would spoil the sums
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

// FSLA is the method of Li, Gu and Huang (AAAI 2022): SGD on y and v ≈ g_yy⁻¹f_y, STORM on x,
//
//	y^{k+1} = y^k − β_k g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k (g_yy(x^k, y^{k+1}; φ′) v^k − f_y(x^k, y^{k+1}; ξ)),       v⁰ = 0,
//	m^k = d^k + (1−η_k)(m^{k−1} − d°),       d^k = (f_x(·; ξ′) − g_xy(·; φ″) v^{k+1})(x^k, y^{k+1}),
//	x^{k+1} = P_X(x^k − α_k m^k),
//
// with d° the same direction, on the same samples, at (x^{k−1}, y^k, v^k), and m⁰ = d⁰.
type FSLA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's order is (k+1)^(−1/2)
	Gamma       bilevel.Schedule // step size of v. Default: Beta

	// Eta is the weight η_k in [0, 1] of STORM. Default 1/√(k+1), the paper's order.
	Eta bilevel.Schedule
}

func (FSLA) Name() string { return "FSLA" }

type fsla struct {
	*soba
	eta             bilevel.Schedule
	vNext, xLast, m []float64 // v^{k+1}, x^{k−1}, m^k
}

func (m FSLA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.start(it, "FSLA")
	err = errors.Join(err, schedule("FSLA.Eta", &m.Eta, bilevel.Power{C: 1, P: 0.5}, 1))
	return &fsla{soba: b, eta: m.Eta, vNext: b.y("the next v"), xLast: b.x(""), m: b.x("m")}, err
}

func (m *fsla) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.NextY()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	gamma, eta := s.At("Gamma", m.Gamma, anyStep), s.At("Eta", m.eta, 1)
	s.UseSteps(alpha, beta, eta)

	// y^{k+1}.
	s.GradG(m.gy, x, it.Y(), s.DrawPhi(0))
	s.MoveY(beta, m.gy)
	s.Finite(y)

	// v^{k+1} goes beside v^k, which d° needs.
	s.HessVecG(m.hv, x, y, m.v, s.DrawPhi(0))
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	s.Finite(m.f, m.hv)
	copy(m.vNext, m.v)
	s.moveV(m.vNext, gamma, m.hv, -1, m.fy)

	// m^k, and x^{k+1}.
	xi, phi := s.DrawXi(0), s.DrawPhi(0)
	if it.K() == 0 {
		clear(m.m)
	} else {
		m.direction(s, m.xLast, it.Y(), m.v, xi, phi)
		for i, d := range m.d {
			m.m[i] = (1 - eta) * (m.m[i] - d)
		}
	}
	m.direction(s, x, y, m.vNext, xi, phi)
	mat.Axpy(m.m, 1, m.d)
	copy(m.xLast, x)
	copy(m.v, m.vNext)
	s.MoveX(alpha, m.m)
	return s.err
}

func (m *fsla) direction(s *step, x, y, v []float64, xi, phi []bilevel.Sample) {
	s.GradF(m.fx, m.fy, x, y, xi)
	s.CrossVecG(m.cv, x, y, v, phi)
	s.Finite(m.f, m.cv)
	for i, fx := range m.fx {
		m.d[i] = fx - m.cv[i]
	}
}

func (m *fsla) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.xLast, m.m)
}

// AmIGO is that of Arbel and Mairal (ICLR 2022): T warm steps on y, T on v ≈ −g_yy⁻¹f_y, one on x,
//
//	y^{k,t+1} = y^{k,t} − β_k g_y(x^k, y^{k,t}; φ_t),                          y^{k+1} = y^{k,T},
//	v^{k,t+1} = v^{k,t} − γ_k (g_yy(x^k, y^{k+1}; φ′_t) v^{k,t} + f_y(x^k, y^{k+1}; ξ)),
//	x^{k+1} = P_X(x^k − α_k (f_x + g_xy(·; φ″) v^{k+1})),                     at (x^k, y^{k+1}; ξ).
type AmIGO struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are constant
	Gamma       bilevel.Schedule // step size of v. Default: Beta
	Inner       int              // T ≥ 1. Default 10
}

func (AmIGO) Name() string { return "AmIGO" }

type amigo struct {
	*soba
	inner int
}

func (m AmIGO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.start(it, "AmIGO")
	err = errors.Join(err, count("AmIGO.Inner", &m.Inner, 10))
	return &amigo{b, m.Inner}, err
}

func (m *amigo) Step(it *bilevel.Iteration) error {
	s, x, y := m.begin(it), it.X(), it.NextY()
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(alpha, 0, 0)
	gamma := s.At("Gamma", m.Gamma, anyStep)
	for range m.inner {
		s.GradG(m.gy, x, y, s.DrawPhi(0))
		s.InnerStep(beta, m.gy)
		s.Finite(y)
	}
	s.GradF(m.fx, m.fy, x, y, s.DrawXi(0))
	for range m.inner {
		s.HessVecG(m.hv, x, y, m.v, s.DrawPhi(0))
		s.moveV(m.v, gamma, m.hv, 1, m.fy)
	}
	s.CrossVecG(m.cv, x, y, m.v, s.DrawPhi(0))
	mat.Axpy(m.cv, 1, m.fx)
	s.MoveX(alpha, m.cv)
	return s.err
}
