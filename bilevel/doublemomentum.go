package bilevel

import (
	"errors"
	"math"
)

// doubleMomentum is the running state of SUSTAIN, MSTSA and MRBO, which differ in the estimator h
// of the hypergradient, and in whether y has a recursion, too. With z^k = (x^k, y^k), and the same
// draws at both points, step k ≥ 1 does
//
//	d_y^k = g_y(z^k; φ) + (1−τ_y)(d_y^{k−1} − g_y(z^{k−1}; φ)),
//	d_x^k = h(z^k; ξ, φ′) + (1−τ_x)(d_x^{k−1} − h(z^{k−1}; ξ, φ′)),
//	y^{k+1} = y^k − β_k d_y^k,   x^{k+1} = P_X(x^k − α_k d_x^k),
//
// STORM (Cutkosky and Orabona, NeurIPS 2019) on both levels. Step 0 has no older point: its
// directions are the plain estimates.
type doubleMomentum struct {
	alpha, beta Schedule
	tauX, tauY  Schedule // tauY nil: no recursion in y, d_y = g_y
	estimate    *hypergradient
	xOld, yOld  []float64 // z^{k−1}
	dx, dy      []float64 // d_x, d_y
	hOld, h     []float64 // h at z^{k−1} and z^k
	gOld, g     []float64
}

// stormWeight is the weight c·α² of the papers for α ~ (k+1)^(−1/3), scaled to be 1 at k = 0.
var stormWeight = Power{C: 1, P: 2.0 / 3}

// checkTaus fills in the default weights, and refuses what is no weight.
func checkTaus(name string, tauX, tauY *Schedule) error {
	if *tauX == nil {
		*tauX = stormWeight
	}
	if *tauY == nil {
		*tauY = stormWeight
	}
	return errors.Join(checkSchedule(name+".TauX", *tauX, 1), checkSchedule(name+".TauY", *tauY, 1))
}

// startMomentum checks the parameters that the methods of this kind share, and makes the memory.
// name is the method's Go name.
func startMomentum(s *Solver, name string, m doubleMomentum) (stepper, error) {
	if err := errors.Join(
		checkSchedule(name+".Alpha", m.alpha, math.MaxFloat64),
		checkSchedule(name+".Beta", m.beta, math.MaxFloat64),
		m.estimate.series.validate(name),
	); err != nil {
		return nil, err
	}
	dx, dy := len(s.x), len(s.y)
	m.xOld, m.dx, m.hOld, m.h = make([]float64, dx), make([]float64, dx), make([]float64, dx), make([]float64, dx)
	m.yOld, m.dy, m.gOld, m.g = make([]float64, dy), make([]float64, dy), make([]float64, dy), make([]float64, dy)
	return &m, nil
}

func (m *doubleMomentum) step(s *Solver) error {
	alpha, beta := m.alpha.At(s.k), m.beta.At(s.k)
	if err := s.useSteps(alpha, beta, 0); err != nil {
		return err
	}
	if err := m.lower(s); err != nil {
		return err
	}
	if err := m.upper(s); err != nil {
		return err
	}
	copy(m.xOld, s.x)
	copy(m.yOld, s.y)

	for i, y := range s.y {
		s.yNext[i] = y - beta*m.dy[i]
	}
	for i, x := range s.x {
		s.xNext[i] = x - alpha*m.dx[i]
	}
	s.opt.Set.Project(s.xNext, s.xNext)
	return nil
}

// lower makes d_y^k.
func (m *doubleMomentum) lower(s *Solver) error {
	phi := s.phi.draw(s.opt.LowerBatch)
	if m.tauY == nil {
		return s.oracle.GradG(m.dy, s.x, s.y, phi)
	}
	tau := m.tauY.At(s.k)
	if err := s.useSteps(0, 0, tau); err != nil {
		return err
	}
	if s.k > 0 {
		if err := s.oracle.GradG(m.gOld, m.xOld, m.yOld, phi); err != nil {
			return err
		}
	}
	if err := s.oracle.GradG(m.g, s.x, s.y, phi); err != nil {
		return err
	}
	recur(m.dy, tau, m.gOld, m.g)
	return nil
}

// upper makes d_x^k.
func (m *doubleMomentum) upper(s *Solver) error {
	tau := m.tauX.At(s.k)
	if err := s.useSteps(0, 0, tau); err != nil {
		return err
	}
	m.estimate.draw(s, s.opt.UpperBatch, s.opt.LowerBatch)
	if s.k > 0 {
		if err := m.estimate.at(m.hOld, s.oracle, m.xOld, m.yOld); err != nil {
			return err
		}
	}
	if err := m.estimate.at(m.h, s.oracle, s.x, s.y); err != nil {
		return err
	}
	recur(m.dx, tau, m.hOld, m.h)
	return nil
}

// recur sets d ← now + (1−τ)(d − old). Before step 0, d and old are 0, which gives d = now there.
func recur(d []float64, tau float64, old, now []float64) {
	for i := range d {
		d[i] = now[i] + (1-tau)*(d[i]-old[i])
	}
}

// persist visits what outlives a step.
func (m *doubleMomentum) persist(t *state) { t.floats(m.xOld, m.yOld, m.dx, m.dy) }

// parts names the vectors of the last step for the search of a non-finite value.
func (m *doubleMomentum) parts(visit func(name string, v []float64)) {
	visit("g_y at the last iterate", m.gOld)
	visit("g_y", m.g)
	visit("the direction of y (g_y)", m.dy)
	visit("the hypergradient at the last iterate", m.hOld)
	m.estimate.parts(visit)
	visit("the direction of x", m.dx)
}
