package bilevel

import (
	"math"

	"stable/bilevel/option"
)

// closing counts the steps in a row at whose looks the method said that at most a gap is left.
type closing struct {
	gap    float64
	window int
	since  int // the first look in a row at which it said so, in steps of the run; 0: none
}

// newClosing returns nil where Run.Gap is no rule of the run, and an error where the method does
// not tell how much is left.
func newClosing(s *Solver, r Run) (*closing, error) {
	if r.Gap == 0 {
		return nil, nil
	}
	h, ok := s.it.stepper.(HealthReporter)
	if !ok || math.IsNaN(h.Health().Gap) {
		return nil, option.Bad("Run.Gap is %v, but %s does not tell how much of F − F* is left here",
			r.Gap, s.it.method.Name())
	}
	return &closing{gap: r.Gap, window: r.window()}, nil
}

// looksAt says whether health is looked at after k steps: 64 times while k doubles.
func looksAt(k int) bool {
	every := 1
	for ; k/every >= 128; every *= 2 {
	}
	return k%every == 0
}

// reached looks at the step just done, the done-th of the run, and says whether it completes a
// window.
func (c *closing) reached(s *Solver, done int) bool {
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
