package hyperopt

import (
	"fmt"
	"math"

	"stable/bilevel/boxqp"
	"stable/eig"
	"stable/mat"
)

// descent is a run of Minimise: the current and trial points, and a quadratic model of F, the mean
// over the folds.
type descent struct {
	p         *Problem // the first fold: all have the same weights in the same box
	folds     []*fold
	at, trial iterate
	hess      mat.Sym  // ∇²F at the current point
	free      []int    // the variables that the model moves: those not held at a bound by the gradient
	quad      boxqp.QP // the model of these
	spectrum  eig.Symmetric

	radius, longest float64 // the trust region, and the largest |Δu_i| of the last proposal
	step            []float64
	work            [2][]float64
	full, product   mat.Dense // P and B·P of a fold
	iterations      int
	moved           bool // the current point is new: there is no model of F there yet
}

type fold struct {
	p    *Problem
	each mat.Sym   // ∇²F at the current point, as if every feature had a weight of its own
	inv  mat.Sym   // g_yy⁻¹ there
	grad []float64 // scratch
}

// iterate is a point with each fold's y*(x), F, ∇F and the norm of the projected gradient.
type iterate struct {
	x, grad []float64
	y       [][]float64
	f, proj float64
}

func newDescent(problems ...*Problem) *descent {
	p := problems[0]
	d := p.train.Dim
	x := func() []float64 { return make([]float64, p.dx) }
	y := func() []float64 { return make([]float64, d) }
	s := &descent{
		p:     p,
		at:    iterate{x: x(), grad: x()},
		trial: iterate{x: x(), grad: x()},
		hess:  *mat.NewSym(p.dx),
		step:  x(),
		work:  [2][]float64{y(), y()},
		full:  *mat.NewDense(d, d), product: *mat.NewDense(d, d),
	}
	for _, p := range problems {
		s.folds = append(s.folds, &fold{p: p, each: *mat.NewSym(d), inv: *mat.NewSym(d), grad: x()})
		s.at.y, s.trial.y = append(s.at.y, y()), append(s.trial.y, y())
	}
	return s
}

func (s *descent) evaluate() error {
	t := &s.trial
	t.f = 0
	clear(t.grad)
	for k, f := range s.folds {
		value, err := f.p.ObjectiveFrom(f.grad, t.y[k], t.x)
		if err != nil {
			return err
		}
		t.f += value / float64(len(s.folds))
		mat.Axpy(t.grad, 1/float64(len(s.folds)), f.grad)
	}
	t.proj = s.p.projGrad(s.work[0], t.x, t.grad)
	return nil
}

// model computes the convex quadratic model of F on the free variables.
func (s *descent) model() error {
	s.hess.Zero()
	for k, f := range s.folds {
		if err := s.curvature(f, s.at.y[k]); err != nil {
			return err
		}
	}
	s.free = s.free[:0]
	for i, g := range s.at.grad {
		if x := s.at.x[i]; !(x <= s.p.opt.Lo && g > 0 || x >= s.p.opt.Hi && g < 0) {
			s.free = append(s.free, i)
		}
	}
	s.quad.Resize(len(s.free))
	a := &s.quad.A
	for k, i := range s.free {
		s.quad.G[k] = s.at.grad[i]
		for l, j := range s.free[:k+1] {
			a.Row(k)[l] = s.hess.Row(i)[j]
		}
	}
	if s.quad.Chol.PosDef(a, 0) {
		return nil
	}
	return s.turn(a)
}

// turn replaces the eigenvalues λ of a by max(|λ|, 1e-8·max|λ|).
func (s *descent) turn(a *mat.Sym) error {
	if err := s.spectrum.Factor(a); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMinimum, err)
	}
	values, vt := s.spectrum.Values(), s.spectrum.VectorsT()
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	for k, v := range values { // √|λ|·v, row by row; the vectors serve for nothing else
		root := math.Sqrt(max(math.Abs(v), 1e-8*most))
		for j := range vt.Row(k) {
			vt.Row(k)[j] *= root
		}
	}
	a.Zero()
	mat.RankKTrans(a, 1, vt)
	return nil
}

// propose minimises the model over box and trust region, writes the trial x and first-order
// estimates of y*, and returns the predicted fall.
func (s *descent) propose() (predicted float64) {
	for k, i := range s.free {
		s.quad.Lo[k] = max(s.p.opt.Lo-s.at.x[i], -s.radius)
		s.quad.Hi[k] = min(s.p.opt.Hi-s.at.x[i], s.radius)
	}
	predicted = -s.quad.Solve()
	clear(s.step)
	s.longest = 0
	for k, i := range s.free {
		s.step[i] = s.quad.S[k]
		s.longest = max(s.longest, math.Abs(s.step[i]))
	}
	for k, xk := range s.at.x {
		s.trial.x[k] = s.p.clip(xk + s.step[k])
	}
	for k, f := range s.folds {
		s.follow(f, s.trial.y[k], s.at.y[k])
	}
	return predicted
}

// follow writes the first-order estimate of a fold's y* at the trial x: dy* = −g_yy⁻¹·g_yx·dx.
func (s *descent) follow(f *fold, trial, y []float64) {
	for i, k := range s.p.of {
		xk := s.at.x[k]
		s.work[0][i] = s.p.slope(xk) * y[i] * (s.trial.x[k] - xk)
	}
	mat.MulVecSym(trial, &f.inv, s.work[0])
	for i, yi := range y {
		trial[i] = yi - trial[i]
	}
}

// curvature adds ∇²F(x) of a fold, over the number of folds, to hess.
//
// With c = ridge(x), g_y = ∇loss + c∘y, P = g_yy⁻¹ and v = P·f_y, differentiating g_y(x, y*(x)) = 0
// twice gives, for one weight a feature (features of a shared weight are summed),
//
//	∂²F/∂x_p∂x_q = c′_p·c′_q·(y_p·y_q·(P·B·P)_pq + P_pq·(v_p·y_q + v_q·y_p)) − δ_pq·c″_p·y_p·v_p,  B = f_yy − g_yyy[v].
func (s *descent) curvature(f *fold, y []float64) error {
	p, t, x := f.p, f.p.truth, s.at.x
	share := 1 / float64(len(s.folds))
	if err := p.factor(x, y); err != nil {
		return err
	}
	p.valueGradient(t.acc, sum{data: p.val, y: y})
	t.h.SolveVec(t.v, t.acc[:len(y)])
	t.h.Inverse(&f.inv)
	if err := p.meanLower(&t.hess, sum{kind: thirdVec, data: p.train, y: y, v: t.v}, nil); err != nil {
		return err
	}
	if err := p.meanLower(&f.each, sum{kind: hessian, data: p.val, y: y}, nil); err != nil {
		return err
	}
	mat.AddScaledSym(&t.hess, &f.each, -1, &t.hess) // B
	mat.CopyFull(&s.full, &f.inv)
	mat.MulSym(&s.product, &t.hess, &s.full)
	f.each.Zero()
	mat.AddMulTransASym(&f.each, 1, &s.full, &s.product) // P·B·P
	for i, k := range p.of {
		h, inv := f.each.Row(i), f.inv.Row(i)
		ci := p.slope(x[k])
		for j := range h {
			l := p.of[j]
			e := ci * p.slope(x[l]) * (y[i]*y[j]*h[j] + inv[j]*(t.v[i]*y[j]+t.v[j]*y[i]))
			if i == j {
				e -= p.bend(x[k]) * y[i] * t.v[i]
			} else if k == l {
				e *= 2 // the entries (i, j) and (j, i) come together on the diagonal
			}
			s.hess.Row(max(k, l))[min(k, l)] += share * e
		}
	}
	return nil
}
