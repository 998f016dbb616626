package chol

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// Cholesky holds the factor of a symmetric positive definite A = L·Lᵀ; none in its zero value, after
// a failed Factor, and after PosDef.
type Cholesky struct {
	f     mat.Dense
	lower bool // the lower triangle of f is L, as the portable kernels factor
	upper bool // the upper triangle of f is U = Lᵀ, as the vector kernels factor
	valid bool
	buf   []float64 // memory of f
	work  []float64 // 4n, for n in whole strips
	vec   kernel.Upper
}

func refuse(when bool, name, why string) {
	if when {
		panic(name + why)
	}
}

func (c *Cholesky) need(none string) { refuse(!c.valid, none, "") }

// Valid reports whether c holds a factor.
func (c *Cholesky) Valid() bool { return c.valid }

// Order returns the order of the factor, 0 if there is none.
func (c *Cholesky) Order() int {
	if !c.valid {
		return 0
	}
	return c.f.Rows
}

// LTo sets dst = L, its diagonal positive, 0 above it. It panics unless dst is n × n, or without a factor.
func (c *Cholesky) LTo(dst *mat.Dense) {
	c.need("chol: LTo: no factor")
	n := c.f.Rows
	refuse(dst.Rows != n || dst.Cols != n, "chol: LTo", ": dimension mismatch")
	refuse(kernel.Torn(n, n, dst.Stride), "chol: LTo", kernel.MsgTorn)
	c.needUpper()
	for i := range n {
		d := dst.Row(i)
		for j := range d[:i+1] {
			d[j] = c.f.Data[j*c.f.Stride+i]
		}
		clear(d[i+1:])
	}
}

// LogDet returns log det A = 2·Σ log L_ii, 0 for order 0. It panics without a factor.
func (c *Cholesky) LogDet() float64 {
	c.need("chol: LogDet: no factor")
	s := 0.0
	for i := range c.f.Rows {
		s += math.Log(c.f.Data[i*c.f.Stride+i])
	}
	return 2 * s
}

// needUpper copies U from L, if missing; L stays, so that solves keep their bits.
func (c *Cholesky) needUpper() {
	if c.upper {
		return
	}
	f, ld := c.f.Data, c.f.Stride
	for i := range c.f.Rows {
		for j, v := range f[i*ld : i*ld+i] {
			f[j*ld+i] = v
		}
	}
	c.upper = true
}

// reset grows the memory for order n: strips of 4 rows, of an odd number of vectors of 8 columns, so
// that there are no edges and rows do not compete for cache lines.
func (c *Cholesky) reset(n int) {
	c.valid = false
	if c.f.Data == nil || c.f.Rows != n {
		ld := (n+7)/8*8 | 8
		size := (n + 3) / 4 * 4 * ld
		if cap(c.buf) < size {
			c.buf = make([]float64, size)
		}
		if len(c.work) < 5*n+15 {
			c.work = make([]float64, 5*n+15)
		}
		c.buf = c.buf[:size]
		clear(c.buf)
		c.f = mat.Dense{Rows: n, Cols: n, Stride: ld, Data: c.buf}
	}
	if kernel.UpperOn(n) {
		c.vec.Reset(c.f.Data, c.f.Stride, n)
	}
}
