package chol

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// Factor computes the factor of a, only read. A matrix not positive definite or not finite gives a
// *NotPosDefError, and c then holds no factor. n³/3 flops. (Golub, Van Loan 4.2; LAPACK dpotrf.)
func (c *Cholesky) Factor(a *mat.Sym) error { return c.factorShifted("chol: Factor", a, 0) }

// FactorShifted factors a − shift·I, which is not formed; else as Factor.
func (c *Cholesky) FactorShifted(a *mat.Sym, shift float64) error {
	return c.factorShifted("chol: FactorShifted", a, shift)
}

func (c *Cholesky) factorShifted(name string, a *mat.Sym, shift float64) error {
	refuse(kernel.Torn(a.N, a.N, a.Stride), name, kernel.MsgTorn)
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

// PosDef reports whether FactorShifted(a, shift) succeeds, factoring, above order 4, only where
// neither the diagonal nor Gershgorin's discs (Golub, Van Loan 7.2.1) decide. a is only read. A
// matrix or shift not finite gives false. c holds no factor afterwards. At most n³/3 flops.
func (c *Cholesky) PosDef(a *mat.Sym, shift float64) bool {
	refuse(kernel.Torn(a.N, a.N, a.Stride), "chol: PosDef", kernel.MsgTorn)
	c.reset(a.N)
	if a.N > 4 {
		for at, step := 0, a.Stride+1; at < a.N*step; at += step {
			if !(a.Data[at] > shift) {
				return false
			}
		}
		if dominant(a, shift, c.work[:a.N]) {
			return true
		}
	}
	p, _ := c.factor(a, shift)
	return p == a.N
}

// dominant reports a_ii − shift > Σ_{j≠i} |a_ij| for every i, with a margin for rounding.
func dominant(a *mat.Sym, shift float64, below []float64) bool {
	clear(below)
	margin := 1 + 2*float64(a.N+2)*0x1p-53
	for i := a.N - 1; i >= 0; i-- {
		r, sum := a.Data[i*a.Stride:][:i+1], below[i]
		for j, v := range r[:i] {
			v = math.Abs(v)
			sum += v
			below[j] += v
		}
		if d := r[i] - shift; !usable(d-margin*sum) || d > math.MaxFloat64 {
			return false
		}
	}
	return true
}
