// Package implicit holds a bilevel problem's F as a function of x alone, on exact oracles,
//
//	F(x) = f(x, y*(x)),   ∇F = f_x − g_xy v,   v = g_yy⁻¹ f_y,   at y*(x) = argmin_y g(x, y),
//
// by the implicit function theorem. [Function] computes y*(x), F, ∇F and products with ∇²F, [Truth] keeps y*(x)
// to itself; [Minimiser] is L-BFGS-B for any smooth function over a box, [Minimise] its loop:
//
//	m, err := implicit.Minimise(implicit.NewTruth(problem).Objective, x0, implicit.Options{Lo: lo, Hi: hi})
//
// In steady state nothing allocates. A Function or Minimiser is for one goroutine at a time.
package implicit

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

// Errors of Solve wrap ErrNoSolution where y*(x) is not found.
var ErrNoSolution = errors.New("implicit: no minimiser of g in y is found")

const newtonSteps, shorter = 200, 7 // the caps of Solve, and of the differences in HessVec

// Function is F(x) = f(x, y*(x)).
type Function struct {
	// Xi and Phi are the batches of all oracle calls. Default: none, the exact means.
	Xi, Phi []bilevel.Sample

	// Reach is the length of the difference in HessVec along s, with which y*(x) goes along js. Default:
	// what moves y, or x if that is shorter, by 1e-6 of its norm. Where the oracles have no value there
	// (bilevel.ErrDomain), HessVec takes shorter ones, of both signs.
	Reach func(s, js []float64) float64

	p      *bilevel.Completed
	values bilevel.Values // nil where the problem is known to have none
	chol   chol.Cholesky  // of gyy
	gyy    *mat.Sym
	gxy    *mat.Dense

	gy, next, newton, at []float64 // g_y at y and where y goes, g_yy⁻¹g_y, and that point
	fx, fy, v, gxyv      []float64
	grad, x, y           []float64 // of the last Gradient, q there, and its point
	js, q, dx            []float64
	crossed              bool // gxy belongs to that point
	known                bool // there is one
}

// New returns F of p, which needs exact oracles unless Xi and Phi are set. Memory dy², and dx·dy where g_xy is formed.
func New(p bilevel.Problem) *Function {
	dx, dy := p.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	f := &Function{p: bilevel.Complete(p), gyy: mat.NewSym(dy),
		gy: vec(dy), next: vec(dy), newton: vec(dy), at: vec(dy), fx: vec(dx), fy: vec(dy), v: vec(dy),
		gxyv: vec(dx), grad: vec(dx), x: vec(dx), y: vec(dy), js: vec(dy), q: vec(dx), dx: vec(dx)}
	f.values = f.p.Values
	f.Reach = f.reach
	return f
}

// Solve moves y to y*(x) by Newton's method with step halving (Dennis, Schnabel, Numerical Methods for
// Unconstrained Optimization and Nonlinear Equations, section 6.5), and ends before a step of at most
// tol·‖y‖; tol = 0 goes to rounding. A step costs GradG, HessG and dy³/3 flops.
//
// Errors: those of the oracles; ErrNoSolution where g_yy is not positive definite or no step makes
// ‖g_y‖ fall. At a trial point, an error of GradG or a g_y that is not finite counts as no fall.
// Here and below, vectors of wrong lengths panic.
func (f *Function) Solve(y, x []float64, tol float64) error {
	if len(x) != len(f.x) || len(y) != len(f.y) {
		panic("implicit: Solve: dimension mismatch")
	}
	f.known = false
	if err := f.p.GradG(f.gy, x, y, f.Phi); err != nil {
		return err
	}
	size := 0.0 // the largest ‖y‖
	for range newtonSteps {
		if err := f.p.HessG(f.gyy, x, y, f.Phi); err != nil {
			return err
		}
		if err := f.chol.Factor(f.gyy); err != nil {
			return fmt.Errorf("%w: g_yy: %w", ErrNoSolution, err)
		}
		f.chol.SolveVec(f.newton, f.gy)
		length, now := mat.Norm(f.newton), mat.Norm(y)
		if length <= max(tol, 0x1p-50)*now {
			return nil
		}
		size = max(size, now)
		if !f.move(y, x) {
			if length <= 1e-6*size || f.noise(y, x) { // g_y is all rounding
				return nil
			}
			break
		}
	}
	return fmt.Errorf("%w: ‖g_y‖ is %g", ErrNoSolution, mat.Norm(f.gy))
}

// move takes the longest of the steps 1, ½, … at which ‖g_y‖ falls.
func (f *Function) move(y, x []float64) bool {
	before := mat.Norm(f.gy)
	for t := 1.0; t > 1e-9; t /= 2 {
		copy(f.at, y)
		mat.Axpy(f.at, -t, f.newton)
		if f.p.GradG(f.next, x, f.at, f.Phi) == nil && mat.Norm(f.next) < (1-1e-4*t)*before {
			copy(y, f.at)
			f.gy, f.next = f.next, f.gy
			return true
		}
	}
	return false
}

// noise says that g_y is rounding: it follows g_yy over 2²⁰ times the way on which it does not fall.
func (f *Function) noise(y, x []float64) bool {
	copy(f.at, y)
	mat.Axpy(f.at, -0x1p20, f.newton)
	err := f.p.GradG(f.next, x, f.at, f.Phi)
	mat.Axpy(f.next, 0x1p20, f.gy)
	return err == nil && mat.Norm(f.next) <= 0x1p19*mat.Norm(f.gy)
}

// Residual returns ‖g_y‖ and ‖g_yy⁻¹g_y‖ at the end of the last Solve. With g_yy ⪰ μ_g·I, ‖y −
// y*(x)‖ ≤ ‖g_y‖/μ_g; the second is ‖y − y*(x)‖ up to its square, near y*.
func (f *Function) Residual() (gradient, step float64) { return mat.Norm(f.gy), mat.Norm(f.newton) }

// Gradient writes ∇F(x) = f_x − g_xy g_yy⁻¹ f_y and returns F(x), at the x and y of the last Solve.
// Where y ≠ y*(x), ∇F is off by O(‖y − y*‖), the value f(x, y) − vᵀg_y by O(‖y − y*‖²). Without
// bilevel.Values the value is NaN. Errors are those of GradF, CrossVecG (or CrossG) and ValueF.
func (f *Function) Gradient(grad, x, y []float64) (float64, error) {
	if len(grad) != len(f.x) || len(x) != len(f.x) || len(y) != len(f.y) {
		panic("implicit: Gradient: dimension mismatch")
	}
	if err := f.p.GradF(f.fx, f.fy, x, y, f.Xi); err != nil {
		return 0, err
	}
	f.chol.SolveVec(f.v, f.fy)
	f.crossed = false
	if err := f.p.CrossVecG(f.gxyv, x, y, f.v, f.Phi); err != nil {
		return 0, err
	}
	for i, fx := range f.fx {
		grad[i] = fx - f.gxyv[i]
	}
	copy(f.grad, grad)
	copy(f.x, x)
	copy(f.y, y)
	f.known = true
	if f.values != nil {
		value, err := f.values.ValueF(x, y, f.Xi)
		if !errors.Is(err, bilevel.ErrMissing) {
			return value - mat.Dot(f.v, f.gy), err
		}
		f.values = nil // asked once: the error allocates
	}
	return math.NaN(), nil
}

// HessVec writes ∇²F(x)·s at the point of the last Gradient, with relative error of order 1e-6, given
// y = y*(x) to rounding, and entries of x of one size. dst may be s. Errors are those of GradF, HessVecG
// and CrossVecG, at one more point, and of CrossG once for each Gradient. It panics without a Gradient.
//
// # How it works
//
// With J = −g_yy⁻¹g_xyᵀ and v fixed,
//
//	q(x, y) = f_x − g_xy v + Jᵀ(f_y − g_yy v),   ∇²F s = dq/dt along (s, Js),
//
// since q does not depend on v to first order and y*(x + ts) = y* + tJs + O(t²).
func (f *Function) HessVec(dst, s []float64) error {
	if !f.known {
		panic("implicit: HessVec: there is no point: call Solve and Gradient")
	}
	if len(dst) != len(f.x) || len(s) != len(f.x) {
		panic("implicit: HessVec: dimension mismatch")
	}
	if !f.crossed {
		if f.gxy == nil {
			f.gxy = mat.NewDense(len(f.x), len(f.y))
		}
		if err := f.p.CrossG(f.gxy, f.x, f.y, f.Phi); err != nil {
			return err
		}
		f.crossed = true
	}
	mat.MulVecTrans(f.js, f.gxy, s)
	f.chol.SolveVec(f.js, f.js)
	kernel.Scale(f.js, -1, f.js)
	eps := f.Reach(s, f.js)
	for round := 0; ; round++ {
		copy(f.dx, f.x)
		copy(f.at, f.y)
		mat.Axpy(f.dx, eps, s)
		mat.Axpy(f.at, eps, f.js)
		err := f.tangent(f.q, f.dx, f.at)
		if err == nil {
			break
		}
		if !errors.Is(err, bilevel.ErrDomain) || round == shorter {
			return err
		}
		eps /= -8
	}
	for i, q := range f.q {
		dst[i] = (q - f.grad[i]) / eps
	}
	return nil
}

func (f *Function) reach(s, js []float64) float64 {
	const share = 1e-6
	t := mat.Norm(f.y) / mat.Norm(js)
	size, length := cmp.Or(mat.Norm(f.x), 1), mat.Norm(s)
	if length > 0 && !(t > 0 && t < size/length) {
		t = size / length
	}
	if !(t > 0) || math.IsInf(t, 1) {
		t = 1
	}
	return share * t
}

// tangent writes q at (x, y), with J and v of the last Gradient.
func (f *Function) tangent(q, x, y []float64) error {
	hv := f.next
	if err := f.p.GradF(q, f.fy, x, y, f.Xi); err != nil {
		return err
	}
	if err := f.p.HessVecG(hv, x, y, f.v, f.Phi); err != nil {
		return err
	}
	mat.Axpy(f.fy, -1, hv)
	f.chol.SolveVec(f.fy, f.fy)
	mat.MulVec(f.gxyv, f.gxy, f.fy)
	mat.Axpy(q, -1, f.gxyv)
	err := f.p.CrossVecG(f.gxyv, x, y, f.v, f.Phi)
	mat.Axpy(q, -1, f.gxyv)
	return err
}

// Vectors is that of a bilevel.Stepper.
func (f *Function) Vectors(visit func(name string, v []float64)) {
	visit("g_y", f.gy)
	visit("g_y", f.next)
	for i := range f.gyy.N {
		visit("H_yy", f.gyy.Row(i))
	}
	visit("f_x", f.fx)
	visit("f_y", f.fy)
	visit("H_yy⁻¹f_y", f.v)
	visit("g_xy v", f.gxyv)
}

// Truth is bilevel.Truth for a problem with exact oracles, by Newton's method.
type Truth struct {
	f       *Function
	y, grad []float64 // of Objective
}

func NewTruth(p bilevel.Problem) *Truth {
	dx, dy := p.Dims()
	return &Truth{New(p), make([]float64, dy), make([]float64, dx)}
}

// Solution is Function.Solve from y to rounding.
func (t *Truth) Solution(y, x []float64) error { return t.f.Solve(y, x, 0) }

// Objective is Function.Gradient at y*(x), which is solved for from 0.
func (t *Truth) Objective(grad, x []float64) (float64, error) {
	clear(t.y)
	if err := t.Solution(t.y, x); err != nil {
		return 0, err
	}
	if grad == nil {
		grad = t.grad
	}
	return t.f.Gradient(grad, x, t.y)
}
