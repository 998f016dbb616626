package mattest

import (
	"math"
	"math/big"

	"stable/mat"
)

// bits is the precision of Exact: an eigenvalue 1e-30 of the largest keeps 200 correct bits.
const bits = 320

// Exact is a matrix in arithmetic of 320 bits.
type Exact struct {
	Rows, Cols int
	a          []big.Float
}

// ExactDense returns a, without rounding.
func ExactDense(a *mat.Dense) *Exact { return exactOf(a.Rows, a.Cols, a.At) }

// ExactSym returns both triangles of a, without rounding.
func ExactSym(a *mat.Sym) *Exact { return exactOf(a.N, a.N, a.At) }

func zeros(rows, cols int) *Exact { return exactOf(rows, cols, func(int, int) float64 { return 0 }) }

func exactOf(rows, cols int, at func(i, j int) float64) *Exact {
	e := &Exact{Rows: rows, Cols: cols, a: make([]big.Float, rows*cols)}
	for k := range e.a {
		e.a[k].SetPrec(bits).SetFloat64(at(k/cols, k%cols))
	}
	return e
}

// At returns entry (i, j), to be read or set.
func (e *Exact) At(i, j int) *big.Float { return &e.a[i*e.Cols+j] }

// Float returns v, rounded.
func Float(v *big.Float) float64 {
	f, _ := v.Float64()
	return f
}

// Sub sets e = e − b, and returns it.
func (e *Exact) Sub(b *Exact) *Exact {
	for i := range e.a {
		e.a[i].Sub(&e.a[i], &b.a[i])
	}
	return e
}

// AddDiag sets e = e + diag(d), and returns it.
func (e *Exact) AddDiag(d func(i int) float64) *Exact {
	var v big.Float
	for i := range e.Rows {
		e.At(i, i).Add(e.At(i, i), v.SetFloat64(d(i)))
	}
	return e
}

// Norm returns ‖e‖_F, rounded.
func (e *Exact) Norm() float64 { return Float(e.NormExact()) }

// NormExact returns ‖e‖_F, which may be beyond the range of a float64.
func (e *Exact) NormExact() *big.Float {
	sum, t := new(big.Float).SetPrec(bits), new(big.Float)
	for i := range e.a {
		sum.Add(sum, t.Mul(&e.a[i], &e.a[i]))
	}
	return sum.Sqrt(sum)
}

// Norm1 returns max_j Σ_i |e_ij|, rounded.
func (e *Exact) Norm1() (most float64) {
	for j := range e.Cols {
		sum := 0.0
		for i := range e.Rows {
			sum += math.Abs(Float(e.At(i, j)))
		}
		most = max(most, sum)
	}
	return most
}

// MulTrans returns e·bᵀ.
func (e *Exact) MulTrans(b *Exact) *Exact {
	c, t := zeros(e.Rows, b.Rows), new(big.Float)
	for k := range c.a {
		x, y := e.a[k/c.Cols*e.Cols:][:e.Cols], b.a[k%c.Cols*b.Cols:]
		for i := range x {
			if x[i].Sign() != 0 && y[i].Sign() != 0 {
				c.a[k].Add(&c.a[k], t.Mul(&x[i], &y[i]))
			}
		}
	}
	return c
}

// Trans returns eᵀ.
func (e *Exact) Trans() *Exact {
	t := zeros(e.Cols, e.Rows)
	for k := range t.a {
		t.a[k].Set(e.At(k%t.Cols, k/t.Cols))
	}
	return t
}

// Solve returns e⁻¹·b and pivots of a positive definite e, rounded, by elimination; else nil.
func (e *Exact) Solve(b *Exact) (x *Exact, pivots []float64) {
	n, m := e.Rows, b.Cols
	w, f, t := zeros(n, n+m), new(big.Float), new(big.Float)
	for k := range w.a {
		if i, j := k/w.Cols, k%w.Cols; j < n {
			w.a[k].Set(e.At(i, j))
		} else {
			w.a[k].Set(b.At(i, j-n))
		}
	}
	for k := range n {
		pivot := w.At(k, k)
		if pivot.Sign() <= 0 {
			return nil, nil
		}
		for i := range n {
			if i == k || w.At(i, k).Sign() == 0 {
				continue
			}
			f.Quo(w.At(i, k), pivot)
			for j := k + 1; j < w.Cols; j++ {
				w.At(i, j).Sub(w.At(i, j), t.Mul(f, w.At(k, j)))
			}
		}
	}
	x = zeros(n, m)
	for k := range x.a {
		i := k / m
		x.a[k].Quo(w.At(i, n+k%m), w.At(i, i))
	}
	return x, List(n, func(i int) float64 { return Float(w.At(i, i)) })
}

// ExactEig returns A = Vᵀ·D·V, D diagonal up to 2⁻²⁰⁰ and in no order, by Jacobi rotations from
// guess, orthonormal up to rounding.
func ExactEig(a *mat.Sym, guess *mat.Dense) (d, v *Exact) {
	v = ExactDense(guess)
	half := zeros(a.N, a.N).AddDiag(func(int) float64 { return -0.5 })
	for range 3 { // V = −(V·Vᵀ − 3I)·V/2 of Newton and Schulz squares the rounding
		v = half.MulTrans(v.MulTrans(v).AddDiag(func(int) float64 { return -3 })).MulTrans(v.Trans())
	}
	d = v.MulTrans(ExactSym(a)).MulTrans(v)
	least := d.NormExact().MantExp(nil) - 200
	for again := true; again; {
		again = false
		for p := range a.N {
			for q := p + 1; q < a.N; q++ {
				if w := d.At(p, q); w.Sign() != 0 && w.MantExp(nil) > least {
					rotate(d, v, p, q)
					again = true
				}
			}
		}
	}
	return d, v
}

// rotate about annihilates d_pq: the angle is rounded to float64, the rotation is not.
func rotate(d, v *Exact, p, q int) {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	theta := num(0).Sub(d.At(q, q), d.At(p, p))
	half := Float(theta.Quo(theta, d.At(p, q))) / 2
	t, c, s, x, y := num(1/(half+math.Copysign(math.Hypot(half, 1), half))), num(1), num(0), num(0), num(0)
	c.Sqrt(c.Add(c, s.Mul(t, t)))
	c.Quo(num(1), c)
	s.Mul(t, c)
	turn := func(g, h *big.Float) { // (g, h) = (c·g − s·h, s·g + c·h)
		x.Mul(s, g)
		y.Mul(s, h)
		g.Sub(g.Mul(g, c), y)
		h.Add(h.Mul(h, c), x)
	}
	for k := range d.Rows {
		turn(d.At(p, k), d.At(q, k))
		turn(v.At(p, k), v.At(q, k))
	}
	for k := range d.Rows {
		turn(d.At(k, p), d.At(k, q))
	}
}
