package auto_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel/auto"
	"stable/bilevel/check"
	"stable/mat"
)

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

// recent draws one of all, rather a late one.
func recent[T any](rng *rand.Rand, all []T) T {
	return all[len(all)-1-min(rng.IntN(len(all)), rng.IntN(len(all)))]
}

func (r *random) data(n int) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = r.rng.NormFloat64() / math.Sqrt(float64(n))
	}
	return a
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
	seeds := uint64(300)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		f.Add(seed, uint8(seed), uint8(2*seed), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, dx, dy, steps uint8) {
		p := lowerLoss(t, 1+int(dx)%16, 1+int(dy)%16, randomLoss(seed, 1+int(steps)%24))
		rng := rand.New(rand.NewPCG(seed, 6))
		x, y, _ := pointOf(p)
		for _, z := range [][]float64{x, y} {
			for i := range z {
				z[i] = rng.NormFloat64()
			}
		}
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
	r, err := check.Problem(p, check.Options{Points: 1, Center: x, CenterY: y, ScaleX: 1e-2, ScaleY: 1e-2})
	require.NoError(t, err)
	for _, f := range r.Findings {
		require.Equal(t, check.Convexity, f.Check, r)
	}
	for _, oracle := range []string{"GradF", "GradG", "GradXG", "CrossG", "HessG"} {
		require.True(t, slices.ContainsFunc(r.Passed, func(p check.Pass) bool {
			return p.Check == check.Derivative && p.Oracle == oracle
		}), "%s: %s", oracle, r)
	}
}
