package hyperopt

import (
	"fmt"
	"math"

	"stable/eig"
	"stable/mat"
)

// descent is the state of one run of Minimise: the current and the trial point, and the quadratic
// model of F at the current one.
type descent struct {
	p         *Problem
	at, trial iterate
	hess      mat.Sym // ∇²F at the current point
	inv       mat.Sym // g_yy⁻¹ there
	free      []int   // the variables that the model moves: those not held at a bound by the gradient
	quad      boxQP   // the model of these
	jacobi    eig.Jacobi

	radius, longest float64 // the trust region, and the largest |Δu_i| of the last proposal
	step            []float64
	work            [2][]float64
	iterations      int
}

// iterate is a point with y*(x), F, ∇F and the norm of the projected gradient.
type iterate struct {
	x, y, grad []float64
	f, proj    float64
}

func newDescent(p *Problem) *descent {
	d := p.train.Dim
	v := func() []float64 { return make([]float64, d) }
	return &descent{
		p:     p,
		at:    iterate{x: v(), y: v(), grad: v()},
		trial: iterate{x: v(), y: v(), grad: v()},
		hess:  *mat.NewSym(d),
		inv:   *mat.NewSym(d),
		step:  v(),
		work:  [2][]float64{v(), v()},
	}
}

// evaluate fills the trial point at its x, with the lower level started from its y.
func (s *descent) evaluate() (err error) {
	t := &s.trial
	if t.f, err = s.p.ObjectiveFrom(t.grad, t.y, t.x); err != nil {
		return err
	}
	t.proj = s.p.projGrad(s.work[0], t.x, t.grad)
	return nil
}

// model writes the convex quadratic model of F on the free variables.
func (s *descent) model() error {
	if err := s.curvature(); err != nil {
		return err
	}
	s.free = s.free[:0]
	for i, g := range s.at.grad {
		if x := s.at.x[i]; !(x <= s.p.opt.Lo && g > 0 || x >= s.p.opt.Hi && g < 0) {
			s.free = append(s.free, i)
		}
	}
	s.quad.resize(len(s.free))
	a := &s.quad.a
	for k, i := range s.free {
		s.quad.g[k] = s.at.grad[i]
		for l, j := range s.free[:k+1] {
			a.Row(k)[l] = s.hess.Row(i)[j]
		}
	}
	if s.quad.chol.PosDef(a, 0) {
		return nil
	}
	return s.turn(a)
}

// turn replaces the eigenvalues λ of a by max(|λ|, 1e-8·max|λ|).
func (s *descent) turn(a *mat.Sym) error {
	if _, err := s.jacobi.Factor(a); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMinimum, err)
	}
	values, vt := s.jacobi.Values(), s.jacobi.VectorsT()
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	a.Zero()
	for k, v := range values {
		mat.RankOne(a, max(math.Abs(v), 1e-8*most), vt.Row(k))
	}
	return nil
}

// propose minimises the model over the box and the trust region, writes the trial x, and a
// first-order estimate of y* there, and returns the fall that the model predicts.
func (s *descent) propose() (predicted float64) {
	for k, i := range s.free {
		s.quad.lo[k] = max(s.p.opt.Lo-s.at.x[i], -s.radius)
		s.quad.hi[k] = min(s.p.opt.Hi-s.at.x[i], s.radius)
	}
	predicted = -s.quad.solve()
	clear(s.step)
	s.longest = 0
	for k, i := range s.free {
		s.step[i] = s.quad.s[k]
		s.longest = max(s.longest, math.Abs(s.step[i]))
	}
	for i, xi := range s.at.x {
		s.trial.x[i] = s.p.clip(xi + s.step[i])
		s.work[0][i] = s.p.slope(xi) * s.at.y[i] * (s.trial.x[i] - xi)
	}
	mat.MulVecSym(s.trial.y, &s.inv, s.work[0]) // dy* = −g_yy⁻¹·g_yx·dx
	for i, yi := range s.at.y {
		s.trial.y[i] = yi - s.trial.y[i]
	}
	return predicted
}

// curvature writes hess = ∇²F(x) at the current iterate.
//
// With c = ridge(x), so that g_y = ∇loss + c∘y, P = g_yy⁻¹ and v = P·f_y, differentiating g_y(x,
// y*(x)) = 0 twice gives
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
