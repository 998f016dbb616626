package auto_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
	"stable/mat/mattest"
)

type example struct {
	p *auto.Problem
	o check.Options
}

func examples(t testing.TB) map[string]example {
	rng := rand.New(rand.NewPCG(7, 7))
	a, b := rowsOf(rng, 12, 5, 9)
	c, e := rowsOf(rng, 20, 5, 20)
	noise := func(s bilevel.Sample) float64 { return rand.New(rand.NewPCG(uint64(s), 1)).NormFloat64() }
	weighted := func(x, y vec) num { return x.Sum().Mul(y.SquaredNorm()).Add(y.At(0).Mul(x.At(1))) }
	simulator := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 3,
		F: func(x, y vec, s bilevel.Sample) num {
			return y.Sum().Scale(1 + noise(s)/5).Sin().Add(x.SquaredNorm())
		},
		G: func(x, y vec, s bilevel.Sample) num {
			return y.Shift(noise(s) / 4).SquaredNorm().Scale(0.5).Add(weighted(x, y))
		},
		MeanG: func(x, y vec) num { return y.SquaredNorm().Scale(0.5).Add(weighted(x, y)).Shift(3. / 32) },
	}))
	classes := func(y vec, i bilevel.Sample) num { // i modulo 3 is the class of row i
		score := y.Mat(3, 5).MulVec(auto.Data(a[i]))
		return score.LogSumExp().Sub(score.At(int(i) % 3))
	}
	softmax := bileveltest.Must(auto.New(auto.Losses{Dx: 15, Dy: 15, Upper: 12, Lower: 12,
		F: func(_, y vec, i bilevel.Sample) num { return classes(y, i) },
		G: func(x, y vec, i bilevel.Sample) num { return classes(y, i).Add(y.WeightedSquares(x.Exp())) },
	}))
	return map[string]example{
		"cleaning":  {bileveltest.Must(cleaning(a, b, c, e)), check.Options{MuG: 0.1}},
		"softmax":   {softmax, check.Options{}},
		"tuning":    {tuning(t, bileveltest.Rows(rng, 1000, 6, 0.5, false)), check.Options{Set: bilevel.UniformBox(6, 0.1, 1)}},
		"simulator": {simulator, check.Options{Set: bilevel.NonNegative{}, MuG: 1}},
	}
}

func TestExamplesPassTheChecks(t *testing.T) {
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				e.o.Seed = seed
				report := bileveltest.Must(check.Problem(e.p, e.o))
				require.NoError(t, report.Err(), report)
				if name != "simulator" { // whose f has no exact value
					assert.Empty(t, report.Skipped)
				}
			}
		})
	}
}

func all(t testing.TB, p bilevel.Problem, x, y, v []float64, batch []bilevel.Sample) (written []float64) {
	oracles := calls(p, x, y, v)
	for _, name := range slices.Sorted(maps.Keys(oracles)) {
		written = append(written, bileveltest.Must(oracles[name](batch))...)
	}
	return written
}

// Clones side by side, and a problem that has just failed, give the same bits, without allocation.
func TestReproducible(t *testing.T) {
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			x, y, v := pointOf(e.p)
			some := batch{2, 0, 1, 2}
			first := all(t, e.p, x, y, v, some)
			bad := slices.Clone(y)
			bad[0] = math.NaN()
			err := e.p.HessG(mat.NewSym(len(y)), x, bad, some)
			require.Error(t, err)
			assert.Equal(t, first, all(t, e.p, x, y, v, some))
			var wg sync.WaitGroup
			for range 4 {
				clone := e.p.Clone()
				wg.Add(1)
				go func() {
					defer wg.Done()
					_ = all(t, clone, x, v, y, some)
					assert.Equal(t, first, all(t, clone, x, y, v, some))
				}()
			}
			wg.Wait()
			for _, b := range []batch{{0, 1, 2}, nil} {
				for oracle, call := range calls(e.p, x, y, v) {
					if name != "simulator" { // whose losses make generators
						assert.Zero(t, testing.AllocsPerRun(5, func() { _, err = call(b) }), oracle)
						require.NoError(t, err)
					}
				}
			}
		})
	}
}

func TestMemoryGrows(t *testing.T) {
	const d = 5000
	loss := func(x, y vec, s bilevel.Sample) num {
		u := y.Mul(x)
		for range s {
			u = u.Scale(2)
		}
		return u.Square().Sum().Scale(0.5)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: d, Dy: d, F: loss, G: loss}))
	x, y, v := pointOf(p)
	product := calls(p, x, y, v)["HessVecG"]
	for _, some := range []batch{{0}, {3}, {1}, {7}, {2}} {
		h := bileveltest.Must(product(some))
		for i := range h {
			want := x[i] * x[i] * v[i] * math.Pow(4, float64(some[0]))
			require.InDelta(t, want, h[i], 1e-13*math.Abs(want))
		}
		assert.Zero(t, testing.AllocsPerRun(5, func() { _, _ = product(some) }))
	}
}

// tuning is the problem of hyperopt with x for weights, Σ x_i·y_i², as two losses.
func tuning(tb testing.TB, data *data.Data) *auto.Problem {
	loss := func(y vec, s bilevel.Sample) num {
		col, val := data.Row(int(s))
		if len(col) == data.Dim {
			return y.Dot(auto.Data(val)).Scale(-data.Label[s]).Softplus()
		}
		return y.DotSparse(col, val).Scale(-data.Label[s]).Softplus()
	}
	p, err := auto.New(auto.Losses{Dx: data.Dim, Dy: data.Dim, Upper: uint64(data.Rows()), Lower: uint64(data.Rows()),
		F:       func(x, y vec, s bilevel.Sample) num { return loss(y, s) },
		G:       func(x, y vec, s bilevel.Sample) num { return loss(y, s).Add(y.WeightedSquares(x)) },
		Modulus: func(x []float64) float64 { return 2 * slices.Min(x) },
	})
	require.NoError(tb, err)
	return p
}

func pointOf(p bilevel.Problem) (x, y, v []float64) {
	dx, dy := p.Dims()
	rng := rand.New(rand.NewPCG(3, 4))
	normal := func(int) float64 { return rng.NormFloat64() }
	x = mattest.List(dx, func(int) float64 { return 0.01 + rng.Float64() })
	return x, mattest.List(dy, normal), mattest.List(dy, normal)
}

type batch = []bilevel.Sample

type oracle = func(b batch) ([]float64, error)

func calls(problem bilevel.Problem, x, y, v []float64) map[string]oracle {
	p, dx, dy := bilevel.Complete(problem), len(x), len(y)
	vec := func(n int) []float64 { return make([]float64, n) }
	f, g, fxy, gx, gy, hv, cv := vec(1), vec(1), vec(dx+dy), vec(dx), vec(dy), vec(dy), vec(dx)
	gxy, gyy := mat.NewDense(dx, dy), mat.NewSym(dy)
	return map[string]oracle{
		"ValueF":    func(b batch) (_ []float64, err error) { f[0], err = p.ValueF(x, y, b); return f, err },
		"ValueG":    func(b batch) (_ []float64, err error) { g[0], err = p.ValueG(x, y, b); return g, err },
		"GradF":     func(b batch) ([]float64, error) { return fxy, p.GradF(fxy[:dx], fxy[dx:], x, y, b) },
		"GradG":     func(b batch) ([]float64, error) { return gy, p.GradG(gy, x, y, b) },
		"GradXG":    func(b batch) ([]float64, error) { return gx, p.GradXG(gx, x, y, b) },
		"CrossG":    func(b batch) ([]float64, error) { return gxy.Data, p.CrossG(gxy, x, y, b) },
		"HessG":     func(b batch) ([]float64, error) { return gyy.Data, p.HessG(gyy, x, y, b) },
		"HessVecG":  func(b batch) ([]float64, error) { return hv, p.HessVecG(hv, x, y, v, b) },
		"CrossVecG": func(b batch) ([]float64, error) { return cv, p.CrossVecG(cv, x, y, v, b) },
	}
}

// A random expression: values stay of order one and inside of domains.
type random struct {
	rng  *rand.Rand
	nums []num
	vecs []vec
}

func randomLoss(seed uint64, steps int) func(x, y vec) num {
	return func(x, y vec) num {
		r := &random{rng: rand.New(rand.NewPCG(seed, 5)), vecs: []vec{x, y, y}}
		r.nums = append(r.nums, x.At(r.rng.IntN(x.Len())), y.At(r.rng.IntN(y.Len())))
		for range 1 + r.rng.IntN(steps) {
			if r.rng.IntN(2) == 0 {
				r.nums = append(r.nums, r.newNum())
			} else {
				r.vecs = append(r.vecs, r.newVec())
			}
		}
		sum := auto.Const(0)
		for range 1 + r.rng.IntN(3) {
			sum = sum.Add(r.num().Mul(auto.Const(r.rng.NormFloat64())))
		}
		return sum.Add(r.newNum())
	}
}

func (r *random) num() num { return recent(r.rng, r.nums) }
func (r *random) vec() vec { return recent(r.rng, r.vecs) }

func recent[T any](rng *rand.Rand, all []T) T {
	return all[len(all)-1-min(rng.IntN(len(all)), rng.IntN(len(all)))]
}

func (r *random) data(n int) []float64 {
	return mattest.List(n, func(int) float64 { return r.rng.NormFloat64() / math.Sqrt(float64(n)) })
}

func (r *random) vecOf(n int) vec {
	for range 6 {
		if v := r.vec(); v.Len() == n {
			return v
		} else if v.Len() > n && r.rng.IntN(2) == 0 {
			i := r.rng.IntN(v.Len() - n + 1)
			return v.Slice(i, i+n)
		}
	}
	return auto.Data(r.data(n))
}

func (r *random) newNum() num {
	u, a, b := r.vec(), r.num(), r.num()
	n := u.Len()
	all := []func() num{
		func() num { return u.Sum().Tanh() },
		func() num { return u.Dot(auto.Data(r.data(n))) },
		func() num { return u.Dot(r.vecOf(n)) },
		func() num { return u.SquaredNorm() },
		func() num { return u.WeightedSquares(r.vecOf(n)) },
		func() num { return u.At(r.rng.IntN(n)) },
		func() num {
			var col []int32
			for i := r.rng.IntN(3); i < n; i += 1 + r.rng.IntN(3) {
				col = append(col, int32(i))
			}
			return u.DotSparse(col, r.data(len(col)))
		},
		func() num { return a.Tanh().Exp() },
		func() num { return a.Sigmoid().Add(b.Softplus().Tanh()) },
		func() num { return a.Tanh().Mul(b.Sin()) },
		func() num { return a.Sin().Div(b.Square().Shift(2)) },
		func() num { return a.Sub(b).Scale(0.3) },
		func() num { return u.LogSumExp().Tanh() },
		func() num { // a loop and a comparison that depend on the data
			for a.Value() > 1 {
				a = a.Scale(0.5)
			}
			return a.Square()
		},
	}
	return all[r.rng.IntN(len(all))]()
}

func (r *random) newVec() vec {
	u, a := r.vec(), r.num()
	n, m := u.Len(), 1+r.rng.IntN(4)
	rows := 1 + r.rng.IntN(n)
	fixed := auto.Matrix(&mat.Dense{Rows: m, Cols: n, Stride: n + 1, Data: r.data(m * (n + 1))})
	recorded := u.Slice(0, n/rows*rows).Mat(rows, n/rows)
	all := []func() vec{
		func() vec { return u.Tanh().Exp() },
		func() vec { return u.Sigmoid().Neg().Add(u.Softplus().Tanh()) },
		func() vec { return u.Add(r.vecOf(n)) },
		func() vec { return u.Sub(r.vecOf(n)).Tanh() },
		func() vec { return u.Tanh().Mul(r.vecOf(n).Tanh()) },
		func() vec { return u.Tanh().ScaleBy(a.Tanh()) },
		func() vec { return auto.Stack(a, auto.Const(0.5), r.num()).Tanh() },
		func() vec { return fixed.MulVec(u).Tanh() },
		func() vec { return fixed.MulVecTrans(r.vecOf(m)).Tanh() },
		func() vec { return recorded.MulVec(r.vecOf(n / rows)).Tanh() },
		func() vec { return recorded.MulVecTrans(r.vecOf(rows)).Tanh() },
	}
	return all[r.rng.IntN(len(all))]()
}

// FuzzExpressions holds second derivatives by structure against products, for any expression, and
// all against differences for some of the seeds: rare ones jump, or are flat to rounding.
func FuzzExpressions(f *testing.F) {
	seeds := uint64(mattest.Count(20, 300, 300))
	for seed := range seeds {
		f.Add(seed, uint8(seed), uint8(2*seed), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, dx, dy, steps uint8) {
		p := lowerLoss(t, 1+int(dx)%16, 1+int(dy)%16, randomLoss(seed, 1+int(steps)%24))
		rng := rand.New(rand.NewPCG(seed, 6))
		normal := func(int) float64 { return rng.NormFloat64() }
		x, y := mattest.List(1+int(dx)%16, normal), mattest.List(1+int(dy)%16, normal)
		against := againstProducts
		if seed%8 == 0 && seed < seeds && dx == uint8(seed) && dy == uint8(2*seed) && steps == dx {
			against = againstDifferences
		}
		against(t, p, x, y)
	})
}

func againstProducts(t *testing.T, p *auto.Problem, x, y []float64) {
	dx, dy := p.Dims()
	h, c, hv, cv, e := mat.NewSym(dy), mat.NewDense(dx, dy), make([]float64, dy), make([]float64, dx), make([]float64, dy)
	require.NoError(t, p.HessG(h, x, y, sample0))
	require.NoError(t, p.CrossG(c, x, y, sample0))
	tol := 1e-12 * (1e-3 + mat.MaxAbs(c) + mat.MaxAbsSym(h))
	for j := range dy {
		e[j] = 1
		require.NoError(t, p.HessVecG(hv, x, y, e, sample0))
		require.NoError(t, p.CrossVecG(cv, x, y, e, sample0))
		e[j] = 0
		for i, v := range hv {
			require.InDelta(t, v, h.At(i, j), tol, "g_yy %d %d", i, j)
		}
		for i, v := range cv {
			require.InDelta(t, v, c.At(i, j), tol, "g_xy %d %d", i, j)
		}
	}
}

func againstDifferences(t *testing.T, p *auto.Problem, x, y []float64) {
	againstProducts(t, p, x, y)
	if gy, err := calls(p, x, y, y)["GradG"](sample0); err != nil || mat.Norm(gy) < 1e-6 {
		// The gradient is what is left after terms cancel, and so rounding by its own size.
		return
	}
	r := bileveltest.Must(check.Problem(p, check.Options{Points: 1, Center: x, CenterY: y, ScaleX: 1e-2, ScaleY: 1e-2}))
	for _, f := range r.Findings {
		require.Equal(t, check.Convexity, f.Check, r)
	}
	for _, oracle := range []string{"GradF", "GradG", "GradXG", "CrossG", "HessG"} {
		require.True(t, slices.ContainsFunc(r.Passed, func(p check.Pass) bool {
			return p.Check == check.Derivative && p.Oracle == oracle
		}), "%s: %s", oracle, r)
	}
}
