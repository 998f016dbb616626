package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// AmIGO is the method of Arbel and Mairal (Amortized Implicit Differentiation for Stochastic
// Bilevel Optimization, ICLR 2022): T steps of SGD on y and T on v ≈ −g_yy⁻¹f_y, both warm started,
// then one of x,
//
//	y^{k,t+1} = y^{k,t} − β_k g_y(x^k, y^{k,t}; φ_t),                          y^{k+1} = y^{k,T},
//	v^{k,t+1} = v^{k,t} − γ_k (g_yy(x^k, y^{k+1}; φ′_t) v^{k,t} + f_y(x^k, y^{k+1}; ξ)),
//	x^{k+1} = P_X(x^k − α_k (f_x + g_xy(·; φ″) v^{k+1})),                     at (x^k, y^{k+1}; ξ).
//
// Samples per step: ξ one batch, φ 2T + 1. Oracles: GradF 1, GradG T, HessVecG T, CrossVecG 1.
// Other cost: O(dx + T·dy).
type AmIGO struct {
	// Step sizes of x and y, ≥ 0. Required. The paper's are constant.
	Alpha, Beta bilevel.Schedule

	// Step size of v, ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Inner is T ≥ 1. Default 10.
	Inner int
}

func (AmIGO) Name() string { return "AmIGO" }

type amigo struct {
	AmIGO
	v          []float64
	gy, hv, fy []float64
	fx, cv     []float64
}

func (m AmIGO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if m.Gamma == nil {
		m.Gamma = m.Beta
	}
	option.Default(&m.Inner, 10)
	if err := errors.Join(
		checkSteps("AmIGO", m.Alpha, m.Beta),
		option.Schedule("AmIGO.Gamma", m.Gamma, anyStep),
		option.AtLeast("AmIGO.Inner", m.Inner, 1),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	r := &amigo{AmIGO: m}
	vectors(dx, &r.fx, &r.cv)
	vectors(dy, &r.v, &r.gy, &r.hv, &r.fy)
	return r, nil
}

func (m *amigo) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	if err := it.UseSteps(alpha, 0, 0); err != nil {
		return err
	}
	gamma, err := it.At("Gamma", m.Gamma, anyStep)
	if err != nil {
		return err
	}
	o, x, y := it.Oracle(), it.X(), it.NextY()
	for range m.Inner {
		if err := o.GradG(m.gy, x, y, it.DrawPhi(0)); err != nil {
			return err
		}
		if err := errors.Join(it.InnerStep(beta, m.gy), it.Finite(y)); err != nil {
			return err
		}
	}
	if err := o.GradF(m.fx, m.fy, x, y, it.DrawXi(0)); err != nil {
		return err
	}
	for range m.Inner {
		if err := o.HessVecG(m.hv, x, y, m.v, it.DrawPhi(0)); err != nil {
			return err
		}
		square := 0.0
		for j := range m.v {
			d := m.hv[j] + m.fy[j]
			m.v[j] -= gamma * d
			square += d * d
		}
		it.Watch(math.Sqrt(square))
	}
	if err := o.CrossVecG(m.cv, x, y, m.v, it.DrawPhi(0)); err != nil {
		return err
	}
	mat.Axpy(m.cv, 1, m.fx)
	it.MoveX(alpha, m.cv)
	return nil
}

func (m *amigo) State(t *bilevel.State) { t.Floats(m.v) }

func (m *amigo) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("g_yy v", m.hv)
	visit("v", m.v)
	visit("f_x + g_xy v", m.cv)
}
