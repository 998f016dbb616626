package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// SOBA is the stochastic method of Dagréou, Ablin, Vaiter and Moreau (NeurIPS 2022, arXiv
// 2201.13409). Besides x and y it moves v, which tracks −g_yy⁻¹ f_y. All three move at once, along
// directions at one point that are linear in the derivatives, and therefore unbiased:
//
//	y^{k+1} = y^k − β_k D_y,         D_y = g_y(x^k, y^k; φ),
//	v^{k+1} = v^k − γ_k D_v,         D_v = g_yy(x^k, y^k; φ) v^k + f_y(x^k, y^k; ξ),     v⁰ = 0,
//	x^{k+1} = P_X(x^k − α_k D_x),    D_x = g_xy(x^k, y^k; φ) v^k + f_x(x^k, y^k; ξ).
//
// Samples per step: ξ and φ one batch. Oracles: GradF 1, GradG 1, HessVecG 1, CrossVecG 1; nothing
// is factored, and there is no series. Other cost: O(dx + dy).
type SOBA struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's are of one order,
	// constant 1/√K for K steps.
	Alpha, Beta bilevel.Schedule

	// Gamma is the step size γ_k of v, ≥ 0; both problems have the curvature of g_yy. Default:
	// Beta, as in the paper.
	Gamma bilevel.Schedule
}

func (SOBA) Name() string { return "SOBA" }

// soba is the running state of SOBA, and of SABA, which computes f and g in another way.
type soba struct {
	SOBA
	v []float64
	f []float64 // f_x, f_y
	g []float64 // g_y, g_yy v, g_xy v

	dx []float64 // D_x
}

func (m SOBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { return m.check(it, "SOBA") }

// check refuses invalid step sizes, and makes the memory. name is the Go name.
func (m SOBA) check(it *bilevel.Iteration, name string) (*soba, error) {
	if m.Gamma == nil {
		m.Gamma = m.Beta
	}
	if err := errors.Join(
		checkSteps(name, m.Alpha, m.Beta),
		option.Schedule(name+".Gamma", m.Gamma, anyStep),
	); err != nil {
		return nil, err
	}
	r := newSOBA(it)
	r.SOBA = m
	return r, nil
}

func newSOBA(it *bilevel.Iteration) *soba {
	dx, dy := it.Dims()
	return &soba{v: make([]float64, dy), f: make([]float64, dx+dy), g: make([]float64, 2*dy+dx), dx: make([]float64, dx)}
}

func (m *soba) Step(it *bilevel.Iteration) error {
	if err := m.parts(it); err != nil {
		return err
	}
	return m.move(it)
}

// parts writes the five parts of the directions at z^k, from one batch of each stream.
func (m *soba) parts(it *bilevel.Iteration) error {
	return errors.Join(m.upper(it, m.f, it.DrawXi(0)), m.lower(it, m.g, it.DrawPhi(0)))
}

// upper writes f_x, f_y at (x^k, y^k) into f.
func (m *soba) upper(it *bilevel.Iteration, f []float64, xi []bilevel.Sample) error {
	dx := len(it.X())
	return it.Oracle().GradF(f[:dx], f[dx:], it.X(), it.Y(), xi)
}

func (m *soba) lower(it *bilevel.Iteration, g []float64, phi []bilevel.Sample) error {
	gy, hv, cv := m.split(g)
	o, x, y := it.Oracle(), it.X(), it.Y()
	return errors.Join(o.GradG(gy, x, y, phi), o.HessVecG(hv, x, y, m.v, phi), o.CrossVecG(cv, x, y, m.v, phi))
}

// split returns the three parts of the lower level in g: g_y, g_yy v, g_xy v.
func (m *soba) split(g []float64) (gy, hv, cv []float64) {
	dy := len(m.v)
	return g[:dy], g[dy : 2*dy], g[2*dy:]
}

// move makes y^{k+1}, x^{k+1} and v^{k+1} from the parts in f and g.
func (m *soba) move(it *bilevel.Iteration) error {
	_, _, cv := m.split(m.g)
	for i, fx := range m.f[:len(m.dx)] {
		m.dx[i] = cv[i] + fx
	}
	return m.moveAlong(it, m.dx)
}

// moveAlong is move with another direction of x.
func (m *soba) moveAlong(it *bilevel.Iteration, dx []float64) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	if err := it.UseSteps(alpha, beta, 0); err != nil {
		return err
	}
	gamma, err := it.At("Gamma", m.Gamma, math.Inf(1))
	if err != nil {
		return err
	}
	fy := m.f[len(it.X()):]
	gy, hv, _ := m.split(m.g)
	it.MoveY(beta, gy)
	it.MoveX(alpha, dx)
	square := 0.0
	for j := range m.v {
		d := hv[j] + fy[j]
		m.v[j] -= gamma * d
		square += d * d
	}
	it.Watch(math.Sqrt(square))
	return nil
}

func (m *soba) State(t *bilevel.State) { t.Floats(m.v) }

func (m *soba) Vectors(visit func(name string, v []float64)) {
	gy, hv, cv := m.split(m.g)
	visit("f_x", m.f[:len(cv)])
	visit("f_y", m.f[len(cv):])
	visit("g_y", gy)
	visit("g_yy v", hv)
	visit("g_xy v", cv)
	visit("v", m.v)
}
