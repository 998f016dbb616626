package bilevel

import (
	"math"
	"math/rand/v2"

	"stable/mat"
)

// wavy is a small problem whose second derivatives change from point to point and from sample to
// sample:
//
//	g = ½ yᵀ(A + S_φ)y + κ Σ cos(y_j + p_j) − sin(x)ᵀ B_φ y,   f = ½‖x − a_ξ‖² + ½‖y − b_ξ‖²,
//
// a finite sum of n terms, each made from its index. Its zero-noise and large-noise forms have
// certain or indefinite Hessians.
type wavy struct {
	dx, dy int
	n      uint64
	kappa  float64
	noise  float64
	log    []call
}

// call is what an oracle was asked for.
type call struct {
	oracle string
	x, y   []float64
	batch  []Sample
}

func newWavy(noise float64) *wavy { return &wavy{dx: 3, dy: 4, n: 16, kappa: 0.3, noise: noise} }

type wavyTerm struct {
	s    *mat.Sym
	b    *mat.Dense
	p    []float64
	a, c []float64
}

func (w *wavy) term(i Sample) wavyTerm {
	rng := rand.New(rand.NewPCG(7, uint64(i)))
	t := wavyTerm{s: mat.NewSym(w.dy), b: mat.NewDense(w.dx, w.dy), p: make([]float64, w.dy), a: make([]float64, w.dx), c: make([]float64, w.dy)}
	for i := range w.dy {
		for j := range i + 1 {
			t.s.Set(i, j, w.noise*rng.NormFloat64())
		}
		t.s.Set(i, i, 1+float64(i)+t.s.At(i, i))
		t.p[i] = rng.NormFloat64()
		t.c[i] = 1 + w.noise*rng.NormFloat64()
	}
	for i := range w.dx {
		for j := range w.dy {
			t.b.Set(i, j, math.Sin(float64(3*i+j))+w.noise*rng.NormFloat64())
		}
		t.a[i] = 0.3 + w.noise*rng.NormFloat64()
	}
	return t
}

// mean calls f with each term of the batch, and its weight.
func (w *wavy) mean(oracle string, x, y []float64, batch []Sample, f func(t wavyTerm, weight float64)) {
	w.log = append(w.log, call{oracle, append([]float64(nil), x...), append([]float64(nil), y...), append([]Sample(nil), batch...)})
	if len(batch) == 0 {
		for i := range w.n {
			f(w.term(Sample(i)), 1/float64(w.n))
		}
		return
	}
	for _, i := range batch {
		f(w.term(i), 1/float64(len(batch)))
	}
}

func (w *wavy) Dims() (int, int)          { return w.dx, w.dy }
func (w *wavy) Streams() (uint64, uint64) { return w.n, w.n }

func (w *wavy) GradF(fx, fy, x, y []float64, xi []Sample) error {
	clear(fx)
	clear(fy)
	w.mean("GradF", x, y, xi, func(t wavyTerm, q float64) {
		for i := range fx {
			fx[i] += q * (x[i] - t.a[i])
		}
		for j := range fy {
			fy[j] += q * (y[j] - t.c[j])
		}
	})
	return nil
}

func (w *wavy) GradG(gy, x, y []float64, phi []Sample) error {
	clear(gy)
	w.mean("GradG", x, y, phi, func(t wavyTerm, q float64) {
		for j := range gy {
			v := -w.kappa * math.Sin(y[j]+t.p[j])
			for k := range y {
				v += t.s.At(j, k) * y[k]
			}
			for i := range x {
				v -= math.Sin(x[i]) * t.b.At(i, j)
			}
			gy[j] += q * v
		}
	})
	return nil
}

func (w *wavy) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	gxy.Zero()
	w.mean("CrossG", x, y, phi, func(t wavyTerm, q float64) {
		for i := range x {
			mat.Axpy(gxy.Row(i), -q*math.Cos(x[i]), t.b.Row(i))
		}
	})
	return nil
}

func (w *wavy) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	gyy.Zero()
	w.mean("HessG", x, y, phi, func(t wavyTerm, q float64) {
		for j := range y {
			mat.Axpy(gyy.Row(j), q, t.s.Row(j))
			gyy.Set(j, j, gyy.At(j, j)-q*w.kappa*math.Cos(y[j]+t.p[j]))
		}
	})
	return nil
}
