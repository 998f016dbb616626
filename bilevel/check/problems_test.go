package check

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/quadratic"
	"stable/mat/mattest"
)

// good is correct, neither quadratic nor separable; each term of the sum has its own parameters:
//
//	f = Σ cos(x_i + a_i) + ½‖y − b‖² + (Σ x_i)·uᵀy
//	g = ½ yᵀA y + Σ e^{x_j/2} y_j²/2 + ½ Σ cos(y_j + p_j) − sin(x)ᵀB y,    A = diag(2, 3, …) + ¼·11ᵀ, j of x_j modulo dx.
func newGood() *auto.Problem { return goodOf(3, 3, wholeSum) }

type loss = func(x, y auto.Vec, s bilevel.Sample) auto.Num

func made[P any](p P, err error) P { return bileveltest.Must(p, err) }

func ofLosses(dx, dy int, f, g func(x, y auto.Vec) auto.Num) *auto.Problem {
	return made(auto.New(auto.Losses{Dx: dx, Dy: dy, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return f(x, y) },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return g(x, y) }}))
}

// wholeSum is the number of terms of a simulator: names are taken modulo it, for an exact value.
const wholeSum = 12

func goodOf(dx, dy int, terms uint64) *auto.Problem {
	vec := func(rng *rand.Rand, n int) auto.Vec {
		return auto.Data(mattest.List(n, func(int) float64 { return 0.5 + 0.3*rng.NormFloat64() }))
	}
	draw := func(s bilevel.Sample) (a, b, u, p, m auto.Vec) {
		rng := rand.New(rand.NewPCG(uint64(s)%wholeSum, 77))
		a, b, u, p, m = vec(rng, dx), vec(rng, dy), vec(rng, dy), vec(rng, dy), vec(rng, dx*dy)
		for k := range m.Value() {
			m.Value()[k] += math.Cos(float64(2*(k/dy) + 5*(k%dy)))
		}
		return a, b, u, p, m
	}
	f := func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		a, b, u, _, _ := draw(s)
		return x.Add(a).Cos().Sum().Add(y.Sub(b).SquaredNorm().Scale(0.5)).Add(x.Sum().Mul(y.Dot(u)))
	}
	g := func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		_, _, _, p, m := draw(s)
		var exponents []auto.Num
		for j := range dy {
			exponents = append(exponents, x.At(j%dx).Scale(0.5))
		}
		diagonal := mattest.List(dy, func(j int) float64 { return float64(j) + 2 })
		weights := auto.Stack(exponents...).Exp().Add(auto.Data(diagonal))
		sum := y.WeightedSquares(weights).Add(y.Sum().Square().Scale(0.25)).Add(y.Add(p).Cos().Sum())
		return sum.Scale(0.5).Sub(m.Mat(dx, dy).MulVecTrans(x.Sin()).Dot(y))
	}
	mean := func(l loss) func(x, y auto.Vec) auto.Num {
		return func(x, y auto.Vec) (sum auto.Num) {
			for s := range bilevel.Sample(wholeSum) {
				sum = sum.Add(l(x, y, s).Scale(1. / wholeSum))
			}
			return sum
		}
	}
	return made(auto.New(auto.Losses{Dx: dx, Dy: dy, Upper: terms, Lower: terms, F: f, G: g,
		MeanF: mean(f), MeanG: mean(g)}))
}

func noisy(terms uint64) *quadratic.Problem {
	return made(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, Terms: terms, SigmaFx: 0.5, SigmaFy: 0.5,
		SigmaGy: 0.5, SigmaGxy: 0.5, SigmaGyy: 0.5}))
}

// root is g = ½‖y‖² − Σ √x_i y_i, f = ½‖y‖² + Σ x_i log x_i for x > 0; else it fails if fussy, or is NaN.
func root(fussy bool, set bilevel.Set) bilevel.Problem {
	p := ofLosses(3, 3, func(x, y auto.Vec) auto.Num {
		return x.Mul(x.Log()).Sum().Add(y.SquaredNorm().Scale(0.5))
	}, func(x, y auto.Vec) auto.Num { return y.SquaredNorm().Scale(0.5).Sub(x.Sqrt().Dot(y)) })
	return bare{mutant{oracle: "all", fails: func(c written) error {
		p := slices.Clone(c.x)
		set.Project(p, p)
		if slices.Min(c.x) > 0 && distance(p, c.x) <= 1e-6 {
			return nil
		}
		if first, _ := c.ends(); !fussy {
			first[0] = math.NaN()
			return nil
		}
		return errors.New("x must be positive")
	}}.of(p)}
}

func scaled(s float64, terms uint64) full {
	return mutant{oracle: "all", after: func(c written) {
		times(s, c.fx, c.fy)
		if c.oracle == "ValueF" {
			*c.f *= s
		}
	}}.of(goodOf(3, 3, terms))
}

func flat(c float64) *auto.Problem {
	return ofLosses(1, 3, func(x, y auto.Vec) auto.Num { return y.SquaredNorm() },
		func(x, y auto.Vec) auto.Num { return y.Slice(1, 3).SquaredNorm().Scale(c / 2) })
}

func losses(l auto.Losses, f, pull loss) *auto.Problem {
	l.Dy, l.F = 1, f
	l.G = func(x, y auto.Vec, s bilevel.Sample) auto.Num { return y.At(0).Sub(pull(x, y, s)).Square() }
	return made(auto.New(l))
}

type lying struct {
	*quadratic.Problem
	solution  func(y []float64, start float64)
	objective func(f, grad []float64)
}

func (l lying) Solution(y, x []float64) error {
	start := y[1]
	err := l.Problem.Solution(y, x)
	if l.solution != nil {
		l.solution(y, start)
	}
	return err
}

func (l lying) Objective(grad, x []float64) (float64, error) {
	f, err := l.Problem.Objective(grad, x)
	v := []float64{f}
	if l.objective != nil {
		l.objective(v, grad)
	}
	return v[0], err
}

type joint struct{ *quadratic.Problem }

func (p joint) Joint() bilevel.Problem { return p }

func (p joint) JointG(gy, hv, cv, x, y, v []float64, phi []bilevel.Sample) error {
	err := errors.Join(p.GradG(gy, x, y, phi), p.HessVecG(hv, x, y, v, phi), p.CrossVecG(cv, x, y, v, phi))
	cv[1] *= 1 + 0x1p-52
	return err
}

type promises float64

func (s promises) ConvexityAt([]float64) float64 { return float64(s) }

func promise(s float64) bilevel.Problem {
	q := made(quadratic.New(quadratic.Options{Dx: 2, Dy: 3, Seed: 5, MuG: 2, SigmaGy: 0.3}))
	p := bilevel.Complete(q)
	p.StronglyConvex = promises(s)
	return p
}

type bare struct{ bilevel.Problem }

type bareGX struct {
	bilevel.Problem
	bilevel.UpperGradient
}

type withProducts struct {
	bilevel.Problem
	bilevel.Products
}

type full interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Values
}

type mutant struct {
	oracle string
	batch  func(c written) []bilevel.Sample // what is asked for in place of the batch
	after  func(c written)                  // changes what has been written
	fails  func(c written) error
}

type written struct {
	call
	was []float64
	f   *float64
}

func (m mutant) of(p full) full {
	w := values{&through{Completed: bilevel.Complete(p)}, new(float64)}
	w.around = func(c call, ask func(batch []bilevel.Sample) error) error {
		if m.oracle != "all" && m.oracle != c.oracle {
			return ask(c.batch)
		}
		_, last := c.ends()
		now := written{c, slices.Clone(last), nil}
		if c.oracle == "ValueF" {
			now.f = w.f
		}
		batch := c.batch
		if m.batch != nil {
			batch = m.batch(now)
		}
		err := ask(batch)
		if m.after != nil {
			m.after(now)
		}
		if m.fails != nil {
			return m.fails(now)
		}
		return err
	}
	return struct {
		bilevel.Problem
		bilevel.Products
		bilevel.UpperGradient
		bilevel.Values
	}{w, w, w, w}
}

type values struct {
	*through
	f *float64
}

func (w values) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	err := w.around(call{oracle: "ValueF", x: x, y: y, batch: xi}, func(xi []bilevel.Sample) (err error) {
		*w.f, err = w.Completed.ValueF(x, y, xi)
		return err
	})
	return *w.f, err
}

func noExact(oracles ...string) func(c written) error {
	return func(c written) error {
		if len(c.batch) == 0 && slices.Contains(oracles, c.oracle) {
			return bilevel.ErrNoExact
		}
		return nil
	}
}
