package bilevel

import (
	"errors"
	"math"

	"stable/mat"
)

// alternating is the running state of BSA, TTSA, stocBiO and ALSET, which differ in the number t_k
// of inner steps, in the step sizes, and in the estimator of the hypergradient h. Step k does
//
//	y^{k,0} = y^k,   y^{k,t+1} = y^{k,t} − β g_y(x^k, y^{k,t}; φ^{k,t}) for t < t_k,   y^{k+1} = y^{k,t_k},
//	x^{k+1} = P_X(x^k − α_k h),   h at (x^k, y^{k+1}),
//
// with a batch of φ for each inner step, and independent ones for h.
type alternating struct {
	alpha, beta Schedule
	inner       Schedule // t_k = ⌈inner⌉
	byInner     bool     // β is the schedule at the inner step t, otherwise at the step k
	estimate    *hypergradient
	gy, h       []float64
}

// maxInner bounds t_k, so that it is an int everywhere.
const maxInner = 1 << 30

// startAlternating checks the parameters that the methods of this kind share, and makes the memory.
// name is the method's Go name.
func startAlternating(s *Solver, name string, m alternating) (stepper, error) {
	if err := errors.Join(
		checkSchedule(name+".Alpha", m.alpha, math.MaxFloat64),
		checkSchedule(name+".Beta", m.beta, math.MaxFloat64),
		m.estimate.series.validate(name),
	); err != nil {
		return nil, err
	}
	if n := m.inner.At(0); !(n > 0 && n <= maxInner) {
		return nil, badOption("%s.Inner at step 0 is %v, want a number in (0, %d]", name, n, maxInner)
	}
	m.gy, m.h = make([]float64, len(s.y)), make([]float64, len(s.x))
	return &m, nil
}

func (m *alternating) step(s *Solver) error {
	if err := m.lower(s); err != nil {
		return err
	}

	// x^{k+1} = P_X(x^k − α_k h), at the y just made.
	alpha := m.alpha.At(s.k)
	if err := s.useSteps(alpha, 0, 0); err != nil {
		return err
	}
	m.estimate.draw(s, s.opt.UpperBatch, s.opt.LowerBatch)
	if err := m.estimate.at(m.h, s.oracle, s.x, s.yNext); err != nil {
		return err
	}
	for i, x := range s.x {
		s.xNext[i] = x - alpha*m.h[i]
	}
	s.opt.Set.Project(s.xNext, s.xNext)
	return nil
}

// lower does the t_k inner steps, y^{k+1} = y^{k,t_k}.
func (m *alternating) lower(s *Solver) error {
	n := math.Ceil(m.inner.At(s.k))
	if !(n >= 1 && n <= maxInner) {
		return badOption("%s: number of inner steps at step %d is %v, want a number in [1, %d]", s.method.Name(), s.k, n, maxInner)
	}
	copy(s.yNext, s.y)
	for t := range int(n) {
		beta := m.beta.At(s.k)
		if m.byInner {
			beta = m.beta.At(t)
		}
		if err := s.useSteps(0, beta, 0); err != nil {
			return err
		}
		if err := s.oracle.GradG(m.gy, s.x, s.yNext, s.phi.draw(s.opt.LowerBatch)); err != nil {
			return err
		}
		if notFinite(m.gy) >= 0 { // the problem is not asked at a point that is no point
			return blame(s, m)
		}
		mat.Axpy(s.yNext, -beta, m.gy)
	}
	return nil
}

// persist: no memory outlives a step but x and y.
func (m *alternating) persist(*state) {}

// parts names the vectors of the last step for the search of a non-finite value; of the inner
// steps, the last one's.
func (m *alternating) parts(visit func(name string, v []float64)) {
	visit("g_y", m.gy)
	m.estimate.parts(visit)
	visit("the hypergradient", m.h)
}
