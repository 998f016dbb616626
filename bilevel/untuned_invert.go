package bilevel

import (
	"fmt"
	"math"

	"stable/eig"
	"stable/mat"
)

// raise sets H to H_yy with its eigenvalues raised to a floor. It truncates a copy: a floor that is
// too high would be fed back if the recursion carried it.
//
// Noise moves the eigenvalues of H_yy by about σ, so smaller ones tell nothing, and the floor is of
// that size. Noise that is relative, as that of sums of squares is, leaves small eigenvalues alone:
// it is κ_g·P/S of H itself, and where that is below 1 it lowers the floor as much. μ_g raises the
// floor, to 3σ at most, so that a μ_g that is too large counts less as noise falls.
func (m *untuned) raise(it *Iteration) error {
	sigma := m.sigma()
	relative := min(1, quotient(m.kappaG*m.gyy.p, m.gyy.s))
	least := 0x1p-50 * float64(m.dy) * m.normYY
	floor := max(sigma*relative, min(m.MuG, 3*sigma), least)
	// At step 0 the noise of a single sample is not known, and an exact value has none.
	if m.Ablate&AblateFloor != 0 || it.K() == 0 && !(m.gyy.s > 0) {
		floor = max(m.MuG, least)
	}
	r, err := m.truncate(floor)
	if err != nil {
		return err
	}
	weight := newest(it.K())
	m.clipped -= weight * m.clipped
	m.inf.below -= weight * m.inf.below
	if r.Clipped > 0 {
		m.clipped += weight
		it.Activity().Truncated++
		if r.MinEigenvalue < -max(3*sigma, least) {
			m.inf.below += weight
		}
	}
	if replaysAt(it.K()) {
		told := almost*m.MuG - 3*sigma
		m.inf.mu = told > 0 && !(m.bound.least >= told+room(m.yy, told)) && !m.look.PosDef(m.yy, told)
	}
	return nil
}

// truncate sets H to H_yy with its eigenvalues raised to floor > 0. A Cholesky factorisation proves
// that there is nothing to raise. It is not needed where a lower bound of the eigenvalues from an
// earlier step, less what H_yy has moved since, is far enough above the floor. Leaving it out
// changes no bit; see modulus.
func (m *untuned) truncate(floor float64) (eig.Report, error) {
	b, space := &m.bound, room(m.yy, floor)
	b.loss = m.movedYY + 0x1p-50*m.normYY
	b.least -= b.loss
	if !math.IsInf(space, 1) && !b.pause() {
		if b.least >= floor+space || b.raise(&m.invert, m.yy, floor, space) {
			if m.invert.Accept(m.yy, floor) == nil {
				mat.CopySym(m.hp, m.yy)
				return eig.Report{MinEigenvalue: floor, Route: eig.RouteClear}, nil
			}
		}
	}
	b.least = math.Inf(-1)
	return m.invert.Truncate(m.hp, m.yy, floor)
}

// solve sets dst = H⁻¹b.
func (m *untuned) solve(dst, b []float64) error {
	if err := m.invert.SolveVec(dst, b); err != nil {
		return singular(err)
	}
	return nil
}

func singular(err error) error {
	return fmt.Errorf("bilevel: H_yy is singular to working precision: %w", err)
}
