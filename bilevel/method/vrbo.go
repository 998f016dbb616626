package method

import (
	"errors"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// VRBO is Algorithm 2 of Yang, Ji and Liang (NeurIPS 2021, arXiv 2106.04692): SPIDER on both levels,
// with directions u of x and v of y. Every Period steps, large batches reset them,
//
//	u = h(x^k, y^k; ξ, φ′),   v = g_y(x^k, y^k; φ),   S_1 samples in each batch.
//
// Step k moves x first, x^{k+1} = P_X(x^k − αu), and then y m times. Before each inner step, and
// after the last, the directions follow the change of the point from z⁻ to z, on the same batches,
//
//	v ← v + g_y(z; φ) − g_y(z⁻; φ),   u ← u + h(z; ξ, φ′) − h(z⁻; ξ, φ′);   then y ← y − βv.
//
// The first change is that of x, from (x^k, y^k) to (x^{k+1}, y^k). The last ends at (x^{k+1},
// y^{k+1}), and is left out where the next step resets the directions. h is the truncated sum (B),
// see [Neumann]. The paper counts m+1 inner steps.
//
// Samples per step, with Q = N−1 and M = m+1 changes, or m before a reset: ξ M batches; φ M(2 + Q).
// Oracles: GradF 2M, GradG 2M, HessVecG 2MQ, CrossVecG 2M. A reset calls each once more, on ξ S_1
// and φ S_1(2 + Q) samples.
type VRBO struct {
	// Step sizes of x and of an inner step of y, taken at k, ≥ 0. Required. The paper's are
	// constant.
	Alpha, Beta bilevel.Schedule

	// Period is q ≥ 1, the number of steps between large batches. Default 10.
	Period int

	// Inner is m ≥ 1, the number of inner steps. Default 10.
	Inner int

	// LargeBatch is S_1 ≥ 1, or Full. Default: Period batches of each stream; Full where these are.
	LargeBatch int

	// Neumann is (B); LG is required: η = 1/LG, Q = N−1.
	Neumann Neumann
}

func (VRBO) Name() string { return "VRBO" }

type vrbo struct {
	VRBO
	estimate *hypergradient
	u, v     []float64
	yOld     []float64 // y of z⁻ inside the inner loop
	hOld, h  []float64
	gOld, g  []float64

	largeUpper, largeLower int
}

func (m VRBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.Period, 10)
	option.Default(&m.Inner, 10)
	upper, lower := it.Batches()
	upper, lower = m.large(upper), m.large(lower)
	if err := errors.Join(
		checkSteps("VRBO", m.Alpha, m.Beta),
		option.AtLeast("VRBO.Period", m.Period, 1),
		option.AtLeast("VRBO.Inner", m.Inner, 1),
		option.Batch("VRBO.LargeBatch", upper),
		m.Neumann.validate("VRBO"),
	); err != nil {
		return nil, err
	}
	r := &vrbo{VRBO: m, estimate: newHypergradient(it, m.Neumann, false), largeUpper: upper, largeLower: lower}
	dx, dy := it.Dims()
	vectors(dx, &r.u, &r.hOld, &r.h)
	vectors(dy, &r.v, &r.gOld, &r.g, &r.yOld)
	return r, nil
}

// large is S_1 for a stream with small batches of the given size.
func (m VRBO) large(small int) int {
	switch {
	case m.LargeBatch != 0:
		return m.LargeBatch
	case small == bilevel.Full:
		return bilevel.Full
	}
	return m.Period * small
}

func (m *vrbo) Step(it *bilevel.Iteration) error {
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	if err := it.UseSteps(alpha, 0, 0); err != nil {
		return err
	}
	if it.K()%m.Period == 0 {
		if err := m.anew(it); err != nil {
			return err
		}
	}

	// x^{k+1} = P_X(x^k − αu).
	it.MoveX(alpha, m.u)

	if err := m.addChange(it, it.X(), it.Y()); err != nil {
		return err
	}
	for t := 1; t <= m.Inner; t++ {
		copy(m.yOld, it.NextY())
		if err := it.InnerStep(beta, m.v); err != nil {
			return err
		}
		if t == m.Inner && (it.K()+1)%m.Period == 0 {
			break
		}
		if err := m.addChange(it, it.NextX(), m.yOld); err != nil {
			return err
		}
	}
	return nil
}

// anew resets u and v from large batches at (x^k, y^k).
func (m *vrbo) anew(it *bilevel.Iteration) error {
	if err := it.Oracle().GradG(m.v, it.X(), it.Y(), it.DrawPhi(m.largeLower)); err != nil {
		return err
	}
	m.estimate.draw(it, m.largeUpper, m.largeLower)
	if err := m.estimate.at(m.u, it.Oracle(), it.X(), it.Y()); err != nil {
		return err
	}
	return it.Finite(m.u, m.v)
}

// addChange adds to u and v their change from (xOld, yOld) to the point in xNext, yNext.
func (m *vrbo) addChange(it *bilevel.Iteration, xOld, yOld []float64) error {
	o, x, y, phi := it.Oracle(), it.NextX(), it.NextY(), it.DrawPhi(0)
	if err := errors.Join(o.GradG(m.gOld, xOld, yOld, phi), o.GradG(m.g, x, y, phi)); err != nil {
		return err
	}
	mat.RecurVec(m.v, 0, m.gOld, m.g)

	m.estimate.draw(it, 0, 0)
	if err := errors.Join(m.estimate.at(m.hOld, o, xOld, yOld), m.estimate.at(m.h, o, x, y)); err != nil {
		return err
	}
	mat.RecurVec(m.u, 0, m.hOld, m.h)
	return it.Finite(m.u, m.v)
}

func (m *vrbo) State(t *bilevel.State) { t.Floats(m.u, m.v) }

func (m *vrbo) Vectors(visit func(name string, v []float64)) {
	visit("g_y at the last point", m.gOld)
	visit("g_y", m.g)
	visit("the direction of y (g_y)", m.v)
	visit("the hypergradient at the last point", m.hOld)
	m.estimate.Vectors(visit)
	visit("the direction of x", m.u)
}
