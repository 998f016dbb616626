package hyperopt

import (
	"errors"
	"fmt"
	"math"

	"stable/mat"
)

// Minimum is what Minimise found.
type Minimum struct {
	X, Y []float64 // x* and y*(x*)
	F    float64   // F(x*)

	// ProjGrad is ‖x* − P(x* − ∇F(x*))‖₂, P the projection onto the box: 0 at a stationary point.
	ProjGrad float64

	Iterations int // of the start that led to it
}

// ErrNoMinimum is wrapped by Minimise's error at its cap of iterations.
var ErrNoMinimum = errors.New("hyperopt: Minimise did not converge")

const maxOuter = 500 // iterations from one start

// Minimise returns the best local minimum of F over the box reached from the given points,
// projected onto it, or by default from four: uniform weights at the low end, the middle and the
// high end, and the best of twenty. F is not convex; several starts make the least value likely,
// not certain. F is accurate to about 1e-14 of its size.
//
// Errors: those of Objective; ErrNoMinimum; errors.ErrUnsupported with PerRow. It panics if a start
// is not of length dx. Memory O(d²); an iteration costs a few passes over the data and O(d³).
//
// # How it works
//
// Newton's method with a trust region, in u = log(2·reg): the exact Hessian on the variables off
// their bounds, negative eigenvalues turned positive, gives a convex quadratic that is minimised
// over the box and |Δu_i| ≤ Δ (Conn, Gould, Toint, Trust-Region Methods, 2000, chapters 6 and 12).
// It ends when F no longer falls and the projected gradient no longer halves.
func (p *Problem) Minimise(starts ...[]float64) (*Minimum, error) {
	if p.of == nil {
		return nil, fmt.Errorf("hyperopt: Minimise finds weights of features, not of rows: %w", errors.ErrUnsupported)
	}
	if len(starts) == 0 {
		s, err := p.starts()
		if err != nil {
			return nil, err
		}
		starts = s
	}
	return (&Folds{Problems: []*Problem{p}}).Minimise(starts...)
}

func (p *Problem) starts() ([][]float64, error) {
	lo, hi := p.ridge(p.opt.Lo)/2, p.ridge(p.opt.Hi)/2
	grid, err := p.GridSearch(Geometric(lo, hi, 20))
	if err != nil {
		return nil, err
	}
	lambdas := []float64{lo, p.middle(), hi}
	if best := grid[Best(grid)].Lambda; best != lo && best != hi {
		lambdas = append(lambdas, best)
	}
	var points [][]float64
	for _, lambda := range lambdas {
		x := make([]float64, p.dx)
		p.Uniform(x, lambda)
		points = append(points, x)
	}
	return points, nil
}

// projGrad returns ‖x − P(x − grad)‖₂; work is scratch.
func (p *Problem) projGrad(work, x, grad []float64) float64 {
	work = work[:len(x)]
	for i, xi := range x {
		work[i] = xi - p.clip(xi-grad[i])
	}
	return mat.Norm(work)
}

func (p *Problem) clip(v float64) float64 { return min(max(v, p.opt.Lo), p.opt.Hi) }

func (s *descent) begin() error {
	if err := s.evaluate(); err != nil {
		return err
	}
	s.at, s.trial = s.trial, s.at
	s.radius = 2 // a weight changes by a factor of e² at most
	s.moved = true
	return nil
}

// run iterates from the current point to a minimum, left in at, or until goOn is false.
func (s *descent) run(goOn func() bool) error {
	for ; s.iterations < maxOuter && s.at.proj > 0; s.iterations++ {
		if !goOn() {
			return nil
		}
		if s.moved {
			if err := s.model(); err != nil {
				return err
			}
		}
		predicted := s.propose()
		if err := s.evaluate(); err != nil {
			return err
		}
		fall := s.at.f - s.trial.f
		rounding := 1e-14 * math.Abs(s.at.f)
		if predicted <= rounding { // F has nothing left to show: go by the projected gradient
			last := s.trial.proj > s.at.proj/2
			if s.trial.proj < s.at.proj && fall >= -rounding {
				s.at, s.trial = s.trial, s.at
			} else {
				last = true
			}
			if last {
				return nil
			}
			s.moved = true
			continue
		}
		switch {
		case !(fall >= 0.25*predicted):
			s.radius = s.longest / 4
		case fall >= 0.75*predicted && s.longest >= 0.99*s.radius:
			s.radius *= 2
		}
		if s.moved = fall > 1e-4*predicted; s.moved {
			s.at, s.trial = s.trial, s.at
		}
	}
	if s.at.proj > 0 {
		return fmt.Errorf("%w in %d iterations: the projected gradient is %.3g", ErrNoMinimum, maxOuter, s.at.proj)
	}
	return nil
}
