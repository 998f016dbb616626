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
// The first change is that from x^k to x^{k+1}; the last is left out before a reset. h is the
// truncated sum (B), see [Neumann]. The paper counts m+1 inner steps.
type VRBO struct {
	// Step sizes of x and of an inner step of y. Required. The paper's are constant.
	Alpha, Beta bilevel.Schedule

	// Period ≥ 1 is the paper's q. Default 10.
	Period int

	// Inner is m ≥ 1. Default 10.
	Inner int

	// LargeBatch is S_1 ≥ 1, or Full. Default: Period batches of a stream; Full where these are.
	LargeBatch int

	// (B); LG is required.
	Neumann Neumann
}

func (VRBO) Name() string { return "VRBO" }

type vrbo struct {
	VRBO
	*memory
	estimate          hypergradient
	u, v              []float64
	yOld              []float64 // y of z⁻ inside the inner loop
	hOld, h, gOld, g  []float64
	largeXi, largePhi int
}

func (m VRBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(
		checkSteps("VRBO", m.Alpha, m.Beta),
		count("VRBO.Period", &m.Period, 10),
		count("VRBO.Inner", &m.Inner, 10),
		m.Neumann.check("VRBO"),
	)
	upper, lower := it.Batches()
	mem := newMemory(it)
	r := &vrbo{VRBO: m, memory: mem, largeXi: m.large(upper), largePhi: m.large(lower), yOld: mem.y(""), h: mem.x(""),
		gOld: mem.y("g_y at the last point"), g: mem.y("g_y"), v: mem.y("the direction of y (g_y)"),
		hOld: mem.x("the hypergradient at the last point"), estimate: hypergradient{series: m.Neumann}}
	r.estimate.start(mem)
	r.u = mem.x("the direction of x")
	return r, errors.Join(err, option.Batch("VRBO.LargeBatch", r.largeXi))
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
	s := m.begin(it)
	alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
	s.UseSteps(alpha, 0, 0)
	if it.K()%m.Period == 0 {
		s.GradG(m.v, it.X(), it.Y(), s.DrawPhi(m.largePhi))
		m.estimate.draw(s, m.largeXi, m.largePhi)
		m.estimate.at(s, m.u, it.X(), it.Y())
		s.Finite(m.u, m.v)
	}

	// x^{k+1} = P_X(x^k − αu).
	s.MoveX(alpha, m.u)

	m.addChange(s, it.X(), it.Y())
	for t := 1; t <= m.Inner; t++ {
		copy(m.yOld, it.NextY())
		s.InnerStep(beta, m.v)
		if t < m.Inner || (it.K()+1)%m.Period != 0 {
			m.addChange(s, it.NextX(), m.yOld)
		}
	}
	return s.err
}

// addChange adds to u and v their change from (xOld, yOld) to (NextX, NextY).
func (m *vrbo) addChange(s *step, xOld, yOld []float64) {
	x, y, phi := s.NextX(), s.NextY(), s.DrawPhi(0)
	s.GradG(m.gOld, xOld, yOld, phi)
	s.GradG(m.g, x, y, phi)
	mat.RecurVec(m.v, 0, m.gOld, m.g)

	m.estimate.draw(s, 0, 0)
	m.estimate.at(s, m.hOld, xOld, yOld)
	m.estimate.at(s, m.h, x, y)
	mat.RecurVec(m.u, 0, m.hOld, m.h)
	s.Finite(m.u, m.v)
}

func (m *vrbo) State(t *bilevel.State) { t.Floats(m.u, m.v) }
