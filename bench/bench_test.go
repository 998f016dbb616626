package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

// The names and inputs of these benchmarks are kept, so that runs compare over time; bench/peers
// has the same ones for gonum.
var sizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

// TestMain says above the benchmarks what they are measured with.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		fmt.Printf("# %s\ntier: %s\n%s", kit.Machine(), kernel.Tier(), kit.Warning()) // a key of benchstat
	}
	os.Exit(m.Run())
}

func each(b *testing.B, param string, f func(b *testing.B, n int), smaller ...int) {
	for _, n := range append(smaller, sizes...) {
		b.Run(fmt.Sprintf("%s=%d", param, n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
		})
	}
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func cube(n int) float64 { return math.Pow(float64(n), 3) }

func BenchmarkMul(b *testing.B) {
	each(b, "n", func(b *testing.B, n int) {
		x, c := mattest.Dense(n, n, uint64(n)), mat.NewDense(n, n)
		for b.Loop() {
			mat.Mul(c, x, x)
		}
		gflops(b, 2*cube(n))
	})
}

func BenchmarkCholesky(b *testing.B) { factor(b, func(*chol.Cholesky) {}) }

// BenchmarkCond is a factorisation and the condition number, as gonum's Factorize.
func BenchmarkCond(b *testing.B) { factor(b, func(c *chol.Cholesky) { c.Cond() }) }

func factor(b *testing.B, then func(*chol.Cholesky)) {
	each(b, "n", func(b *testing.B, n int) {
		a := mattest.SPD(n, uint64(n))
		var c chol.Cholesky
		must(c.Factor(a))
		for b.Loop() {
			must(c.Factor(a))
			then(&c)
		}
		gflops(b, cube(n)/3)
	})
}

// BenchmarkSmall are orders below those of the other benchmarks, down to where a call takes as long
// as its flops: no tier of the kernels is to be slower than another there.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32} {
		a, spd := mattest.Dense(n, n, uint64(n)), mattest.SPD(n, uint64(n))
		c, x, y := mat.NewDense(n, n), mattest.Vec(n, 1), make([]float64, n)
		var f chol.Cholesky
		must(f.Factor(spd))
		for _, op := range []struct {
			name string
			run  func()
		}{
			{"Mul", func() { mat.Mul(c, a, a) }},
			{"MulVec", func() { mat.MulVec(y, a, x) }},
			{"MulVecTrans", func() { mat.MulVecTrans(y, a, x) }},
			{"MulVecSym", func() { mat.MulVecSym(y, spd, x) }},
			{"Cholesky", func() { must(f.Factor(spd)) }},
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

// BenchmarkSolve is one right-hand side with a factor that exists.
func BenchmarkSolve(b *testing.B) {
	each(b, "n", func(b *testing.B, n int) {
		x, rhs := make([]float64, n), mattest.Vec(n, 1)
		var c chol.Cholesky
		must(c.Factor(mattest.SPD(n, uint64(n))))
		for b.Loop() {
			c.SolveVec(x, rhs)
		}
		gflops(b, 2*float64(n)*float64(n))
	})
}

// BenchmarkEig is a cold Jacobi decomposition, values and vectors.
func BenchmarkEig(b *testing.B) {
	each(b, "n", func(b *testing.B, n int) {
		a := mattest.Sym(n, uint64(n))
		var e eig.Jacobi
		must(e.Factor(a))
		for b.Loop() {
			must(e.Factor(a))
		}
	})
}

// BenchmarkEigSym is a decomposition by way of the tridiagonal form, values and vectors: all that
// the peers do for it, too.
func BenchmarkEigSym(b *testing.B) {
	each(b, "n", func(b *testing.B, n int) {
		a := mattest.Sym(n, uint64(n))
		var e eig.Symmetric
		must(e.Factor(a))
		for b.Loop() {
			must(e.Factor(a))
		}
	})
}

// BenchmarkTruncate is the projection onto {X ⪰ 0.1·I}: clear has nothing to clip, few three
// eigenvalues, clipped about half the spectrum, and warm is clipped again and again while the
// matrix moves by 1 %. All have their workspace.
func BenchmarkTruncate(b *testing.B) {
	cold := func(shift func(n int) float64, input func(n int) *mat.Sym) func(b *testing.B) {
		return func(b *testing.B) {
			each(b, "n", func(b *testing.B, n int) {
				a, p := input(n), mat.NewSym(n)
				mat.AddIdentity(a, shift(n))
				t := warm(a, p)
				for b.Loop() {
					_, err := t.Truncate(p, a, 0.1)
					must(err)
				}
			})
		}
	}
	sym := func(n int) *mat.Sym { return mattest.Sym(n, uint64(n)) }
	none := func(int) float64 { return 0 }
	b.Run("clear", cold(func(n int) float64 { return float64(n) }, sym))
	b.Run("few", cold(none, func(n int) *mat.Sym {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = 1 + float64(i)/float64(n)
			if i < 3 {
				lambda[i] = -1 - float64(i)
			}
		}
		return mattest.Spectrum(lambda, uint64(n))
	}))
	b.Run("clipped", cold(none, sym))
	b.Run("warm", func(b *testing.B) {
		each(b, "n", func(b *testing.B, n int) {
			p := mat.NewSym(n)
			a, step := sym(n), mattest.Sym(n, uint64(n)+1)
			mat.ScaleSym(step, 0.01, step)
			t := warm(a, p)
			for b.Loop() {
				mat.AddScaledSym(a, a, 1, step)
				mat.ScaleSym(step, -1, step)
				_, err := t.Truncate(p, a, 0.1)
				must(err)
			}
		})
	})
}

// warm is a Truncator that has its workspace.
func warm(a, p *mat.Sym) *eig.Truncator {
	t := new(eig.Truncator)
	_, err := t.Truncate(p, a, 0.1)
	must(err)
	return t
}

// BenchmarkStep is one step of STABLE with d_x = d_y = d where nothing is to be clipped. The
// oracles cost nothing: after the first calls, which fill the estimator's matrices, they write only
// what has become of these. With promise, the problem promises how convex it is, and some steps cost
// twice as much as others: 64 at a time. adaptive has the default step sizes. All count the flops of
// two Cholesky factorisations.
func BenchmarkStep(b *testing.B) {
	fixed := bilevel.STABLE{
		Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.01), Tau: bilevel.Constant(0.1), MuG: 0.1, CGxy: 1e3,
	}
	step := func(m bilevel.STABLE, steps int, problem func(d int) bilevel.Problem) func(b *testing.B, d int) {
		return func(b *testing.B, d int) {
			s, err := bilevel.New(problem(d), m, bilevel.Options{Set: bilevel.UniformBox(d, 0, 1)})
			must(err)
			must(s.Step())
			must(s.Step())
			for b.Loop() {
				for range steps {
					must(s.Step())
				}
			}
			gflops(b, float64(steps)*2*cube(d)/3)
			perStep(b, steps)
		}
	}
	plain := func(d int) bilevel.Problem { return &still{d: d} }
	each(b, "d", step(fixed, 1, plain), 2, 4, 8)
	b.Run("adaptive", func(b *testing.B) { each(b, "d", step(bilevel.STABLE{MuG: 0.1}, 1, plain), 2, 4, 8) })
	b.Run("promise", func(b *testing.B) {
		each(b, "d", step(fixed, 64, func(d int) bilevel.Problem { return promising{&still{d: d}} }))
	})
	b.Run("saa", func(b *testing.B) { each(b, "d", wholeRuns) })
}

// perStep makes ns/op the time of one of so many steps.
func perStep(b *testing.B, steps int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps*b.N), "ns/op")
}

// wholeRuns is the default over whole runs of 8d steps, oracles included, since its steps differ.
func wholeRuns(b *testing.B, d int) {
	if d > 100 {
		b.Skip("long")
	}
	p, err := quadratic.New(quadratic.Options{Dx: d, Dy: d, SigmaFx: 0.5, SigmaGy: 0.5})
	must(err)
	for b.Loop() {
		s, err := bilevel.New(p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(d, 0, 1)})
		must(err)
		for range 8 * d {
			must(s.Step())
		}
	}
	perStep(b, 8*d)
}

// still is a problem whose derivatives are the same everywhere: g_yy = BBᵀ/d + I/2 with entries of
// B of variance 1, as in the step of NumPy that it is compared with.
type still struct {
	d           int
	cross, hess int // calls
	sign        float64
}

// promising is still with a promise.
type promising struct{ *still }

func (promising) ConvexityAt([]float64) float64 { return 0.5 }

func (p *still) Dims() (int, int)          { return p.d, p.d }
func (p *still) Streams() (uint64, uint64) { return 0, 0 }

// GradF and GradG turn round at every step, so that x and y keep moving.
func (p *still) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	p.sign = 1 - 2*float64(p.hess&2)/2
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
