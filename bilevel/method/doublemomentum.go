package method

import (
	"errors"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// doubleMomentum is the running state of SUSTAIN, MSTSA and MRBO: STORM (Cutkosky and Orabona,
// NeurIPS 2019) on one level or both. They differ in the estimator h, and in whether y has a
// recursion.
type doubleMomentum struct {
	alpha, beta bilevel.Schedule
	tauX, tauY  bilevel.Schedule // tauY nil: no recursion in y, d_y = g_y
	estimate    *hypergradient
	xOld, yOld  []float64 // z^{k−1}
	dx, dy      []float64 // d_x, d_y
	hOld, h     []float64 // h at z^{k−1} and z^k
	gOld, g     []float64
}

// stormWeight is the weight c·α² of the papers for α ~ (k+1)^(−1/3), scaled to be 1 at k = 0.
var stormWeight = bilevel.Power{C: 1, P: 2.0 / 3}

// checkTaus fills in the default weights, and refuses those outside of [0, 1].
func checkTaus(name string, tauX, tauY *bilevel.Schedule) error {
	if *tauX == nil {
		*tauX = stormWeight
	}
	if *tauY == nil {
		*tauY = stormWeight
	}
	return errors.Join(option.Schedule(name+".TauX", *tauX, 1), option.Schedule(name+".TauY", *tauY, 1))
}

func startMomentum(it *bilevel.Iteration, name string, m doubleMomentum) (bilevel.Stepper, error) {
	if err := errors.Join(
		checkSteps(name, m.alpha, m.beta),
		m.estimate.series.validate(name),
	); err != nil {
		return nil, err
	}
	dx, dy := it.Dims()
	vectors(dx, &m.xOld, &m.dx, &m.hOld, &m.h)
	vectors(dy, &m.yOld, &m.dy, &m.gOld, &m.g)
	return &m, nil
}

func (m *doubleMomentum) Step(it *bilevel.Iteration) error {
	alpha, beta := m.alpha.At(it.K()), m.beta.At(it.K())
	if err := it.UseSteps(alpha, beta, 0); err != nil {
		return err
	}
	if err := m.lower(it); err != nil {
		return err
	}
	if err := m.upper(it); err != nil {
		return err
	}
	copy(m.xOld, it.X())
	copy(m.yOld, it.Y())

	it.MoveY(beta, m.dy)
	it.MoveX(alpha, m.dx)
	return nil
}

// lower computes d_y^k.
func (m *doubleMomentum) lower(it *bilevel.Iteration) error {
	phi := it.DrawPhi(0)
	if m.tauY == nil {
		return it.Oracle().GradG(m.dy, it.X(), it.Y(), phi)
	}
	tau := m.tauY.At(it.K())
	if err := it.UseSteps(0, 0, tau); err != nil {
		return err
	}
	if it.K() > 0 {
		if err := it.Oracle().GradG(m.gOld, m.xOld, m.yOld, phi); err != nil {
			return err
		}
	}
	if err := it.Oracle().GradG(m.g, it.X(), it.Y(), phi); err != nil {
		return err
	}
	mat.RecurVec(m.dy, tau, m.gOld, m.g)
	return nil
}

// upper computes d_x^k.
func (m *doubleMomentum) upper(it *bilevel.Iteration) error {
	tau := m.tauX.At(it.K())
	if err := it.UseSteps(0, 0, tau); err != nil {
		return err
	}
	m.estimate.draw(it, 0, 0)
	if it.K() > 0 {
		if err := m.estimate.at(m.hOld, it.Oracle(), m.xOld, m.yOld); err != nil {
			return err
		}
	}
	if err := m.estimate.at(m.h, it.Oracle(), it.X(), it.Y()); err != nil {
		return err
	}
	mat.RecurVec(m.dx, tau, m.hOld, m.h)
	return nil
}

func (m *doubleMomentum) State(t *bilevel.State) { t.Floats(m.xOld, m.yOld, m.dx, m.dy) }

func (m *doubleMomentum) Vectors(visit func(name string, v []float64)) {
	visit("g_y at the last iterate", m.gOld)
	visit("g_y", m.g)
	visit("the direction of y (g_y)", m.dy)
	visit("the hypergradient at the last iterate", m.hOld)
	m.estimate.Vectors(visit)
	visit("the direction of x", m.dx)
}
