package quadratic

import (
	"fmt"
	"slices"

	"stable/chol"
	"stable/mat"
)

// Solution writes y*(x) = A⁻¹(Bᵀx + c); y is not read. It does not allocate. 2Dx·Dy + 2Dy² flops.
func (p *Problem) Solution(y, x []float64) error {
	p.fits("quadratic: Solution: dimension mismatch", x, y, true)
	p.slope(y, x)
	p.factor.SolveVec(y, y)
	return nil // there always is one
}

// Objective returns F(x) = f(x, y*(x)) without noise and, unless grad is nil, writes ∇F(x) = f_x +
// B A⁻¹ f_y. It does not allocate.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	y := p.delta
	p.fits("quadratic: Objective: dimension mismatch", x, y, grad == nil || len(grad) == p.o.Dx)
	_ = p.Solution(y, x)
	f := p.meanF(x, y)
	if grad != nil {
		p.meanGradF(grad, p.v, x, y)
		p.factor.SolveVec(p.v, p.v)
		mat.MulVec(p.eta, p.b, p.v)
		mat.Axpy(grad, 1, p.eta)
	}
	return f, nil
}

// Optimum returns a copy of x*, the global minimiser of F over all of R^Dx, and F(x*).
func (p *Problem) Optimum() (x []float64, f float64) { return slices.Clone(p.xs), p.fs }

// solve finds x*, y*(x*) and F(x*); in the nonconvex case it sets b = y*(a), which makes x* = a.
func (p *Problem) solve() (err error) {
	p.xs, p.ys = slices.Clone(p.xc), make([]float64, p.o.Dy)
	if p.p == nil {
		_ = p.Solution(p.yc, p.xc)
	} else if err = p.newton(); err != nil {
		return err
	}
	_ = p.Solution(p.ys, p.xs)
	p.fs, err = p.Objective(nil, p.xs)
	return err
}

// newton moves xs from a to x*, the zero of ∇F, by two steps of Newton's method with the Hessian P ±
// J Jᵀ; the second takes back the rounding of the first.
func (p *Problem) newton() error {
	jt := mat.NewDense(p.o.Dy, p.o.Dx) // Jᵀ = A⁻¹ Bᵀ
	mat.CopyTrans(jt, p.b)
	p.factor.Solve(jt, jt)
	h := mat.NewSym(p.o.Dx)
	mat.CopySym(h, p.p)
	mat.RankKTrans(h, p.bowl(), jt)
	var c chol.Cholesky
	if err := c.Factor(h); err != nil {
		return fmt.Errorf("quadratic: LP/MuP or CrossNorm/MuG is too large: %w", err)
	}
	grad := make([]float64, p.o.Dx)
	for range 2 {
		_, _ = p.Objective(grad, p.xs)
		c.SolveVec(grad, grad)
		mat.Axpy(p.xs, -1, grad)
	}
	return nil
}
