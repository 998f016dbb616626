// Package flow integrates the continuous-time dynamics behind STABLE (Chen, Sun, Xiao, Yin, AISTATS
// 2022, section 2.3, Theorem 1), on the exact oracles of a bilevel problem without constraints:
//
//	x' = −α T(x, y),    T(x, y) = f_x − g_xy g_yy⁻¹ f_y,
//	y' = −β g_y − g_yy⁻¹ g_xyᵀ x'.
//
// V(x, y) = F(x) + ½‖y − y*(x)‖² falls along every solution if α/β is small enough ([MaxAlpha]),
// and is at rest only where ∇F(x) = 0 and y = y*(x). One Euler step of length h is the step of
// STABLE with exact oracles and step sizes hα and hβ. The paper prints (eq.ode_stable) with a plus
// sign inside T; its proof and its method have the minus.
package flow

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/mat"
)

type Options struct {
	// Alpha and Beta are the rates α, β > 0 of the dynamics. Required.
	Alpha, Beta float64

	// H > 0 is the length of a step in time. Required. Step is stable up to about 2.78/(βL_g)
	// (Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.2).
	H float64

	X0, Y0 []float64 // the start, copied. Default 0
}

// Flow is a path of the dynamics, for one goroutine at a time.
type Flow struct {
	p *bilevel.Completed
	o Options
	k int

	x, y   []float64 // the state
	px, py []float64 // the point of a stage, and then the next state
	kx, ky []float64 // its velocity
	sx, sy []float64 // the weighted sum of the velocities
	gxy    *mat.Dense
	gyy    *mat.Sym
	factor chol.Cholesky
	v      []float64 // of length dy
	star   []float64 // y*(x) of the last Lyapunov
}

// New returns the flow of p at its start, and calls no oracle. The error wraps bilevel.ErrOption
// and names the field.
func New(p bilevel.Problem, o Options) (*Flow, error) {
	if p == nil {
		return nil, option.Bad("flow: New needs a problem")
	}
	dx, dy := p.Dims()
	if err := errors.Join(
		option.Dims(dx, dy),
		option.Finite("flow: Options.Alpha", o.Alpha),
		option.Finite("flow: Options.Beta", o.Beta),
		option.Finite("flow: Options.H", o.H),
		option.Vector("flow: Options.X0", o.X0, dx),
		option.Vector("flow: Options.Y0", o.Y0, dy),
	); err != nil {
		return nil, err
	}
	vec := func(n int) []float64 { return make([]float64, n) }
	f := &Flow{
		p: bilevel.Complete(p), o: o,
		x: vec(dx), px: vec(dx), kx: vec(dx), sx: vec(dx),
		y: vec(dy), py: vec(dy), ky: vec(dy), sy: vec(dy), v: vec(dy), star: vec(dy),
		gxy: mat.NewDense(dx, dy), gyy: mat.NewSym(dy),
	}
	copy(f.x, o.X0)
	copy(f.y, o.Y0)
	return f, nil
}

// Velocity writes x' and y' at (x, y), of lengths dx and dy, and does not move the flow; no
// argument may overlap another. Errors: the oracles', and one that wraps chol.ErrNotPosDef if g_yy
// is not positive definite. Cost: each oracle once on an empty batch, dy³/3 + 4dy² + 4dx·dy flops.
func (f *Flow) Velocity(xdot, ydot, x, y []float64) error {
	if err := cmp.Or(f.p.GradF(xdot, ydot, x, y, nil), f.p.CrossG(f.gxy, x, y, nil), f.p.HessG(f.gyy, x, y, nil)); err != nil {
		return err
	}
	if err := f.factor.Factor(f.gyy); err != nil {
		return fmt.Errorf("flow: g_yy at t = %g: %w", f.T(), err)
	}
	// x' = −α (f_x − g_xy g_yy⁻¹ f_y)
	f.factor.SolveVec(ydot, ydot)
	for i := range xdot {
		xdot[i] = -f.o.Alpha * (xdot[i] - mat.Dot(f.gxy.Row(i), ydot))
	}
	// y' = −β g_y − g_yy⁻¹ g_xyᵀ x'
	if err := f.p.GradG(ydot, x, y, nil); err != nil {
		return err
	}
	mat.MulVecTrans(f.v, f.gxy, xdot)
	f.factor.SolveVec(f.v, f.v)
	for j := range ydot {
		ydot[j] = -f.o.Beta*ydot[j] - f.v[j]
	}
	return nil
}

// rule is the classical Runge-Kutta rule, of order 4: in each row an evaluation at the state plus
// at·h times the last velocity (Hairer, Nørsett, Wanner, Solving ODEs I, table II.1.2).
var rule = [...]struct{ at, weight float64 }{{0, 1. / 6}, {1. / 2, 1. / 3}, {1. / 2, 1. / 3}, {1, 1. / 6}}

// Step moves the state by h in time, four times Velocity. On an error nothing moves: those
// of Velocity, and a *bilevel.DivergedError where a velocity or the next state is not finite.
func (f *Flow) Step() error {
	clear(f.sx)
	clear(f.sy)
	for _, s := range rule {
		move(f.px, f.x, s.at*f.o.H, f.kx)
		move(f.py, f.y, s.at*f.o.H, f.ky)
		if err := f.Velocity(f.kx, f.ky, f.px, f.py); err != nil {
			return err
		}
		if err := f.finite("the velocity of the flow", f.kx, f.ky); err != nil {
			return err
		}
		mat.Axpy(f.sx, s.weight, f.kx)
		mat.Axpy(f.sy, s.weight, f.ky)
	}
	move(f.px, f.x, f.o.H, f.sx)
	move(f.py, f.y, f.o.H, f.sy)
	if err := f.finite("the state of the flow", f.px, f.py); err != nil {
		return err
	}
	f.x, f.px = f.px, f.x
	f.y, f.py = f.py, f.y
	f.k++
	return nil
}

func (f *Flow) finite(quantity string, vectors ...[]float64) error {
	for _, v := range vectors {
		if i := mat.NotFinite(v); i >= 0 {
			return &bilevel.DivergedError{Step: f.k, Quantity: quantity, Value: v[i]}
		}
	}
	return nil
}

// move sets dst = x + s·v, and to x where s is 0 whatever v is.
func move(dst, x []float64, s float64, v []float64) {
	copy(dst, x)
	if s != 0 {
		mat.Axpy(dst, s, v)
	}
}

// X and Y return the state x(t), y(t), to be read only, valid until the next Step.
func (f *Flow) X() []float64 { return f.x }
func (f *Flow) Y() []float64 { return f.y }

// K returns the number of steps done.
func (f *Flow) K() int { return f.k }

// T returns the time K·h.
func (f *Flow) T() float64 { return float64(f.k) * f.o.H }

// Lyapunov returns V (eq.cont-lyap) at the present state. Errors are those of
// bilevel.Truth, of which it does one Solution and one Objective, and bilevel.ErrMissing.
func (f *Flow) Lyapunov() (float64, error) {
	copy(f.star, f.y)
	if err := f.p.Solution(f.star, f.x); err != nil {
		return 0, err
	}
	v, err := f.p.Objective(nil, f.x)
	if err != nil {
		return 0, err
	}
	for j, y := range f.y {
		d := y - f.star[j]
		v += d * d / 2
	}
	return v, nil
}

// MaxAlpha returns the largest α for which Theorem 1 proves that V falls, for a given β > 0,
//
//	α ≤ 2μ_g β / (L_f² + 2 B_x L),
//
// and +Inf if nothing bounds it: L_f is that of c.Lipschitz, B_x = C_fx + (C_gxy/μ_g) C_fy bounds ‖T‖, and L =
// L_gxy/μ_g + C_gxy L_gyy/μ_g² is the Lipschitz constant of g_yy⁻¹ g_xyᵀ in y, the paper's L_y of this place.
// Read from c are MuG > 0, Lfx, Lfy, Lgxy, Lgyy, Cfx, Cfy and Cgxy. An error wraps bilevel.ErrOption. In a
// quadratic problem, where L = 0, V falls up to twice the bound.
func MaxAlpha(c theorem.Constants, beta float64) (float64, error) {
	if err := errors.Join(
		option.Finite("flow: MaxAlpha: beta", beta),
		option.Finite("flow: MaxAlpha: Constants.MuG", c.MuG),
	); err != nil {
		return 0, err
	}
	for i, v := range []float64{c.Lfx, c.Lfy, c.Lgxy, c.Lgyy, c.Cfx, c.Cfy, c.Cgxy} {
		if !(v >= 0) || math.IsInf(v, 1) {
			name := [...]string{"Lfx", "Lfy", "Lgxy", "Lgyy", "Cfx", "Cfy", "Cgxy"}[i]
			return 0, option.Bad("flow: MaxAlpha: Constants.%s is %v, want a finite value ≥ 0", name, v)
		}
	}
	lf, _, _ := c.Lipschitz()
	r := c.Cgxy / c.MuG
	bx := c.Cfx + r*c.Cfy
	l := (c.Lgxy + r*c.Lgyy) / c.MuG
	alpha := 2 * c.MuG * beta / (lf*lf + 2*bx*l)
	if !(alpha > 0) {
		return 0, option.Bad("flow: MaxAlpha: Constants of these sizes give %v", alpha)
	}
	return alpha, nil
}
