package bilevel

import (
	"math"
	"slices"

	"stable/bilevel/option"
	"stable/mat"
)

type tolRule struct {
	tol    float64
	window int
	steps  int
	dx, dy []float64
	x, y   []float64
}

// newTolRule returns nil where tol is 0.
func newTolRule(s *Solver, tol float64, window int) *tolRule {
	if tol == 0 {
		return nil
	}
	return &tolRule{
		tol: tol, window: window, x: slices.Clone(s.it.x), y: slices.Clone(s.it.y),
		dx: make([]float64, len(s.it.x)), dy: make([]float64, len(s.it.y)),
	}
}

// met says whether the last step completes a window.
func (q *tolRule) met(s *Solver) bool {
	if s.it.alpha == 0 && s.it.beta == 0 && slices.Equal(q.x, s.it.x) && slices.Equal(q.y, s.it.y) {
		return false
	}
	x := movedLess(q.dx, q.x, s.it.x, q.tol*s.it.alpha)
	y := movedLess(q.dy, q.y, s.it.y, q.tol*s.it.beta) && s.it.longest < q.tol
	if q.steps++; !x || !y {
		q.steps = 0
	}
	return q.steps >= q.window
}

// movedLess reports ‖now − old‖ + eps·‖now‖ < bound, and sets old to now. d is scratch.
func movedLess(d, old, now []float64, bound float64) bool {
	copy(d, now)
	mat.Axpy(d, -1, old)
	copy(old, now)
	return mat.Norm(d)+0x1p-52*mat.Norm(now) < bound
}

type gapRule struct {
	gap    float64
	window int
	since  int // the first look of a row, in steps of the run; 0: none
}

// newGapRule returns nil where gap is 0, an error where the method makes no estimate.
func newGapRule(s *Solver, gap float64, window int) (*gapRule, error) {
	if gap == 0 {
		return nil, nil
	}
	h, ok := s.stepper.(HealthReporter)
	if !ok || math.IsNaN(h.Health().Gap) {
		return nil, option.Bad("Run.Gap is %v, but %s does not tell how much of F − F* is left here", gap, s.it.name)
	}
	return &gapRule{gap: gap, window: window}, nil
}

// looksAt is true 64 times while k doubles.
func looksAt(k int) bool {
	every := 1
	for ; k/every >= 128; every *= 2 {
	}
	return k%every == 0
}

// met says whether the last step, the done-th of the run, completes a window.
func (c *gapRule) met(s *Solver, done int) bool {
	if !looksAt(s.it.k) {
		return false
	}
	if h, _ := s.Health(); !(h.Gap <= c.gap) {
		c.since = 0
		return false
	}
	if c.since == 0 {
		c.since = done
	}
	return done-c.since >= c.window-1
}
