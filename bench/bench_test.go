package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

// Names and inputs are kept, so that runs compare over time; bench/peers has them for gonum.
var sizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		fmt.Printf("# %s\ntier: %s\n%s", kit.Machine(), kernel.Tier(), kit.Warning()) // a key of benchstat
	}
	os.Exit(m.Run())
}

// each runs what prepare returns for every size, and tells how many flops·n^power a second it makes.
func each(b *testing.B, flops, power float64, prepare func(n int) func()) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			run := prepare(n)
			run() // makes its workspace
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			if flops > 0 {
				gflops(b, flops*math.Pow(float64(n), power))
			}
		})
	}
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkMul(b *testing.B) {
	each(b, 2, 3, func(n int) func() {
		x, c := mattest.Dense(n, n, uint64(n)), mat.NewDense(n, n)
		return func() { mat.Mul(c, x, x) }
	})
}

func BenchmarkCholesky(b *testing.B) { factor(b, func(*chol.Cholesky) {}) }

// BenchmarkCond is a factorisation and the condition number, as gonum's Factorize.
func BenchmarkCond(b *testing.B) { factor(b, func(c *chol.Cholesky) { c.Cond() }) }

func factor(b *testing.B, then func(c *chol.Cholesky)) {
	each(b, 1./3, 3, func(n int) func() {
		a, c := mattest.SPD(n, uint64(n)), new(chol.Cholesky)
		return func() {
			kit.Must(0, c.Factor(a))
			then(c)
		}
	})
}

// BenchmarkSmall has orders down to where a call takes as long as its flops; no tier is to be slower.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32} {
		a, spd := mattest.Dense(n, n, uint64(n)), mattest.SPD(n, uint64(n))
		c, x, y := mat.NewDense(n, n), mattest.Vec(n, 1), make([]float64, n)
		var f chol.Cholesky
		kit.Must(0, f.Factor(spd))
		for _, op := range []struct {
			name string
			run  func()
		}{
			{"Mul", func() { mat.Mul(c, a, a) }},
			{"MulVec", func() { mat.MulVec(y, a, x) }},
			{"MulVecTrans", func() { mat.MulVecTrans(y, a, x) }},
			{"MulVecSym", func() { mat.MulVecSym(y, spd, x) }},
			{"Cholesky", func() { kit.Must(0, f.Factor(spd)) }},
			{"Solve", func() { f.SolveVec(y, x) }},
		} {
			b.Run(fmt.Sprintf("%s/n=%d", op.name, n), func(b *testing.B) {
				for b.Loop() {
					op.run()
				}
			})
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	each(b, 2, 2, func(n int) func() {
		x, rhs, c := make([]float64, n), mattest.Vec(n, 1), new(chol.Cholesky)
		kit.Must(0, c.Factor(mattest.SPD(n, uint64(n))))
		return func() { c.SolveVec(x, rhs) }
	})
}

// BenchmarkEig is a cold Jacobi decomposition; BenchmarkEigSym the tridiagonal form, as the peers'.
func BenchmarkEig(b *testing.B)    { decompose(b, new(eig.Jacobi).Factor) }
func BenchmarkEigSym(b *testing.B) { decompose(b, new(eig.Symmetric).Factor) }

func decompose(b *testing.B, factor func(*mat.Sym) error) {
	each(b, 0, 0, func(n int) func() {
		a := mattest.Sym(n, uint64(n))
		return func() { kit.Must(0, factor(a)) }
	})
}

// BenchmarkSamples is a step of a method that evaluates n samples of each level, on 10,000 dense rows
// of 50 features; bench/peers/numba_bench.py has the same loops.
func BenchmarkSamples(b *testing.B) {
	rows := func(seed uint64) *data.Data { return kit.NoisyRule(10000, 50, 0, rand.New(rand.NewPCG(seed, 0))) }
	p := kit.Must(hyperopt.New(rows(1), rows(2), hyperopt.Options{Form: hyperopt.Exp}))
	step := bilevel.Constant(1e-3)
	for _, m := range []bilevel.Method{method.SOBA{Alpha: step, Beta: step}, method.SABA{Alpha: step, Beta: step}} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/n=%d", m.Name(), batch), func(b *testing.B) {
				lo, hi := p.Box()
				x, y := make([]float64, 50), make([]float64, 50)
				p.Start(x, y)
				opt := bilevel.Options{X0: x, Set: bilevel.Box{Lo: lo, Hi: hi}, UpperBatch: batch, LowerBatch: batch}
				s := kit.Must(bilevel.New(p, m, opt))
				kit.Must(0, s.Step())
				b.ReportAllocs()
				for b.Loop() {
					kit.Must(0, s.Step())
				}
			})
		}
	}
}

// BenchmarkTruncate is the projection onto {X ⪰ 0.1·I}: clear has nothing to clip, few three
// eigenvalues, clipped about half the spectrum, warm is clipped while the matrix moves by 1 %.
func BenchmarkTruncate(b *testing.B) {
	truncate := func(p, a *mat.Sym) func() {
		t := new(eig.Truncator)
		return func() { kit.Must(t.Truncate(p, a, 0.1)) }
	}
	few := func(n int, seed uint64) *mat.Sym {
		lambda := mattest.List(n, func(i int) float64 { return 1 + float64(i)/float64(n) })
		copy(lambda, []float64{-1, -2, -3})
		return mattest.Spectrum(lambda, seed)
	}
	for i, input := range []func(n int, seed uint64) *mat.Sym{mattest.SPD, few, mattest.Sym} {
		b.Run([]string{"clear", "few", "clipped"}[i], func(b *testing.B) {
			each(b, 0, 0, func(n int) func() { return truncate(mat.NewSym(n), input(n, uint64(n))) })
		})
	}
	b.Run("warm", func(b *testing.B) {
		each(b, 0, 0, func(n int) func() {
			a, step := mattest.Sym(n, uint64(n)), mattest.Sym(n, uint64(n)+1)
			mat.ScaleSym(step, 0.01, step)
			run := truncate(mat.NewSym(n), a)
			return func() {
				mat.AddScaledSym(a, a, 1, step)
				mat.ScaleSym(step, -1, step)
				run()
			}
		})
	})
}

// BenchmarkStep is one step of STABLE with d_x = d_y = d where nothing is to be clipped; oracles fill the
// matrices at their first calls alone. With promise, the problem says how convex it is, and steps differ:
// 64 at a time. saa is the default over whole runs of 8d steps, oracles included. All but saa count the
// flops of two Cholesky factorisations.
func BenchmarkStep(b *testing.B) {
	fixed := bilevel.STABLE{
		Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.01), Tau: bilevel.Constant(0.1), MuG: 0.1, CGxy: 1e3,
	}
	step := func(b *testing.B, m bilevel.STABLE, steps int, problem func(d int) bilevel.Problem) {
		for _, d := range append([]int{2, 4, 8}, sizes...) {
			b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
				s := kit.Must(bilevel.New(problem(d), m, bilevel.Options{Set: bilevel.UniformBox(d, 0, 1)}))
				kit.Must(0, s.Step())
				kit.Must(0, s.Step())
				b.ReportAllocs()
				for b.Loop() {
					for range steps {
						kit.Must(0, s.Step())
					}
				}
				gflops(b, float64(steps)*2*math.Pow(float64(d), 3)/3)
				perStep(b, steps)
			})
		}
	}
	plain := func(d int) bilevel.Problem { return &still{d: d} }
	step(b, fixed, 1, plain)
	b.Run("adaptive", func(b *testing.B) { step(b, bilevel.STABLE{MuG: 0.1}, 1, plain) })
	b.Run("promise", func(b *testing.B) {
		step(b, fixed, 64, func(d int) bilevel.Problem { return promising{&still{d: d}} })
	})
	b.Run("saa", func(b *testing.B) {
		for _, d := range []int{14, 22, 32, 37, 54, 64, 91, 100} {
			b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
				p := kit.Must(quadratic.New(quadratic.Options{Dx: d, Dy: d, SigmaFx: 0.5, SigmaGy: 0.5}))
				for b.Loop() {
					s := kit.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(d, 0, 1)}))
					for range 8 * d {
						kit.Must(0, s.Step())
					}
				}
				perStep(b, 8*d)
			})
		}
	})
}

func perStep(b *testing.B, steps int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps*b.N), "ns/op")
}

// still is a problem whose derivatives are the same everywhere: g_yy = BBᵀ/d + I/2 with entries of
// B of variance 1, as in the step of NumPy that it is compared with.
type still struct {
	d           int
	cross, hess int // calls
	sign        float64
}

type promising struct{ *still }

func (promising) ConvexityAt([]float64) float64 { return 0.5 }

func (p *still) Dims() (int, int)          { return p.d, p.d }
func (p *still) Streams() (uint64, uint64) { return 0, 0 }

// GradF and GradG turn round at every step, so that x and y keep moving.
func (p *still) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	p.sign = 1 - float64(p.hess&2)
	for i := range fx {
		fx[i], fy[i] = p.sign*(1+x[i]), p.sign
	}
	return nil
}

func (p *still) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	for i := range gy {
		gy[i] = p.sign + y[i]
	}
	return nil
}

func (p *still) CrossG(gxy *mat.Dense, x, y []float64, _ []bilevel.Sample) error {
	if p.cross++; p.cross <= 3 {
		mat.Copy(gxy, mattest.Dense(p.d, p.d, uint64(p.d)))
	}
	return nil
}

func (p *still) HessG(gyy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	if p.hess++; p.hess <= 3 {
		gyy.Zero()
		mat.RankK(gyy, 12/float64(p.d), mattest.Dense(p.d, p.d, uint64(p.d)))
		mat.AddIdentity(gyy, 0.5)
	}
	return nil
}
