package compose

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// SCGD is stochastic compositional gradient descent (Wang, Fang, Liu, Mathematical Programming 161,
// 2017, Algorithm 1), for the problems that Adapt makes. With one batch φ and one batch ξ a step,
//
//	y^{k+1} = (1 − β_k) y^k + β_k h(x^k; φ^k),
//	x^{k+1} = P_X(x^k − α_k ∇h(x^k; φ^k) f'(y^{k+1}; ξ^k)).
//
// Two timescales: α_k ~ k^(−3/4), β_k ~ k^(−1/2) for a nonconvex F. A step draws one batch of ξ and
// of φ, and calls GradG (h), GradF (f') and CrossVecG (∇h) once. Other cost: O(dx + dy).
type SCGD struct {
	Alpha bilevel.Schedule // step size α_k ≥ 0 of x. Required
	Beta  bilevel.Schedule // weight β_k in [0, 1] of the new sample in y. Required
}

// SCSC is the stochastically corrected method of Chen, Sun and Yin (IEEE Transactions on Signal
// Processing 69, 2021): as SCGD, but
//
//	y^{k+1} = (1 − β_k) (y^k + h(x^k; φ^k) − h(x^{k−1}; φ^k)) + β_k h(x^k; φ^k),
//
// with x^{−1} = x⁰. One timescale: α_k and β_k ~ k^(−1/2). With exact oracles and y⁰ = h(x⁰) it is
// gradient descent on F. It calls GradG at two points for k ≥ 1.
type SCSC struct {
	Alpha, Beta bilevel.Schedule // as in SCGD. Required
}

func (SCGD) Name() string { return "SCGD" }
func (SCSC) Name() string { return "SCSC" }

func (m SCGD) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { return m.with(it, "SCGD") }
func (m SCSC) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { return SCGD(m).with(it, "SCSC") }

type descent struct {
	SCGD
	corrected bool      // SCSC
	g, gOld   []float64 // y − h(x^k; φ), and y − h(x^{k−1}; φ)
	xOld      []float64 // x^{k−1}
	fx, fy    []float64
	cross, d  []float64 // g_xy f_y, and the direction of x
}

func (m SCGD) with(it *bilevel.Iteration, name string) (bilevel.Stepper, error) {
	if _, ok := it.Problem().(interface{ Composition() Composition }); !ok {
		return nil, option.Bad("%s takes a compositional problem, as compose.Adapt makes one, and not a %T", name, it.Problem())
	}
	if err := errors.Join(
		option.Schedule(name+".Alpha", m.Alpha, math.Inf(1)),
		option.Schedule(name+".Beta", m.Beta, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &descent{
		SCGD: m, corrected: name == "SCSC", g: vec(dy), gOld: vec(dy), xOld: vec(dx),
		fx: vec(dx), fy: vec(dy), cross: vec(dx), d: vec(dx),
	}, nil
}

// Step writes both rules with g_y = y − h, at x^k for g, at x^{k−1} for gOld: y^{k+1} = y^k − β g,
// or y^k − g + (1 − β) gOld in SCSC.
func (m *descent) Step(it *bilevel.Iteration) error {
	beta, err := it.At("Beta", m.Beta, 1)
	if err != nil {
		return err
	}
	alpha := m.Alpha.At(it.K())
	if err := it.UseSteps(alpha, beta, 0); err != nil {
		return err
	}
	o, x, y, yNext, phi := it.Oracle(), it.X(), it.Y(), it.NextY(), it.DrawPhi(0)
	if err := o.GradG(m.g, x, y, phi); err != nil {
		return err
	}
	it.MoveY(beta, m.g)
	if m.corrected && it.K() > 0 {
		if err := o.GradG(m.gOld, m.xOld, y, phi); err != nil {
			return err
		}
		for j, v := range y {
			yNext[j] = v - m.g[j] + (1-beta)*m.gOld[j]
		}
	}
	copy(m.xOld, x)
	if err := it.Finite(m.g, m.gOld); err != nil { // f' is asked for at y^{k+1}
		return err
	}

	if err := o.GradF(m.fx, m.fy, x, yNext, it.DrawXi(0)); err != nil {
		return err
	}
	if err := o.CrossVecG(m.cross, x, y, m.fy, phi); err != nil {
		return err
	}
	copy(m.d, m.fx)
	mat.Axpy(m.d, -1, m.cross)
	it.MoveX(alpha, m.d)
	return nil
}

func (m *descent) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.g)
	visit("g_y at the last iterate", m.gOld)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("g_xy f_y", m.cross)
	visit("the hypergradient", m.d)
}

func (m *descent) State(st *bilevel.State) {
	if m.corrected {
		st.Floats(m.xOld)
	}
}
