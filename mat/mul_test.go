package mat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

type shape struct{ m, k, n int }

func shapes() (all []shape) {
	for _, n := range mattest.Orders {
		all = append(all, shape{n, n, n})
	}
	some := []int{0, 1, 2, 5, 16, 33}
	for _, m := range some {
		for _, k := range some {
			for _, n := range some {
				all = append(all, shape{m, k, n})
			}
		}
	}
	return append(all, shape{3, 600, 5}, shape{20, 530, 35}, shape{5, 3, 300}, shape{300, 3, 5}, shape{1, 1, 300},
		shape{70, 257, 19}, shape{91, 91, 91}, shape{40, 257, 64}, shape{300, 20, 200})
}

func scaledSum(c *mat.Dense, alpha float64, p *mat.Dense) *mat.Dense {
	return mattest.DenseOf(c.Rows, c.Cols, func(i, j int) float64 { return c.At(i, j) + alpha*p.At(i, j) })
}

// near allows the rounding of a product of inner size k with entries below 1.
func near(t *testing.T, want, got *mat.Dense, k int) {
	t.Helper()
	require.LessOrEqual(t, mattest.MaxDiff(want, got), float64(k+2)*mattest.Eps)
}

func TestMulForms(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, s := range shapes() {
			a, b, c := mattest.Dense(s.m, s.k, 1), mattest.Dense(s.k, s.n, 2), mattest.Dense(s.m, s.n, 3)
			product := mattest.Mul(a, b)
			sum := scaledSum(c, -0.75, product)
			at, bt := mattest.Trans(a), mattest.Trans(b)
			for name, f := range map[string]struct {
				call       func(dst, a, b *mat.Dense)
				a, b, want *mat.Dense
			}{
				"Mul":          {mat.Mul, a, b, product},
				"MulTransA":    {mat.MulTransA, at, b, product},
				"MulTransB":    {mat.MulTransB, a, bt, product},
				"AddMul":       {func(dst, a, b *mat.Dense) { mat.AddMul(dst, -0.75, a, b) }, a, b, sum},
				"AddMulTransA": {func(dst, a, b *mat.Dense) { mat.AddMulTransA(dst, -0.75, a, b) }, at, b, sum},
			} {
				for _, pad := range mattest.Strides {
					pa, pb, dst := mattest.Pad(f.a, pad), mattest.Pad(f.b, 2*pad), mattest.Pad(c, pad)
					f.call(dst, pa, pb)
					mattest.CheckPad(t, dst)
					near(t, f.want, dst, s.k)
					require.Zero(t, mattest.MaxDiff(pa, f.a)+mattest.MaxDiff(pb, f.b))
					require.False(t, t.Failed(), "%s %v pad %d", name, s, pad)
				}
			}
		}
	})
}

func TestSymmetricProducts(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range mattest.Orders {
			for _, k := range []int{0, 1, 2, 5, 16, 33, 65} {
				if testing.Short() && n*k > 65*65 {
					continue
				}
				a, b, s := mattest.Dense(n, k, 1), mattest.Dense(n, k, 2), mattest.Sym(n, 3)
				full, at, bt := mattest.Full(s), mattest.Trans(a), mattest.Trans(b)
				square, mixed := scaledSum(full, 1.5, mattest.Mul(a, at)), scaledSum(full, 1.5, mattest.Mul(a, bt))
				for _, pad := range mattest.Strides {
					product, dst := mattest.Pad(b, pad), mattest.PadSym(s, pad)
					mat.MulSym(product, dst, mattest.Pad(a, pad))
					near(t, mattest.Mul(full, a), product, n)
					mattest.CheckPad(t, product)
					check := func(name string, want *mat.Dense) {
						mattest.CheckPadSym(t, dst)
						for i := range n {
							require.LessOrEqual(t, mattest.MaxDiffVec(want.Row(i)[:i+1], dst.Row(i)),
								float64(k+2)*mattest.Eps, "%s n=%d k=%d pad=%d", name, n, k, pad)
						}
						mat.CopySym(dst, s)
					}
					mat.RankK(dst, 1.5, mattest.Pad(a, pad))
					check("RankK", square)
					mat.RankKTrans(dst, 1.5, mattest.Pad(at, pad))
					check("RankKTrans", square)
					mat.AddMulTransASym(dst, 1.5, mattest.Pad(at, pad), mattest.Pad(bt, pad))
					check("AddMulTransASym", mixed)
				}
			}
		}
	})
}

func TestMulHandsNaNOn(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range []int{3, 17, 65} {
			a, c := mattest.Dense(n, n, 1), mat.NewDense(n, n)
			a.Set(n/2, n-1, nan)
			mat.Mul(c, a, mat.NewDense(n, n))
			for k, v := range c.Data {
				require.Equal(t, k/n == n/2, v != v)
			}
		}
	})
}

func TestTriangularSolves(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range append([]int{0}, mattest.Orders...) {
			// U = triu(random) + n·I; the solver gets it with NaN below the diagonal.
			u, clean := mattest.Dense(n, n, 1), mat.NewDense(n, n)
			for i := range n {
				for j := range i {
					u.Set(i, j, nan)
				}
				u.Set(i, i, u.At(i, i)+float64(n))
				copy(clean.Row(i)[i:], u.Row(i)[i:])
			}
			l := mattest.Trans(u)
			for _, m := range []int{0, 1, 2, 3, 8, 17, 33} {
				x := mattest.Dense(n, m, 2)
				b, bt := mattest.Mul(clean, x), mattest.Mul(mattest.Trans(clean), x)
				for name, f := range map[string]struct {
					solve  func(dst, t, b *mat.Dense)
					vec    func(dst []float64, t *mat.Dense, b []float64)
					tri, b *mat.Dense
				}{
					"SolveUpper":      {mat.SolveUpper, mat.SolveUpperVec, u, b},
					"SolveUpperTrans": {mat.SolveUpperTrans, mat.SolveUpperTransVec, u, bt},
					"SolveLower":      {mat.SolveLower, mat.SolveLowerVec, l, bt},
					"SolveLowerTrans": {mat.SolveLowerTrans, mat.SolveLowerTransVec, l, b},
				} {
					for _, pad := range mattest.Strides {
						tri, y, in := mattest.Pad(f.tri, pad), mattest.Pad(mat.NewDense(n, m), pad), mattest.Pad(f.b, pad)
						f.solve(y, tri, in)
						near(t, x, y, 4*n)
						f.solve(in, tri, in)
						require.Zero(t, mattest.MaxDiff(in, y), "%s in place differs", name)
						mattest.CheckPad(t, y)
						mattest.CheckPad(t, in)
						if m == 1 {
							v, in := mat.NewDense(n, 1), mattest.Pad(f.b, 0)
							f.vec(v.Data, tri, in.Data)
							near(t, x, v, 4*n)
							f.vec(in.Data, tri, in.Data)
							require.Equal(t, v.Data, in.Data, "%sVec in place differs", name)
						}
					}
				}
			}
		}
	})
}
