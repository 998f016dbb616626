package chol

import (
	"math"

	"stable/mat"
)

// Factor computes the factor of a = L·Lᵀ. The lower triangle of a is read; a is not modified and may be reused at once.
// A matrix that is not positive definite or not finite gives a *NotPosDefError, and c then holds no factor.
// It allocates only if a is larger than every matrix before, and for the error. n³/3 flops. (Golub and Van Loan 4.2; LAPACK dpotrf.)
func (c *Cholesky) Factor(a *mat.Sym) error { return c.FactorShifted(a, 0) }

// FactorShifted computes the factor of a − shift·I, which is not formed; all else as Factor.
func (c *Cholesky) FactorShifted(a *mat.Sym, shift float64) error {
	c.reset(a.N)
	if p, d := c.factor(a, shift); p < a.N {
		return &NotPosDefError{Pivot: p, Value: d}
	}
	c.valid = true
	return nil
}

// factor sets U = Lᵀ of a − shift·I, and returns n, or the index and value of the first pivot that is not positive and finite.
func (c *Cholesky) factor(a *mat.Sym, shift float64) (pivot int, value float64) {
	u, n, ld := c.u.Data, a.N, c.u.Stride
	for i := range n {
		for j, v := range a.Row(i) {
			u[j*ld+i] = v
		}
		u[i*ld+i] -= shift
	}
	for k := range n {
		rk := u[k*ld+k : k*ld+n]
		d := rk[0]
		if !(d > 0 && d <= math.MaxFloat64) {
			return k, d
		}
		d = math.Sqrt(d)
		rk[0] = d
		for j := 1; j < len(rk); j++ {
			rk[j] /= d
		}
		for j := 1; j < len(rk); j++ {
			i := k + j
			mat.Axpy(u[i*ld+i:i*ld+n], -rk[j], rk[j:])
		}
	}
	return n, 0
}
