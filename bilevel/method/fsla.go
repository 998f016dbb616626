package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// FSLA is the fully single-loop method of Li, Gu and Huang (A Fully Single Loop Algorithm for
// Bilevel Optimization without Hessian Inverse, AAAI 2022): SGD on y, then on v ≈ g_yy⁻¹f_y, and
// STORM on the direction of x,
//
//	y^{k+1} = y^k − β_k g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k (g_yy(x^k, y^{k+1}; φ′) v^k − f_y(x^k, y^{k+1}; ξ)),       v⁰ = 0,
//	m^k = d^k + (1−η_k)(m^{k−1} − d°),       d^k = (f_x(·; ξ′) − g_xy(·; φ″) v^{k+1})(x^k, y^{k+1}),
//	x^{k+1} = P_X(x^k − α_k m^k),
//
// with d° the same direction, on the same samples, at the point of step k−1, (x^{k−1}, y^k, v^k),
// and m⁰ = d⁰.
//
// Samples per step: ξ two batches, φ three. Oracles: GradF 3, GradG 1, HessVecG 1, CrossVecG 2
// (step 0: GradF 2, CrossVecG 1). Other cost: O(dx + dy).
type FSLA struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's order is
	// (k+1)^(−1/2).
	Alpha, Beta bilevel.Schedule

	// Step size of v, ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Eta is the weight η_k in [0, 1] of STORM. Default 1/√(k+1), the paper's order.
	Eta bilevel.Schedule
}

func (FSLA) Name() string { return "FSLA" }

type fsla struct {
	FSLA
	v, vNext   []float64 // v^k, v^{k+1}
	xLast      []float64 // x^{k−1}
	m          []float64
	gy, hv     []float64
	fx, fy, cv []float64
}

func (m FSLA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Gamma == nil {
		m.Gamma = m.Beta
	}
	if m.Eta == nil {
		m.Eta = bilevel.Power{C: 1, P: 0.5}
	}
	if err := errors.Join(
		checkSteps("FSLA", m.Alpha, m.Beta),
		option.Schedule("FSLA.Gamma", m.Gamma, anyStep),
		option.Schedule("FSLA.Eta", m.Eta, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &fsla{FSLA: m}
	vectors(dx, &r.xLast, &r.m, &r.fx, &r.cv)
	vectors(dy, &r.v, &r.vNext, &r.gy, &r.hv, &r.fy)
	return r, nil
}

func (m *fsla) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	gamma, err := it.At("Gamma", m.Gamma, anyStep)
	if err != nil {
		return err
	}
	eta, err := it.At("Eta", m.Eta, 1)
	if err != nil {
		return err
	}
	if err := it.UseSteps(alpha, beta, eta); err != nil {
		return err
	}
	o, x := it.Oracle(), it.X()

	// y^{k+1}.
	if err := o.GradG(m.gy, x, it.Y(), it.DrawPhi(0)); err != nil {
		return err
	}
	it.MoveY(beta, m.gy)
	y := it.NextY()
	if err := it.Finite(y); err != nil {
		return err
	}

	// v^{k+1} goes beside v^k, which d° needs.
	if err := errors.Join(
		o.HessVecG(m.hv, x, y, m.v, it.DrawPhi(0)),
		o.GradF(m.fx, m.fy, x, y, it.DrawXi(0)),
	); err != nil {
		return err
	}
	if err := it.Finite(m.fx, m.fy, m.hv); err != nil {
		return err
	}
	square := 0.0
	for j, v := range m.v {
		d := m.hv[j] - m.fy[j]
		m.vNext[j] = v - gamma*d
		square += d * d
	}
	it.Watch(math.Sqrt(square))

	// m^k, and x^{k+1}.
	xi, phi := it.DrawXi(0), it.DrawPhi(0)
	if it.K() == 0 {
		clear(m.m)
	} else if err := m.direction(it, m.xLast, it.Y(), m.v, xi, phi, func(i int, d float64) {
		m.m[i] = (1 - eta) * (m.m[i] - d)
	}); err != nil {
		return err
	}
	if err := m.direction(it, x, y, m.vNext, xi, phi, func(i int, d float64) { m.m[i] += d }); err != nil {
		return err
	}
	copy(m.xLast, x)
	copy(m.v, m.vNext)
	it.MoveX(alpha, m.m)
	return nil
}

// direction passes the entries of f_x − g_xy v at a point to entry.
func (m *fsla) direction(it *bilevel.Iteration, x, y, v []float64, xi, phi []bilevel.Sample,
	entry func(i int, d float64)) error {
	if err := errors.Join(
		it.Oracle().GradF(m.fx, m.fy, x, y, xi),
		it.Oracle().CrossVecG(m.cv, x, y, v, phi),
	); err != nil {
		return err
	}
	if err := it.Finite(m.fx, m.fy, m.cv); err != nil {
		return err
	}
	for i, fx := range m.fx {
		entry(i, fx-m.cv[i])
	}
	return nil
}

func (m *fsla) State(t *bilevel.State) { t.Floats(m.v, m.xLast, m.m) }

func (m *fsla) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("g_yy v", m.hv)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("v", m.vNext)
	visit("g_xy v", m.cv)
	visit("m", m.m)
}
