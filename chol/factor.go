package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// Factor computes the factor of a = L·Lᵀ from a's lower triangle, only read. A matrix not positive
// definite or not finite gives a *NotPosDefError, and c then holds no factor. It allocates at a
// larger order than ever, and for the error. n³/3 flops. (Golub, Van Loan 4.2; LAPACK dpotrf.)
func (c *Cholesky) Factor(a *mat.Sym) error { return c.factorShifted("chol: Factor", a, 0) }

// FactorShifted factors a − shift·I, which is not formed; else as Factor.
func (c *Cholesky) FactorShifted(a *mat.Sym, shift float64) error {
	return c.factorShifted("chol: FactorShifted", a, shift)
}

func (c *Cholesky) factorShifted(name string, a *mat.Sym, shift float64) error {
	if kernel.Torn(a.N, a.N, a.Stride) {
		panic(name + kernel.MsgTorn)
	}
	c.reset(a.N)
	if p, d := c.factor(a, shift); p < a.N {
		return &NotPosDefError{Pivot: p, Value: d}
	}
	c.valid = true
	return nil
}

func (c *Cholesky) factor(a *mat.Sym, shift float64) (pivot int, value float64) {
	c.upper = kernel.UpperOn(a.N)
	c.lower = !c.upper
	if c.upper {
		return factorUpper(&c.vec, a, shift)
	}
	return factorLower(c.f.Data, c.f.Stride, a, shift)
}
