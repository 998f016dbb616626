package bilevel_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
)

// Loopless moves y, v ≈ g_yy⁻¹f_y, and x along a mean d of hypergradients:
//
//	y ← y − βg_y,  v ← v − β(g_yy v − f_y),  d ← wd + (1−w)(f_x − g_xy v),  x ← P_X(x − αd).
type Loopless struct {
	Alpha, Beta bilevel.Schedule // step sizes of x, and of y and v. Required, ≥ 0
	Past        float64          // w in (0, 1), the weight of the past in d. Default 0.9
}

func (Loopless) Name() string { return "Loopless" }

func (m Loopless) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Past, 0.9)
	if err := errors.Join(
		option.Schedule("Loopless.Alpha", m.Alpha, math.Inf(1)), // finite and ≥ 0
		option.Schedule("Loopless.Beta", m.Beta, math.Inf(1)),
		option.Share("Loopless.Past", m.Past),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &loopless{
		Loopless: m, v: vec(dy), d: vec(dx),
		fx: vec(dx), fy: vec(dy), gy: vec(dy), gyyv: vec(dy), gxyv: vec(dx),
	}, nil
}

type loopless struct {
	Loopless
	fx, fy, gy, gyyv, gxyv []float64
	v, d                   []float64 // these two outlive a step
}

func (m *loopless) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	o, x, y, phi := it.Oracle(), it.X(), it.Y(), it.DrawPhi(0)
	if err := errors.Join(
		it.UseSteps(alpha, beta, 0),
		o.GradG(m.gy, x, y, phi),
		o.GradF(m.fx, m.fy, x, y, it.DrawXi(0)),
		o.HessVecG(m.gyyv, x, y, m.v, phi),
		o.CrossVecG(m.gxyv, x, y, m.v, phi),
	); err != nil {
		return err
	}
	for i, fx := range m.fx {
		m.d[i] += (1 - m.Past) * (fx - m.gxyv[i] - m.d[i])
	}
	for j, fy := range m.fy {
		m.v[j] -= beta * (m.gyyv[j] - fy)
	}
	it.MoveX(alpha, m.d)
	it.MoveY(beta, m.gy)
	return nil
}

func (m *loopless) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("g_yy v", m.gyyv)
	visit("g_xy v", m.gxyv)
	visit("d", m.d)
	visit("v", m.v)
}

func (m *loopless) State(st *bilevel.State) { st.Floats(m.v, m.d) }

// A method of one's own keeps the rules of Method, and converges with constant step sizes where there
// is no noise.
func ExampleMethod() {
	mine := Loopless{Alpha: bilevel.Constant(0.02), Beta: bilevel.Constant(0.05), Past: 0.5}
	fmt.Println("breaks a rule:", check.Method(mine, check.MethodOptions{}))

	p, err := quadratic.New(quadratic.Options{Seed: 1})
	if err != nil {
		panic(err)
	}
	s, err := bilevel.New(p, mine, bilevel.Options{Seed: 7})
	if err != nil {
		panic(err)
	}
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 5000})
	if err != nil {
		panic(err)
	}
	_, least := p.Optimum()
	f, err := p.Objective(nil, r.X)
	fmt.Println("converges:", f-least < 1e-12, err)
	// Output:
	// breaks a rule: <nil>
	// converges: true <nil>
}
