package mattest

import (
	"math"
	"math/big"
	"slices"

	"stable/mat"
)

// bits is the precision of Exact: an eigenvalue 1e-30 of the largest keeps 200 correct bits.
const bits = 320

// Exact is a matrix in arithmetic of 320 bits.
type Exact struct {
	Rows, Cols int
	a          []big.Float
}

// NewExact returns a zero matrix.
func NewExact(rows, cols int) *Exact {
	e := &Exact{Rows: rows, Cols: cols, a: make([]big.Float, rows*cols)}
	for i := range e.a {
		e.a[i].SetPrec(bits)
	}
	return e
}

// ExactDense returns a, without rounding.
func ExactDense(a *mat.Dense) *Exact { return exactOf(a.Rows, a.Cols, a.At) }

// ExactSym returns both triangles of a, without rounding.
func ExactSym(a *mat.Sym) *Exact { return exactOf(a.N, a.N, a.At) }

func exactOf(rows, cols int, at func(i, j int) float64) *Exact {
	e := NewExact(rows, cols)
	for k := range e.a {
		e.a[k].SetFloat64(at(k/cols, k%cols))
	}
	return e
}

// ExactVec returns x as a column, without rounding.
func ExactVec(x []float64) *Exact { return ExactDense(mat.DenseOf(len(x), 1, x)) }

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
	c, t := NewExact(e.Rows, b.Rows), new(big.Float)
	for k := range c.a {
		dot(&c.a[k], t, e.row(k/c.Cols), b.row(k%c.Cols))
	}
	return c
}

// Trans returns eᵀ.
func (e *Exact) Trans() *Exact {
	t := NewExact(e.Cols, e.Rows)
	for k := range t.a {
		t.a[k].Set(e.At(k%t.Cols, k/t.Cols))
	}
	return t
}

func (e *Exact) row(i int) []big.Float { return e.a[i*e.Cols : (i+1)*e.Cols] }

func dot(sum, t *big.Float, x, y []big.Float) {
	for k := range x {
		if x[k].Sign() != 0 && y[k].Sign() != 0 {
			sum.Add(sum, t.Mul(&x[k], &y[k]))
		}
	}
}

// Cholesky returns the factor L, and whether e, read in its lower triangle, is positive definite.
func (e *Exact) Cholesky() (l *Exact, ok bool) {
	l = NewExact(e.Rows, e.Rows)
	t, sum := new(big.Float), new(big.Float)
	for i := range l.Rows {
		for j := range i + 1 {
			sum.SetPrec(0).SetPrec(bits)
			dot(sum, t, l.row(i)[:j], l.row(j)[:j])
			v := l.At(i, j)
			v.Sub(e.At(i, j), sum)
			switch {
			case i > j:
				v.Quo(v, l.At(j, j))
			case v.Sign() <= 0:
				return nil, false
			default:
				v.Sqrt(v)
			}
		}
	}
	return l, true
}

// LogDet returns log det(e·eᵀ) for a lower triangular e, and the size of its terms, 2·Σ |log e_ii|.
func (e *Exact) LogDet() (det, size float64) {
	m := new(big.Float)
	for i := range e.Rows {
		exp := e.At(i, i).MantExp(m)
		v := math.Log(Float(m)) + float64(exp)*math.Ln2
		det += 2 * v
		size += 2 * math.Abs(v)
	}
	return det, size
}

// CholeskySolve returns (e·eᵀ)⁻¹·b for the lower triangular factor e.
func (e *Exact) CholeskySolve(b *Exact) *Exact {
	x, lt := b.Trans(), e.Trans()
	t, sum := new(big.Float), new(big.Float)
	less := func(v *big.Float, row, known []big.Float, d *big.Float) { // v = (v − row·known)/d
		sum.SetPrec(0).SetPrec(bits)
		dot(sum, t, row, known)
		v.Quo(v.Sub(v, sum), d)
	}
	for r := range x.Rows {
		v := x.row(r)
		for i := range v { // L·y = b
			less(&v[i], e.row(i)[:i], v[:i], e.At(i, i))
		}
		for i := len(v) - 1; i >= 0; i-- { // Lᵀ·x = y
			less(&v[i], lt.row(i)[i+1:], v[i+1:], e.At(i, i))
		}
	}
	return x.Trans()
}

// Identity returns the identity of order n.
func Identity(n int) *Exact { return NewExact(n, n).AddDiag(func(int) float64 { return 1 }) }

// ExactEig returns a's eigenvalues, ascending, and its eigenvectors in the rows of v, by Jacobi
// rotations from the orthonormalised rows of guess, of order n.
func ExactEig(a *mat.Sym, guess *mat.Dense) (lambda []*big.Float, v *Exact) {
	n := a.N
	v = ExactDense(guess)
	if !v.orthonormalise() {
		v = Identity(n)
	}
	b := v.MulTrans(ExactSym(a)).MulTrans(v)
	top := math.MinInt
	for i := range b.a {
		if b.a[i].Sign() != 0 {
			top = max(top, b.a[i].MantExp(nil))
		}
	}
	for turned := true; turned; {
		turned = false
		for p := range n {
			for q := p + 1; q < n; q++ {
				if w := b.At(p, q); w.Sign() != 0 && w.MantExp(nil) > top-200 {
					rotate(b, v, p, q)
					turned = true
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(p, q int) int { return b.At(p, p).Cmp(b.At(q, q)) })
	sorted := NewExact(n, n)
	for i, p := range order {
		lambda = append(lambda, b.At(p, p))
		copy(sorted.row(i), v.row(p))
	}
	return lambda, sorted
}

// rotate about annihilates b_pq: the angle is rounded to float64, the rotation is not.
func rotate(b, v *Exact, p, q int) {
	num := func() *big.Float { return new(big.Float).SetPrec(bits) }
	theta := num().Sub(b.At(q, q), b.At(p, p))
	theta.Quo(theta, b.At(p, q))
	half := Float(theta) / 2
	tangent := math.Copysign(1/(math.Abs(half)+math.Hypot(half, 1)), half)
	if math.Abs(half) > 1e150 {
		tangent = 0.5 / half
	}
	t := num().SetFloat64(tangent)
	c := num().Mul(t, t)
	c.Sqrt(c.Add(c, num().SetInt64(1)))
	c.Quo(num().SetInt64(1), c)
	s := num().Mul(t, c)
	x, y := num(), num()
	turn := func(g, h *big.Float) { // (g, h) = (c·g − s·h, s·g + c·h)
		x.Mul(s, g)
		y.Mul(s, h)
		g.Sub(g.Mul(g, c), y)
		h.Add(h.Mul(h, c), x)
	}
	for k := range b.Rows {
		turn(b.At(p, k), b.At(q, k))
		turn(v.At(p, k), v.At(q, k))
	}
	for k := range b.Rows {
		turn(b.At(k, p), b.At(k, q))
	}
}

func (e *Exact) orthonormalise() bool {
	t, s := new(big.Float), new(big.Float)
	for i := range e.Rows {
		x := e.row(i)
		for j := range i + 1 {
			s.SetPrec(0).SetPrec(bits)
			y := e.row(j)
			dot(s, t, x, y)
			if j == i {
				if s.Cmp(big.NewFloat(0.5)) < 0 {
					return false
				}
				s.Sqrt(s)
			}
			for k := range x {
				if j == i {
					x[k].Quo(&x[k], s)
				} else {
					x[k].Sub(&x[k], t.Mul(s, &y[k]))
				}
			}
		}
	}
	return true
}

// AddOuter adds f·xᵀ·x, x = row i of v.
func (e *Exact) AddOuter(f *big.Float, v *Exact, i int) {
	x, t, u := v.row(i), new(big.Float), new(big.Float)
	for r := range x {
		t.Mul(f, &x[r])
		for c := range x {
			e.At(r, c).Add(e.At(r, c), u.Mul(t, &x[c]))
		}
	}
}
