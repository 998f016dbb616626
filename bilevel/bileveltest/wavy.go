// Package bileveltest, which makes no promise to others, holds problems, and Must, for the tests of
// this module's solvers and methods.
package bileveltest

import (
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel/hyperopt/data"
	"stable/chol"
	"stable/mat"
)

// Wavy is a small problem whose second derivatives change with the point and the sample:
//
//	g = ½ yᵀ(A + S_φ)y + κ Σ cos(y_j + p_j) − sin(x)ᵀ B_φ y,   f = ½‖x − a_ξ‖² + ½‖y − b_ξ‖²,
//
// a finite sum of N terms, each made from its index; with large noise its Hessians are indefinite.
// S is bilevel.Sample, a parameter so that tests inside of package bilevel can import this package.
type Wavy[S ~uint64] struct {
	Dx, Dy int
	N      uint64 // terms of both sums
	Kappa  float64
	Noise  float64
	Log    []Call[S] // where it is not nil, the oracles asked are added to it, in order

	// Identity makes A + S_φ the identity, which with Kappa = 0 is the composition of f with
	// h(x; φ) = B_φᵀ sin(x).
	Identity bool

	terms map[S]*term // those made so far
}

// Call is what an oracle was asked for.
type Call[S ~uint64] struct {
	Oracle string
	X, Y   []float64
	Batch  []S
}

// NewWavy returns one with three and four variables and 16 terms.
func NewWavy[S ~uint64](noise float64) *Wavy[S] {
	return &Wavy[S]{Dx: 3, Dy: 4, N: 16, Kappa: 0.3, Noise: noise}
}

type term struct {
	S       *mat.Sym
	B       *mat.Dense
	P, A, C []float64
}

func (w *Wavy[S]) term(i S) *term {
	if w.terms == nil {
		w.terms = map[S]*term{}
	}
	if w.terms[i] == nil {
		w.terms[i] = w.newTerm(i)
	}
	return w.terms[i]
}

func (w *Wavy[S]) newTerm(i S) *term {
	rng := rand.New(rand.NewPCG(7, uint64(i)))
	vec := func(n int) []float64 { return make([]float64, n) }
	t := &term{S: mat.NewSym(w.Dy), B: mat.NewDense(w.Dx, w.Dy), P: vec(w.Dy), A: vec(w.Dx), C: vec(w.Dy)}
	for i := range w.Dy {
		for j := range i + 1 {
			t.S.Set(i, j, w.Noise*rng.NormFloat64())
		}
		t.S.Set(i, i, 1+float64(i)+t.S.At(i, i))
		if w.Identity {
			clear(t.S.Row(i))
			t.S.Set(i, i, 1)
		}
		t.P[i] = rng.NormFloat64()
		t.C[i] = 1 + w.Noise*rng.NormFloat64()
	}
	for i := range w.Dx {
		for j := range w.Dy {
			t.B.Set(i, j, math.Sin(float64(3*i+j))+w.Noise*rng.NormFloat64())
		}
		t.A[i] = 0.3 + w.Noise*rng.NormFloat64()
	}
	return t
}

func (w *Wavy[S]) mean(oracle string, x, y []float64, batch []S, f func(t *term, weight float64)) {
	if w.Log != nil {
		w.Log = append(w.Log, Call[S]{oracle, slices.Clone(x), slices.Clone(y), slices.Clone(batch)})
	}
	if len(batch) == 0 {
		for i := range w.N {
			f(w.term(S(i)), 1/float64(w.N))
		}
		return
	}
	for _, i := range batch {
		f(w.term(i), 1/float64(len(batch)))
	}
}

func (w *Wavy[S]) Dims() (int, int)          { return w.Dx, w.Dy }
func (w *Wavy[S]) Streams() (uint64, uint64) { return w.N, w.N }

func (w *Wavy[S]) GradF(fx, fy, x, y []float64, xi []S) error {
	clear(fx)
	clear(fy)
	w.mean("GradF", x, y, xi, func(t *term, q float64) {
		for i := range fx {
			fx[i] += q * (x[i] - t.A[i])
		}
		for j := range fy {
			fy[j] += q * (y[j] - t.C[j])
		}
	})
	return nil
}

func (w *Wavy[S]) GradG(gy, x, y []float64, phi []S) error {
	clear(gy)
	w.mean("GradG", x, y, phi, func(t *term, q float64) {
		for j := range gy {
			v := -w.Kappa * math.Sin(y[j]+t.P[j])
			for k := range y {
				v += t.S.At(j, k) * y[k]
			}
			for i := range x {
				v -= math.Sin(x[i]) * t.B.At(i, j)
			}
			gy[j] += q * v
		}
	})
	return nil
}

func (w *Wavy[S]) CrossG(gxy *mat.Dense, x, y []float64, phi []S) error {
	gxy.Zero()
	w.mean("CrossG", x, y, phi, func(t *term, q float64) {
		for i := range x {
			mat.Axpy(gxy.Row(i), -q*math.Cos(x[i]), t.B.Row(i))
		}
	})
	return nil
}

func (w *Wavy[S]) HessG(gyy *mat.Sym, x, y []float64, phi []S) error {
	gyy.Zero()
	w.mean("HessG", x, y, phi, func(t *term, q float64) {
		for j := range y {
			mat.Axpy(gyy.Row(j), q, t.S.Row(j))
			gyy.Set(j, j, gyy.At(j, j)-q*w.Kappa*math.Cos(y[j]+t.P[j]))
		}
	})
	return nil
}

func (w *Wavy[S]) GradXG(gx, x, y []float64, phi []S) error {
	clear(gx)
	w.mean("GradXG", x, y, phi, func(t *term, q float64) {
		for i := range gx {
			gx[i] -= q * math.Cos(x[i]) * mat.Dot(t.B.Row(i), y)
		}
	})
	return nil
}

// Rows draws rows with a share of their entries; labels follow a noisy linear rule, or its signs.
func Rows(rng *rand.Rand, n, dim int, share float64, regression bool) *data.Data {
	d := &data.Data{Name: "random", Dim: dim, RowPtr: []int{0}}
	for i := range n {
		t := 0.3 * rng.NormFloat64()
		for j := range dim {
			if rng.Float64() < share {
				v := rng.NormFloat64()
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
				t += v * float64(j%3-1)
			}
		}
		if !regression {
			t = math.Copysign(1, t)
			if i < 2 {
				t = float64(2*i - 1)
			}
		}
		d.Label, d.RowPtr = append(d.Label, t), append(d.RowPtr, len(d.Col))
	}
	return d
}

// Solve returns A⁻¹b for a positive definite A.
func Solve(a *mat.Sym, b []float64) []float64 {
	var c chol.Cholesky
	Must(0, c.Factor(a))
	x := slices.Clone(b)
	c.SolveVec(x, x)
	return x
}

// Problem is bilevel.Problem.
type Problem[S ~uint64] interface {
	Dims() (dx, dy int)
	Streams() (upper, lower uint64)
	GradF(fx, fy, x, y []float64, xi []S) error
	GradG(gy, x, y []float64, phi []S) error
	CrossG(gxy *mat.Dense, x, y []float64, phi []S) error
	HessG(gyy *mat.Sym, x, y []float64, phi []S) error
}

// Faulty is a Problem of which one derivative goes wrong from an evaluation on.
type Faulty[S ~uint64] struct {
	Problem[S]
	Quantity string                  // f_x, f_y, g_x, g_y, H_xy or H_yy
	After    int                     // the number of evaluations that are right
	Fault    func(v []float64) error // what is done to the result, or to a row of it
}

func (f *Faulty[S]) spoil(quantity string, v []float64, err error) error {
	if err == nil && quantity == f.Quantity {
		if f.After--; f.After < 0 {
			return f.Fault(v)
		}
	}
	return err
}

func (f *Faulty[S]) GradF(fx, fy, x, y []float64, xi []S) error {
	err := f.spoil("f_x", fx, f.Problem.GradF(fx, fy, x, y, xi))
	return f.spoil("f_y", fy, err)
}

func (f *Faulty[S]) GradG(gy, x, y []float64, phi []S) error {
	return f.spoil("g_y", gy, f.Problem.GradG(gy, x, y, phi))
}

func (f *Faulty[S]) CrossG(gxy *mat.Dense, x, y []float64, phi []S) error {
	return f.spoil("H_xy", gxy.Row(min(1, gxy.Rows-1)), f.Problem.CrossG(gxy, x, y, phi))
}

func (f *Faulty[S]) HessG(gyy *mat.Sym, x, y []float64, phi []S) error {
	return f.spoil("H_yy", gyy.Row(min(1, gyy.N-1)), f.Problem.HessG(gyy, x, y, phi))
}

// GradXG is that of bilevel.UpperGradient. It panics where the problem is none.
func (f *Faulty[S]) GradXG(gx, x, y []float64, phi []S) error {
	p := f.Problem.(interface {
		GradXG(gx, x, y []float64, phi []S) error
	})
	return f.spoil("g_x", gx, p.GradXG(gx, x, y, phi))
}

// Must returns v, and panics with an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
