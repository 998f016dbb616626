package hyperopt

import (
	"errors"
	"fmt"
	"math"

	"stable/chol"
	"stable/mat"
)

// Minimum is what Minimise found.
type Minimum struct {
	X, Y []float64 // x* and y*(x*)
	F    float64   // F(x*)

	// ProjGrad is ‖x* − P(x* − ∇F(x*))‖₂ with P the projection onto the box. It is 0 at a stationary point, and certifies that x* is near one.
	ProjGrad float64

	Iterations int // of the start that led to it
}

// ErrNoMinimum is returned, wrapped, where Minimise ends at its cap of iterations.
var ErrNoMinimum = errors.New("hyperopt: Minimise did not converge")

const maxOuter = 300 // projected Newton iterations

// Minimise returns the best local minimum of F over the box that projected Newton reaches from the given points, or, without any, from
// four: the uniform weights at the low end, the middle and the high end of the box, and the best of twenty in it. F is not convex in
// general; several starts make it likely, not certain, that the least value is found.
//
// The method is Bertsekas's projected Newton (SIAM J. Control Optim. 20, 1982): variables at a bound that the gradient pushes against go along
// the gradient, the others along the Newton direction, with the exact second derivative of F, shifted where it is not positive definite,
// and Armijo's rule along the projected arc. It ends when F falls no more and the projected gradient no longer halves; F is then right to
// about 1e-14 of its size. Errors: those of Objective, a start that is not finite, and ErrNoMinimum. It panics if a start is not of length d.
// Memory: O(d²). Cost an iteration: a few evaluations of F and O(d³).
func (p *Problem) Minimise(starts ...[]float64) (*Minimum, error) {
	if len(starts) == 0 {
		s, err := p.starts()
		if err != nil {
			return nil, err
		}
		starts = s
	}
	if _, err := p.reserve(); err != nil {
		return nil, err
	}
	var best *Minimum
	for _, x := range starts {
		p.sizes("hyperopt: Minimise: dimension mismatch", x)
		m, err := p.descend(x)
		if err != nil {
			return nil, err
		}
		if best == nil || m.F < best.F {
			best = m
		}
	}
	return best, nil
}

// starts returns the default starting points.
func (p *Problem) starts() ([][]float64, error) {
	lo, hi := p.ridge(p.opt.Lo)/2, p.ridge(p.opt.Hi)/2
	grid, err := p.GridSearch(Geometric(lo, hi, 20))
	if err != nil {
		return nil, err
	}
	var points [][]float64
	for _, lambda := range []float64{lo, p.middle(), hi, grid[Best(grid)].Lambda} {
		x := make([]float64, p.train.Dim)
		p.Uniform(x, lambda)
		points = append(points, x)
	}
	return points, nil
}

// descent is the state of one run of projected Newton: the point x with y*(x), F, ∇F and the projected gradient's norm, and the same for a
// trial point.
type descent struct {
	p          *Problem
	at, trial  iterate
	hess, inv  mat.Sym   // ∇²F; g_yy⁻¹
	free       []int     // the variables that move along the Newton direction
	sub        mat.Sym   // their part of ∇²F
	rhs, dir   []float64 // their gradient; the direction of all
	work       [2][]float64
	chol       chol.Cholesky
	iterations int
}

type iterate struct {
	x, y, grad []float64
	f, proj    float64
}

func newIterate(d int) iterate {
	return iterate{x: make([]float64, d), y: make([]float64, d), grad: make([]float64, d)}
}

func (p *Problem) descend(x []float64) (*Minimum, error) {
	d := p.train.Dim
	s := &descent{
		p: p, at: newIterate(d), trial: newIterate(d), hess: *mat.NewSym(d), inv: *mat.NewSym(d), sub: *mat.NewSym(d),
		rhs: make([]float64, d), dir: make([]float64, d), work: [2][]float64{make([]float64, d), make([]float64, d)},
	}
	for i, v := range x {
		s.trial.x[i] = p.clip(v)
	}
	if err := s.evaluate(); err != nil {
		return nil, err
	}
	s.at, s.trial = s.trial, s.at
	for ; s.iterations < maxOuter; s.iterations++ {
		done, err := s.step()
		if err != nil {
			return nil, err
		}
		if done {
			return &Minimum{X: s.at.x, Y: s.at.y, F: s.at.f, ProjGrad: s.at.proj, Iterations: s.iterations}, nil
		}
	}
	return nil, fmt.Errorf("%w in %d iterations: the projected gradient is %.3g", ErrNoMinimum, maxOuter, s.at.proj)
}

// evaluate fills the trial iterate at its x, starting the lower level from its y.
func (s *descent) evaluate() (err error) {
	t := &s.trial
	if t.f, err = s.p.ObjectiveFrom(t.grad, t.y, t.x); err != nil {
		return err
	}
	for i, xi := range t.x {
		s.work[0][i] = xi - s.p.clip(xi-t.grad[i])
	}
	t.proj = mat.Norm(s.work[0])
	return nil
}

// step makes one iteration, and reports whether it was the last.
func (s *descent) step() (done bool, err error) {
	if s.at.proj == 0 {
		return true, nil
	}
	if err := s.direction(); err != nil {
		return false, err
	}
	const room = 4e-16 // of F: the rounding error that Armijo's rule lets pass
	for t := 1.0; t > 1e-18; t /= 2 {
		fall := 0.0 // ∇Fᵀ(x_trial − x)
		for i, xi := range s.at.x {
			v := s.p.clip(xi + t*s.dir[i])
			fall += s.at.grad[i] * (v - xi)
			s.trial.x[i] = v
		}
		copy(s.trial.y, s.at.y)
		if err := s.evaluate(); err != nil {
			return false, err
		}
		if s.trial.f > s.at.f+1e-4*fall+room*math.Abs(s.at.f) {
			continue
		}
		flat := s.trial.f >= s.at.f-room*math.Abs(s.at.f)
		if flat && s.trial.proj > s.at.proj/2 {
			if s.trial.proj < s.at.proj {
				s.at, s.trial = s.trial, s.at
			}
			return true, nil
		}
		s.at, s.trial = s.trial, s.at
		return false, nil
	}
	return true, nil
}

// direction writes dir: −∇F for the variables at a bound that −∇F points out of, and for the others −(∇²F + σI)⁻¹∇F, restricted to them, with
// the first σ of 0, 1e-10, 1e-9, … times the largest entry of ∇²F for which the matrix is positive definite.
func (s *descent) direction() error {
	near := min(s.at.proj, 1e-8*(s.p.opt.Hi-s.p.opt.Lo))
	s.free = s.free[:0]
	for i, g := range s.at.grad {
		s.dir[i] = -g
		if atLo := s.at.x[i] <= s.p.opt.Lo+near && g > 0; atLo {
			continue
		}
		if atHi := s.at.x[i] >= s.p.opt.Hi-near && g < 0; atHi {
			continue
		}
		s.rhs[len(s.free)] = -g
		s.free = append(s.free, i)
	}
	if err := s.curvature(); err != nil {
		return err
	}
	n := len(s.free)
	sub := s.sub.View(0, n)
	most := 0.0
	for a, i := range s.free {
		for b, j := range s.free[:a+1] {
			h := s.hess.Row(i)[j]
			sub.Row(a)[b] = h
			most = max(most, math.Abs(h))
		}
	}
	if n == 0 || most == 0 {
		return nil
	}
	shift := 0.0
	for s.chol.FactorShifted(&sub, -shift*most) != nil {
		shift = max(10*shift, 1e-10)
		if shift > 1e10 {
			return fmt.Errorf("%w: the second derivative of F is not finite", ErrNoMinimum)
		}
	}
	step := s.rhs[:n]
	s.chol.SolveVec(step, step)
	for a, i := range s.free {
		s.dir[i] = step[a]
	}
	return nil
}

// curvature writes hess = ∇²F(x) at the current iterate.
//
// With c = ridge(x), so that g_y = ∇loss + c∘y, P = g_yy⁻¹ and v = P·f_y, differentiating g_y(x, y*(x)) = 0 twice gives
//
//	∂²F/∂x_p∂x_q = c′_p·c′_q·(y_p·y_q·(P·B·P)_pq + P_pq·(v_p·y_q + v_q·y_p)) − δ_pq·c″_p·y_p·v_p,  B = f_yy − g_yyy[v].
func (s *descent) curvature() error {
	p, t, x, y := s.p, s.p.truth, s.at.x, s.at.y
	if err := p.HessG(&t.hess, x, y, nil); err != nil {
		return err
	}
	if err := t.h.Factor(&t.hess); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSolution, err)
	}
	p.valueGradient(t.acc, p.val, y)
	t.h.SolveVec(t.v, t.acc[:len(y)])
	t.h.Inverse(&s.inv)
	if err := p.meanLower(&t.hess, sum{kind: thirdVec, data: p.train, y: y, v: t.v}, nil); err != nil {
		return err
	}
	if err := p.meanLower(&s.hess, sum{kind: hessian, data: p.val, y: y}, nil); err != nil {
		return err
	}
	mat.AddScaledSym(&t.hess, &s.hess, -1, &t.hess) // B
	column, product := s.work[0], s.work[1]
	for q := range y { // hess = P·B·P, column by column; of column q the entries from the diagonal down are kept
		for i := range column {
			column[i] = s.inv.Data[max(i, q)*s.inv.Stride+min(i, q)]
		}
		mat.MulVecSym(product, &t.hess, column)
		mat.MulVecSym(column, &s.inv, product)
		for i := q; i < len(y); i++ {
			s.hess.Row(i)[q] = column[i]
		}
	}
	for i := range y {
		h, inv := s.hess.Row(i), s.inv.Row(i)
		ci := p.slope(x[i])
		for j := range h {
			h[j] = ci * p.slope(x[j]) * (y[i]*y[j]*h[j] + inv[j]*(t.v[i]*y[j]+t.v[j]*y[i]))
		}
		h[i] -= p.bend(x[i]) * y[i] * t.v[i]
	}
	return nil
}

// clip projects one coordinate onto the box.
func (p *Problem) clip(v float64) float64 { return min(max(v, p.opt.Lo), p.opt.Hi) }
