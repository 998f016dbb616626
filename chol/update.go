package chol

import "math"

// Update turns the factor of A into that of A + x·xᵀ; x is only read. An x with a square that is
// not finite gives a *NotPosDefError, and the factor stays. It panics if len(x) is not n, or
// without a factor. 3n² flops. (LINPACK dchud.)
func (c *Cholesky) Update(x []float64) error {
	c.need("chol: Update: no factor")
	n := c.f.Rows
	refuse(len(x) != n, "chol: Update", ": dimension mismatch")
	for i, v := range x {
		if d := v * v; !(d <= math.MaxFloat64) {
			return &NotPosDefError{Pivot: i, Value: d}
		}
	}
	c.needUpper()
	c.lower = false
	w := c.work[:n]
	copy(w, x)
	for k := range n {
		r := c.f.Row(k)[k:]
		v := w[k:]
		h := math.Hypot(r[0], v[0])
		cs, sn := r[0]/h, v[0]/h
		r[0] = h
		for j := 1; j < len(r); j++ {
			a, b := r[j], v[j]
			r[j] = cs*a + sn*b
			v[j] = cs*b - sn*a
		}
	}
	return nil
}

// Downdate turns the factor of A into that of A − x·xᵀ. A difference not positive definite to
// working precision, or an x not finite, gives a *NotPosDefError, and the factor stays. Else as
// Update. 4n² flops. (LINPACK dchdd; Golub, Van Loan 6.5.4.)
func (c *Cholesky) Downdate(x []float64) error {
	c.need("chol: Downdate: no factor")
	n := c.f.Rows
	refuse(len(x) != n, "chol: Downdate", ": dimension mismatch")
	// A − xxᵀ = Uᵀ(I − ppᵀ)U, Uᵀp = x: its block of order k is definite if rest = 1 − ‖p[:k]‖² > 0.
	p, cs := c.work[:n], c.work[n:2*n]
	c.forward(p, x)
	rest := 1.0
	for i, v := range p {
		next := rest - v*v
		if !(next > 0) {
			d := c.f.Data[i*c.f.Stride+i]
			return &NotPosDefError{Pivot: i, Value: d * (next / rest) * d}
		}
		rest = next
	}
	c.needUpper()
	c.lower = false
	// Rotations that take (p, √rest) to (0, 1), from the last entry to the first.
	rho := math.Sqrt(rest)
	for i := n - 1; i >= 0; i-- {
		h := math.Hypot(rho, p[i])
		cs[i], p[i] = rho/h, p[i]/h
		rho = h
	}
	// The same rotations on the rows of U, and a row below that goes from 0 to xᵀ.
	w := c.work[2*n : 3*n]
	clear(w)
	for i := n - 1; i >= 0; i-- {
		r, v := c.f.Row(i)[i:], w[i:]
		ci, si := cs[i], p[i]
		for j, a := range r {
			b := v[j]
			r[j] = ci*a - si*b
			v[j] = ci*b + si*a
		}
	}
	return nil
}
