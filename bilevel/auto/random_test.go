package auto_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/mat"
)

// A random expression: the sample seeds it, values stay of order one and inside of domains.
type random struct {
	rng  *rand.Rand
	nums []auto.Num
	vecs []auto.Vec
}

func randomLoss(steps int) func(x, y auto.Vec, s bilevel.Sample) auto.Num {
	return func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		r := &random{rng: rand.New(rand.NewPCG(uint64(s), 5)), vecs: []auto.Vec{x, y, y}}
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

func (r *random) num() auto.Num {
	k := len(r.nums) - 1 - min(r.rng.IntN(len(r.nums)), r.rng.IntN(len(r.nums)))
	return r.nums[k]
}

func (r *random) vec() auto.Vec {
	k := len(r.vecs) - 1 - min(r.rng.IntN(len(r.vecs)), r.rng.IntN(len(r.vecs)))
	return r.vecs[k]
}

func (r *random) data(n int) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = r.rng.NormFloat64() / math.Sqrt(float64(n))
	}
	return a
}

func (r *random) vecOf(n int) auto.Vec {
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

func (r *random) newNum() auto.Num {
	u, a := r.vec(), r.num()
	switch r.rng.IntN(23) {
	case 0:
		return u.Sum().Tanh()
	case 1, 2, 3:
		return u.Dot(auto.Data(r.data(u.Len())))
	case 4:
		return u.Dot(r.vecOf(u.Len()))
	case 5:
		return u.SquaredNorm()
	case 6:
		return u.WeightedSquares(r.vecOf(u.Len()))
	case 7, 8:
		return u.At(r.rng.IntN(u.Len()))
	case 9:
		var col []int32
		for i := range u.Len() {
			if r.rng.IntN(2) == 0 {
				col = append(col, int32(i))
			}
		}
		return u.DotSparse(col, r.data(len(col)))
	case 10:
		return a.Tanh().Exp()
	case 11:
		return a.Tanh().Shift(2).Log()
	case 12:
		return a.Square().Shift(1).Sqrt().Inv()
	case 13:
		return a.Sigmoid()
	case 14:
		return a.Softplus().Tanh()
	case 15:
		return a.Sin().Add(r.num().Cos())
	case 16:
		return a.Tanh().Shift(3).Pow(r.rng.NormFloat64())
	case 17:
		return a.Tanh().Mul(r.num().Sin())
	case 18:
		return a.Sin().Div(r.num().Square().Shift(2))
	case 19:
		return a.Sub(r.num()).Scale(0.3)
	case 20:
		return u.LogSumExp().Tanh()
	case 21: // a loop and a comparison that depend on the data
		for a.Value() > 1 {
			a = a.Scale(0.5)
		}
		return a.Square()
	default:
		v := a.Value()
		return a.Apply(math.Atan(v), 1/(1+v*v), -2*v/((1+v*v)*(1+v*v)))
	}
}

func (r *random) newVec() auto.Vec {
	u := r.vec()
	n := u.Len()
	switch r.rng.IntN(17) {
	case 0:
		return u.Tanh().Exp()
	case 1:
		return u.Sin().Shift(2).Log()
	case 2:
		return u.Square().Shift(1).Sqrt().Inv()
	case 3:
		return u.Sigmoid().Neg()
	case 4:
		return u.Softplus().Tanh()
	case 5:
		return u.Cos().Scale(0.7)
	case 6:
		return u.Tanh().Shift(3).Pow(r.rng.NormFloat64())
	case 7, 8:
		return u.Add(r.vecOf(n))
	case 9:
		return u.Sub(r.vecOf(n)).Tanh()
	case 10, 11:
		return u.Tanh().Mul(r.vecOf(n).Tanh())
	case 12:
		return u.Tanh().ScaleBy(r.num().Tanh())
	case 13:
		return auto.Stack(r.num(), auto.Const(0.5), r.num()).Tanh()
	case 14: // a constant matrix
		m := 1 + r.rng.IntN(4)
		a := &mat.Dense{Rows: m, Cols: n, Stride: n + 1, Data: r.data(m * (n + 1))}
		if r.rng.IntN(2) == 0 {
			return auto.Matrix(a).MulVec(u).Tanh()
		}
		return auto.Matrix(a).MulVecTrans(r.vecOf(m)).Tanh()
	default: // a recorded one
		rows := 1 + r.rng.IntN(n)
		cols := n / rows
		w := u.Slice(0, rows*cols).Mat(rows, cols)
		if r.rng.IntN(2) == 0 {
			return w.MulVec(r.vecOf(cols)).Tanh()
		}
		return w.MulVecTrans(r.vecOf(rows)).Tanh()
	}
}

func columns(t testing.TB, p *auto.Problem, x, y []float64, phi []bilevel.Sample) (gyx, gyy *mat.Dense) {
	dx, dy := p.Dims()
	gyx, gyy = mat.NewDense(dy, dx), mat.NewDense(dy, dy)
	for j := range dy {
		e := make([]float64, dy)
		e[j] = 1
		require.NoError(t, p.CrossVecG(gyx.Row(j), x, y, e, phi))
		require.NoError(t, p.HessVecG(gyy.Row(j), x, y, e, phi))
	}
	return gyx, gyy
}

// FuzzExpressions holds second derivatives by structure against products, for any expression, and
// some derivatives against differences.
func FuzzExpressions(f *testing.F) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		f.Add(seed, uint8(seed), uint8(2*seed), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, dx, dy, steps uint8) {
		g := randomLoss(1 + int(steps)%24)
		p, err := auto.New(auto.Losses{Dx: 1 + int(dx)%16, Dy: 1 + int(dy)%16, F: g, G: g})
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(seed, 6))
		x, y, _ := pointOf(p)
		for _, z := range [][]float64{x, y} {
			for i := range z {
				z[i] = rng.NormFloat64()
			}
		}
		against := againstColumns
		if seed%8 == 0 {
			against = againstDifferences
		}
		against(t, p, x, y, []bilevel.Sample{bilevel.Sample(seed)})
	})
}

// againstColumns holds matrices, which use structure, against products with unit vectors.
func againstColumns(t *testing.T, p *auto.Problem, x, y []float64, phi []bilevel.Sample) {
	dx, dy := p.Dims()
	gyx, gyy := columns(t, p, x, y, phi)
	tol := 1e-12 * (1e-3 + mat.MaxAbs(gyx) + mat.MaxAbs(gyy))
	h, c := mat.NewSym(dy), mat.NewDense(dx, dy)
	require.NoError(t, p.HessG(h, x, y, phi))
	require.NoError(t, p.CrossG(c, x, y, phi))
	for j := range dy {
		for i := range dy {
			require.InDelta(t, gyy.At(j, i), gyy.At(i, j), tol, "symmetry %d %d", i, j)
			require.InDelta(t, gyy.At(i, j), h.At(i, j), tol, "g_yy %d %d", i, j)
		}
		for i := range dx {
			require.InDelta(t, gyx.At(j, i), c.At(i, j), tol, "g_xy %d %d", i, j)
		}
	}
	gx, gy, fx, fy := make([]float64, dx), make([]float64, dy), make([]float64, dx), make([]float64, dy)
	require.NoError(t, p.GradXG(gx, x, y, phi))
	require.NoError(t, p.GradG(gy, x, y, phi))
	require.NoError(t, p.GradF(fx, fy, x, y, phi))
	require.Equal(t, fx, gx)
	require.Equal(t, fy, gy)
}

// againstDifferences holds gradients against differences of g, second ones against those of g_y.
func againstDifferences(t *testing.T, p *auto.Problem, x, y []float64, phi []bilevel.Sample) {
	againstColumns(t, p, x, y, phi)
	dx, dy := p.Dims()
	gx, gy := make([]float64, dx), make([]float64, dy)
	h, c := mat.NewSym(dy), mat.NewDense(dx, dy)
	require.NoError(t, p.GradXG(gx, x, y, phi))
	require.NoError(t, p.HessG(h, x, y, phi))
	require.NoError(t, p.CrossG(c, x, y, phi))
	value := func() float64 {
		v, err := p.ValueG(x, y, phi)
		require.NoError(t, err)
		return v
	}
	gradient := func(j int) func() float64 {
		return func() float64 {
			require.NoError(t, p.GradG(gy, x, y, phi))
			return gy[j]
		}
	}
	for i := range dx {
		d, tol := slope(&x[i], value)
		require.InDelta(t, d, gx[i], tol, "g_x %d", i)
	}
	for j := range dy {
		d, tol := slope(&y[j], value)
		require.InDelta(t, d, gradient(j)(), tol, "g_y %d", j)
		for i := range dy {
			d, tol := slope(&y[i], gradient(j))
			require.InDelta(t, d, h.At(i, j), tol, "g_yy %d %d", i, j)
		}
		for i := range dx {
			d, tol := slope(&x[i], gradient(j))
			require.InDelta(t, d, c.At(i, j), tol, "g_xy %d %d", i, j)
		}
	}
}

// slope is the derivative of f at *z by the best extrapolated differences, with an error bound.
func slope(z *float64, f func() float64) (d, tol float64) {
	z0, size := *z, math.Abs(f())
	defer func() { *z = z0 }()
	central := func(h float64) float64 {
		*z = z0 + h
		up := f()
		*z = z0 - h
		return (up - f()) / (2 * h)
	}
	tol = math.Inf(1)
	last := math.NaN()
	for h := 1e-2; h > 1e-5; h /= 4 {
		v := (4*central(h/2) - central(h)) / 3
		if diff := math.Abs(v - last); diff < tol {
			d, tol = v, diff+0x1p-50*size/h // and rounding
		}
		last = v
	}
	return d, 20*tol + 1e-9*math.Abs(d) + 1e-10
}
