package mat_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// lengths cross every unrolling of the vector loops.
func lengths() []int { return append(mattest.List(70, func(n int) int { return n }), 100, 129, 1000) }

func TestDotAndAxpy(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range lengths() {
			x, y := mattest.Vec(n, 1), mattest.Vec(n, 2)
			dot, sum := 0.0, make([]float64, n)
			for i := range n {
				dot += x[i] * y[i]
				sum[i] = y[i] - 1.25*x[i]
			}
			require.InDelta(t, dot, mat.Dot(x, y), float64(n)*mattest.Eps/4, "n=%d", n)
			// y stands in a longer array: what is behind it stays.
			long := append(append([]float64{7}, y...), 8)
			mat.Axpy(long[1:n+1], -1.25, x)
			require.LessOrEqual(t, mattest.MaxDiffVec(sum, long[1:n+1]), mattest.Eps, "n=%d", n)
			require.Equal(t, []float64{7, 8}, []float64{long[0], long[n+1]})
		}
	})
}

func TestMulVecForms(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, m := range append([]int{0}, mattest.Orders...) {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 18, 19, 20, 21, 33, 65, 129} {
				for _, pad := range mattest.Strides {
					a, x, xt := mattest.Dense(m, n, 1), mattest.Dense(n, 1, 2), mattest.Dense(m, 1, 3)
					y, yt := mattest.Dense(m, 1, 4), mattest.Dense(n, 1, 5)
					p := mattest.Pad(a, pad)
					mat.MulVec(y.Data, p, x.Data)
					mat.MulVecTrans(yt.Data, p, xt.Data)
					near(t, mattest.Mul(a, x), y, n)
					near(t, mattest.Mul(mattest.Trans(a), xt), yt, m)

					mat.Outer(p, 0.5, xt.Data, x.Data)
					mattest.CheckPad(t, p)
					near(t, scaledSum(a, 0.5, mattest.Mul(xt, mattest.Trans(x))), p, 1)
				}
			}
			for _, pad := range mattest.Strides {
				s, x, y := mattest.Sym(m, 1), mattest.Dense(m, 1, 2), mattest.Dense(m, 1, 4)
				p := mattest.PadSym(s, pad)
				mat.MulVecSym(y.Data, p, x.Data)
				near(t, mattest.Mul(mattest.Full(s), x), y, m)

				mat.RankOne(p, 0.5, x.Data)
				mattest.CheckPadSym(t, p)
				near(t, scaledSum(mattest.Full(s), 0.5, mattest.Mul(x, mattest.Trans(x))), mattest.Full(p), 1)
			}
		}
	})
}

// An infinite entry gives infinities, not NaN: no tile multiplies it by a zero of its own, and no
// vector that meets an entry twice counts it twice.
func TestInfStaysInf(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range append(lengths()[1:38], 65, 81) {
			ones := slices.Repeat([]float64{1}, n)
			for p := range n {
				a, s := mattest.Dense(n, n, 1), mattest.Sym(n, 1)
				a.Set(p, n-1-p, inf)
				s.Set(p, n-1-p, inf)
				x, xt, xs := make([]float64, n), make([]float64, n), make([]float64, n)
				mat.MulVec(x, a, ones)
				mat.MulVecTrans(xt, a, ones)
				mat.MulVecSym(xs, s, ones)
				b, c, cs := &mat.Dense{Rows: n, Cols: 1, Stride: 1, Data: ones}, mat.NewDense(n, 1), mat.NewDense(n, 1)
				mat.Mul(c, a, b)
				mat.MulSym(cs, s, b)
				for i := range n {
					for k, v := range []float64{x[i], c.Data[i], xt[n-1-i], xs[i], cs.Data[i]} {
						if (i == p || k > 2 && i == n-1-p) != (v == inf) || v != v {
							require.Failf(t, "wrong entry", "%g by product %d, n=%d p=%d i=%d", v, k, n, p, i)
						}
					}
				}
			}
		}
	})
}

func TestNormsAtAllScales(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range mattest.Orders {
			x, a, s := mattest.Dense(1, n, 1), mattest.Dense(n, n+1, 2), mattest.Sym(n, 3)
			nx, na, ns := mattest.ExactDense(x).Norm(), mattest.ExactDense(a).Norm(), mattest.ExactSym(s).Norm()
			for _, e := range []float64{1, 1e150, 1e-150, 0x1p1000, 0x1p-1000, 0x1p-480, 0x1p-500, 0x1p512} {
				xe, ae, se := mat.NewDense(1, n), mat.NewDense(n, n+1), mat.NewSym(n)
				mat.Scale(xe, e, x)
				mat.Scale(ae, e, a)
				mat.ScaleSym(se, e, s)
				tol := float64(n+2) * mattest.Eps
				require.InEpsilon(t, nx*e, mat.Norm(xe.Data), tol, "n=%d scale=%g", n, e)
				require.InEpsilon(t, na*e, mat.NormFrob(mattest.Pad(ae, 3)), tol, "n=%d scale=%g", n, e)
				require.InEpsilon(t, ns*e, mat.NormFrobSym(mattest.PadSym(se, 3)), tol, "n=%d scale=%g", n, e)
			}
		}
	})
}

func TestNormsOfWhatIsNotFinite(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{0, 0, math.Copysign(0, -1)}, 0},
		{[]float64{1, inf, 2}, inf},
		{[]float64{-inf, inf}, inf},
		{[]float64{1, nan, 2}, nan},
		{[]float64{inf, nan}, nan},
		{[]float64{nan, inf}, nan},
		{[]float64{1e200, nan}, nan},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, inf},
		{[]float64{math.MaxFloat64, 0}, math.MaxFloat64},
		{[]float64{5e-324, 0, 0}, 5e-324},
		{[]float64{3e-320, 4e-320}, 5e-320},
	} {
		same(t, c.want, mat.Norm(c.x))
		same(t, c.want, mat.NormFrob(&mat.Dense{Rows: 1, Cols: len(c.x), Stride: len(c.x), Data: c.x}))
		s := mat.NewSym(len(c.x))
		most := 0.0
		for i, v := range c.x {
			s.Set(i, i, v)
			most = max(most, math.Abs(v))
		}
		same(t, c.want, mat.NormFrobSym(s))
		same(t, most, mat.MaxAbsSym(s))
	}
}

func same(t *testing.T, want, got float64) {
	t.Helper()
	assert.Truef(t, want == got || want != want && got != got, "want %g, got %g", want, got)
}

func TestRecurVec(t *testing.T) {
	d, old, now := []float64{1, 2, -3}, []float64{4, 0, 1}, []float64{0.5, 1, 2}
	mat.RecurVec(d, 0.25, old, now)
	assert.Equal(t, []float64{0.5 - 0.75*3, 1 + 0.75*2, 2 - 0.75*4}, d)
	mat.RecurVec(d, 0.25, old, d)
	assert.Equal(t, []float64{-1.75 + 0.75*(-1.75-4), 2.5 + 0.75*2.5, -1 + 0.75*(-1-1)}, d)
	assert.PanicsWithValue(t, "mat: RecurVec: dimension mismatch", func() { mat.RecurVec(d, 1, old[:2], now) })
	assert.PanicsWithValue(t, "mat: RecurVec: dimension mismatch", func() { mat.RecurVec(d, 1, old, now[:2]) })
}

func TestNotFinite(t *testing.T) {
	assert.Equal(t, -1, mat.NotFinite(nil))
	assert.True(t, mat.IsFinite(-math.MaxFloat64))
	assert.Equal(t, -1, mat.NotFinite([]float64{0, math.MaxFloat64, -5e-324}))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.Equal(t, 1, mat.NotFinite([]float64{0, bad, bad}))
		for i := range 11 {
			v := make([]float64, 11)
			v[i] = bad
			assert.Equal(t, i, mat.NotFinite(v))
		}
		assert.False(t, mat.IsFinite(bad))
	}
}

func FuzzProjectFrob(f *testing.F) {
	mattest.Fuzz(f, func(t *testing.T, b mattest.Bytes) { requireProjectFrob(t, b.Dense(), math.Abs(b.Float())) },
		[]byte{1, 1, 0, 3}, []byte{1, 2, 0, 3, 0, 4, 0, 0, 2}, []byte{2, 2, 6, 3, 6, 3, 6, 3, 6, 3, 0, 0, 1},
		[]byte{1, 2, 6, 5, 6, 5, 1, 6, 5}, []byte{1, 2, 6, 0, 0, 1, 0, 0, 1}, []byte{2, 1, 6, 3, 6, 4, 0, 5, 1, 128})
}

func TestProjectFrobAtTheEdges(t *testing.T) {
	for _, x := range [][]float64{
		{3, -4}, {0, 0}, {}, {1.7e308, 1.7e308}, {1.5e308, 1.5e308}, {3e200, -4e200}, {3e-200, -4e-200},
		{3e170, -4e170, 1e-170}, {3e160, -4e160}, {2, nan}, {2, inf}, {2, -inf},
	} {
		for _, radius := range []float64{0, 1, 2, 2.5, 5, 2.5e200, 2.5e-200, 2.5e-170, 2.5e-150, inf, -1, nan, -inf} {
			requireProjectFrob(t, mat.DenseOf(1, len(x), x), radius)
		}
	}
}

func TestProjectFrobAccuracy(t *testing.T) { mattest.EachKernel(t, testProjectFrobAccuracy) }

func testProjectFrobAccuracy(t *testing.T) {
	outside, count := 0, mattest.Count(500, 2000, 60_000)
	for k := range count {
		_, s := mattest.Draw(k)
		a, rng := mattest.Full(s), mattest.Rand(uint64(k))
		radius := mat.NormFrob(a) * math.Pow(10, 4*rng.Float64()-3)
		if requireProjectFrob(t, a, radius) > radius {
			outside++
		}
	}
	require.Greater(t, outside, count/2)
	require.Less(t, outside, count)
}

const below = 0x1p-1070

func requireProjectFrob(t *testing.T, a *mat.Dense, radius float64) (norm float64) {
	t.Helper()
	a = mattest.Pad(a, 2)
	if !(radius >= 0) {
		assert.PanicsWithValue(t, "mat: ProjectFrob: radius is negative or NaN", func() { mat.ProjectFrob(a, a, radius) })
		return 0
	}
	p, again := mattest.Pad(mat.NewDense(a.Rows, a.Cols), 1), mat.NewDense(a.Rows, a.Cols)
	norm = mat.ProjectFrob(p, a, radius)
	mattest.CheckPad(t, p)
	if most := mat.MaxAbs(a); !mattest.Finite(most) {
		same(t, most, norm)
		require.Equal(t, mattest.Bits(a), mattest.Bits(p))
		return norm
	}
	want, entries := mattest.ExactDense(a), float64(a.Rows*a.Cols)
	size := want.NormExact()
	rel, slack := 4*entries*mattest.Eps, entries*below
	if f := mattest.Float(size); f <= math.MaxFloat64*(1-rel) {
		require.InDelta(t, f, norm, rel*f+slack)
	} else {
		require.GreaterOrEqual(t, norm, math.MaxFloat64*(1-2*rel))
	}
	if math.IsInf(radius, 1) {
		require.Equal(t, mattest.Bits(a), mattest.Bits(p))
	}
	if r := new(big.Float).SetPrec(320).SetFloat64(radius); size.Cmp(r) > 0 {
		r.Quo(r, size)
		for k := range a.Rows * a.Cols {
			v := want.At(k/a.Cols, k%a.Cols)
			v.Mul(v, r)
		}
	}
	goal := want.Norm()
	require.LessOrEqual(t, want.Sub(mattest.ExactDense(p)).Norm(), rel*goal+slack)
	require.LessOrEqual(t, mattest.ExactDense(p).Norm(), radius*(1+rel)+slack)

	mat.ProjectFrob(again, p, radius)
	require.LessOrEqual(t, mattest.ExactDense(again).Sub(mattest.ExactDense(p)).Norm(),
		rel*mattest.ExactDense(p).Norm()+below, "not idempotent")
	mat.ProjectFrob(a, a, radius)
	mattest.CheckPad(t, a)
	require.Equal(t, mattest.Bits(p), mattest.Bits(a))
	return norm
}
