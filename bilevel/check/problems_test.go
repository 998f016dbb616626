package check

import (
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

// good is correct, neither quadratic nor separable; each term of the sum has its own parameters:
//
//	f = Σ cos(x_i + a_i) + ½‖y − b‖² + (Σ x_i)·uᵀy
//	g = ½ yᵀA y + Σ e^{x_j/2} y_j²/2 + κ Σ cos(y_j + p_j) − sin(x)ᵀB y,    A = diag(2, 3, …) + ¼·11ᵀ, j of x_j modulo dx.
type good struct {
	dx, dy int
	n      uint64 // terms; 0: a simulator
	sigma  float64
}

func newGood() *good { return &good{dx: 3, dy: 3, n: 12, sigma: 0.3} }

// wholeSum is the number of terms of a simulator: names are taken modulo it, for an exact value.
const wholeSum = 12

type term struct {
	a, b, u, p []float64
	m          *mat.Dense
}

func (q *good) term(s bilevel.Sample) term {
	rng := rand.New(rand.NewPCG(uint64(s)%wholeSum, 77))
	vec := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = 0.5 + q.sigma*rng.NormFloat64()
		}
		return v
	}
	t := term{a: vec(q.dx), b: vec(q.dy), u: vec(q.dy), p: vec(q.dy)}
	t.m = &mat.Dense{Rows: q.dx, Cols: q.dy, Stride: q.dy, Data: vec(q.dx * q.dy)}
	for i := range q.dx {
		for j := range q.dy {
			t.m.Set(i, j, t.m.At(i, j)+math.Cos(float64(2*i+5*j)))
		}
	}
	return t
}

const kappa = 0.5

func (q *good) each(batch []bilevel.Sample, f func(t term, w float64)) {
	for s, w := range bilevel.Each(batch, wholeSum) {
		f(q.term(s), w)
	}
}

func (q *good) Dims() (dx, dy int)             { return q.dx, q.dy }
func (q *good) Streams() (upper, lower uint64) { return q.n, q.n }

func (q *good) weight(x []float64, j int) float64 { return math.Exp(x[j%q.dx] / 2) }

func (q *good) ValueF(x, y []float64, xi []bilevel.Sample) (f float64, err error) {
	q.each(xi, func(t term, w float64) {
		for i, v := range x {
			f += w * math.Cos(v+t.a[i])
		}
		for j, v := range y {
			f += w * (v - t.b[j]) * (v - t.b[j]) / 2
		}
		f += w * sum(x) * mat.Dot(t.u, y)
	})
	return f, nil
}

func (q *good) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	clear(fx)
	clear(fy)
	q.each(xi, func(t term, w float64) {
		for i, v := range x {
			fx[i] += w * (mat.Dot(t.u, y) - math.Sin(v+t.a[i]))
		}
		for j, v := range y {
			fy[j] += w * (v - t.b[j] + sum(x)*t.u[j])
		}
	})
	return nil
}

func (q *good) ValueG(x, y []float64, phi []bilevel.Sample) (g float64, err error) {
	q.each(phi, func(t term, w float64) {
		g += w * sum(y) * sum(y) / 8
		for j, v := range y {
			g += w * ((float64(j)+2+q.weight(x, j))*v*v/2 + kappa*math.Cos(v+t.p[j]))
			for i, u := range x {
				g -= w * math.Sin(u) * t.m.At(i, j) * v
			}
		}
	})
	return g, nil
}

func (q *good) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	clear(gy)
	q.each(phi, func(t term, w float64) {
		for j, v := range y {
			gy[j] += w * (sum(y)/4 + (float64(j)+2+q.weight(x, j))*v - kappa*math.Sin(v+t.p[j]))
			for i, u := range x {
				gy[j] -= w * math.Sin(u) * t.m.At(i, j)
			}
		}
	})
	return nil
}

func (q *good) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	gxy.Zero()
	q.each(phi, func(t term, w float64) {
		for i, u := range x {
			for j, v := range y {
				d := -math.Cos(u) * t.m.At(i, j)
				if j%q.dx == i {
					d += q.weight(x, j) * v / 2
				}
				gxy.Set(i, j, gxy.At(i, j)+w*d)
			}
		}
	})
	return nil
}

func (q *good) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	gyy.Zero()
	q.each(phi, func(t term, w float64) {
		for i := range q.dy {
			for j := range i + 1 {
				d := 0.25
				if i == j {
					d += float64(j) + 2 + q.weight(x, j) - kappa*math.Cos(y[j]+t.p[j])
				}
				gyy.Set(i, j, gyy.At(i, j)+w*d)
			}
		}
	})
	return nil
}

func (q *good) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	h := mat.NewSym(q.dy)
	_ = q.HessG(h, x, y, phi)
	mat.MulVecSym(dst, h, v)
	return nil
}

func (q *good) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	h := mat.NewDense(q.dx, q.dy)
	_ = q.CrossG(h, x, y, phi)
	mat.MulVec(dst, h, v)
	return nil
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

type full interface {
	bilevel.Problem
	bilevel.Products
	bilevel.Values
}

type mutant struct {
	full
	gradF     func(fx, fy, x, y []float64, xi []bilevel.Sample) error
	gradG     func(gy, x, y []float64, phi []bilevel.Sample) error
	crossG    func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error
	hessG     func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error
	hessVecG  func(dst, x, y, v []float64, phi []bilevel.Sample) error
	crossVecG func(dst, x, y, v []float64, phi []bilevel.Sample) error
	valueF    func(x, y []float64, xi []bilevel.Sample) (float64, error)
}

func (m *mutant) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if m.gradF != nil {
		return m.gradF(fx, fy, x, y, xi)
	}
	return m.full.GradF(fx, fy, x, y, xi)
}

func (m *mutant) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	if m.gradG != nil {
		return m.gradG(gy, x, y, phi)
	}
	return m.full.GradG(gy, x, y, phi)
}

func (m *mutant) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	if m.crossG != nil {
		return m.crossG(gxy, x, y, phi)
	}
	return m.full.CrossG(gxy, x, y, phi)
}

func (m *mutant) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if m.hessG != nil {
		return m.hessG(gyy, x, y, phi)
	}
	return m.full.HessG(gyy, x, y, phi)
}

func (m *mutant) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if m.hessVecG != nil {
		return m.hessVecG(dst, x, y, v, phi)
	}
	return m.full.HessVecG(dst, x, y, v, phi)
}

func (m *mutant) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if m.crossVecG != nil {
		return m.crossVecG(dst, x, y, v, phi)
	}
	return m.full.CrossVecG(dst, x, y, v, phi)
}

func (m *mutant) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	if m.valueF != nil {
		return m.valueF(x, y, xi)
	}
	return m.full.ValueF(x, y, xi)
}

// bare hides Products and Values.
type bare struct{ bilevel.Problem }
