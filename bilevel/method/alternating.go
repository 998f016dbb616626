package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// alternating is the running state of BSA, TTSA, stocBiO and ALSET, which differ in the number t_k
// of inner steps, in the step sizes, and in the estimator of h.
type alternating struct {
	name        string // the Go name
	alpha, beta bilevel.Schedule
	inner       bilevel.Schedule // t_k = ⌈inner⌉
	byInner     bool             // β is the schedule at the inner step t, otherwise at the step k
	estimate    *hypergradient
	gy, h       []float64
}

const maxInner = 1 << 30

func startAlternating(it *bilevel.Iteration, name string, m alternating) (bilevel.Stepper, error) {
	if err := errors.Join(
		checkSteps(name, m.alpha, m.beta),
		m.estimate.series.validate(name),
	); err != nil {
		return nil, err
	}
	if n := m.inner.At(0); !(n > 0 && n <= maxInner) {
		return nil, option.Bad("%s.Inner at step 0 is %v, want a number in (0, %d]", name, n, maxInner)
	}
	m.name = name
	dx, dy := it.Dims()
	vectors(dx, &m.h)
	vectors(dy, &m.gy)
	return &m, nil
}

func (m *alternating) Step(it *bilevel.Iteration) error {
	if err := m.lower(it); err != nil {
		return err
	}

	alpha := m.alpha.At(it.K())
	if err := it.UseSteps(alpha, 0, 0); err != nil {
		return err
	}
	m.estimate.draw(it, 0, 0)
	if err := m.estimate.at(m.h, it.Oracle(), it.X(), it.NextY()); err != nil {
		return err
	}
	it.MoveX(alpha, m.h)
	return nil
}

func (m *alternating) lower(it *bilevel.Iteration) error {
	n := math.Ceil(m.inner.At(it.K()))
	if !(n >= 1 && n <= maxInner) {
		return option.Bad("%s: number of inner steps at step %d is %v, want a number in [1, %d]",
			m.name, it.K(), n, maxInner)
	}
	for t := range int(n) {
		beta := m.beta.At(it.K())
		if m.byInner {
			beta = m.beta.At(t)
		}
		if err := it.Oracle().GradG(m.gy, it.X(), it.NextY(), it.DrawPhi(0)); err != nil {
			return err
		}
		if err := it.Finite(m.gy); err != nil {
			return err
		}
		if err := it.InnerStep(beta, m.gy); err != nil {
			return err
		}
	}
	return nil
}

func (m *alternating) State(*bilevel.State) {}

func (m *alternating) Vectors(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	m.estimate.Vectors(visit)
	visit("the hypergradient", m.h)
}
