package implicit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/mat"
)

func rows(t *testing.T) *hyperopt.Problem {
	half := func(seed uint64) *data.Data {
		return bileveltest.Rows(rand.New(rand.NewPCG(seed, 9)), 60, 5, 1, false)
	}
	return bileveltest.Must(hyperopt.New(half(1), half(2), hyperopt.Options{Form: hyperopt.Exp, Lo: -10, Hi: 3}))
}

func vec(n int) []float64 { return make([]float64, n) }

// Of two losses alone: y*(x) solves e^y − n + e^x·y = 0, to rounding, from anywhere.
func TestTruthOfTwoLosses(t *testing.T) {
	x, n, grad, at := []float64{-9, 2, 0.5}, []float64{300, 0.5, 3}, vec(3), vec(3) // steps are too long
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-1).SquaredNorm() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Exp().Sum().Sub(y.Dot(auto.Data(n))).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
		},
	}))
	truth := implicit.NewTruth(p)
	for _, from := range [][]float64{{0, 0, 0}, {-40, 30, 5}, {1, 1, 1}} {
		require.NoError(t, truth.Solution(from, x))
		for j, y := range from {
			assert.InDelta(t, n[j], math.Exp(y)+math.Exp(x[j])*y, 1e-11*n[j])
		}
	}
	value := bileveltest.Must(truth.Objective(grad, x))
	objective := func(j int, h float64) float64 {
		copy(at, x)
		at[j] += h
		return bileveltest.Must(truth.Objective(nil, at))
	}
	for j := range x {
		assert.InDelta(t, (objective(j, 1e-5)-objective(j, -1e-5))/2e-5, grad[j], 1e-6*value)
	}
	objective(0, 7)
	assert.Equal(t, value, objective(0, 0), "wherever it was before")

	square := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Dot(x).Square().Add(y.SquaredNorm()) }
	truth = implicit.NewTruth(bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, Upper: 1, Lower: 1, F: square, G: square})))
	for k := range 500 { // rounding leaves each step short of y* = 0
		require.NoError(t, truth.Solution([]float64{1, 1, 0}, []float64{math.Sin(float64(k)), math.Cos(float64(k * k)), 0.7}))
	}
}

func TestFunctionTolerance(t *testing.T) {
	p := rows(t)
	dx, dy := p.Dims()
	x, y, star, h := vec(dx), vec(dy), vec(dy), vec(dx)
	require.NoError(t, p.Solution(star, x))
	best, f, seen := bileveltest.Must(p.Objective(nil, x)), implicit.New(p), false
	for _, tol := range []float64{0.3, 0.1, 1e-2, 1e-4} {
		copy(y, star)
		for j := range y {
			y[j] += 1.5 * tol * (star[j] + 0.1)
		}
		require.NoError(t, f.Solve(y, x, tol))
		value := bileveltest.Must(f.Gradient(h, x, y))
		gradient, step := f.Residual()
		mat.Axpy(y, -1, star)
		off := mat.Norm(y)
		assert.InEpsilon(t, off, step, 0.3+tol, "tolerance %g", tol)
		assert.LessOrEqual(t, off, gradient/p.StrongConvexity())
		assert.LessOrEqual(t, math.Abs(value-best), 3*off*off+1e-15, "tolerance %g", tol)
		seen = seen || off > 1e-5
	}
	assert.True(t, seen, "every tolerance ended at rounding")
}

func TestHessVec(t *testing.T) {
	p := rows(t)
	dx, dy := p.Dims()
	x, y, s, up, down, got := []float64{-3, -2.2, -2.1, -2.9, -3.8}, vec(dy), vec(dx), vec(dx), vec(dx), vec(dx)
	forms := []*implicit.Function{implicit.New(p), implicit.New(bilevel.Complete(struct{ bilevel.Problem }{p}))}
	assert.PanicsWithValue(t, "implicit: HessVec: there is no point: call Solve and Gradient", func() { _ = forms[0].HessVec(got, s) })
	for k, name := range []string{"Solve", "Solve", "Gradient", "Gradient", "Gradient", "HessVec", "HessVec"} {
		f, cut := forms[0], func(i int, v []float64) []float64 { return v[map[bool]int{i == k: 1}[true]:] }
		assert.PanicsWithValue(t, "implicit: "+name+": dimension mismatch", func() {
			_ = f.Solve(cut(0, y), cut(1, x), 0)
			_, _ = f.Gradient(cut(2, got), cut(3, x), cut(4, y))
			_ = f.HessVec(cut(5, got), cut(6, s))
		})
	}
	for k, size := range []float64{1, 1e6, 1e-6} {
		s[k], s[k+1], x[k] = size, -size/2, x[k]+0.2
		for _, f := range forms {
			require.NoError(t, f.Solve(y, x, 0))
			value := bileveltest.Must(f.Gradient(up, x, y))
			assert.Equal(t, f == forms[1], math.IsNaN(value), "without bilevel.Values there is none")
			for range 2 {
				require.NoError(t, f.HessVec(got, s))
			}
			h := 1e-4 / size
			mat.Axpy(x, h, s)
			bileveltest.Must(p.Objective(up, x))
			mat.Axpy(x, -2*h, s)
			bileveltest.Must(p.Objective(down, x))
			mat.Axpy(x, h, s)
			mat.Axpy(up, -1, down)
			mat.Axpy(up, -2*h, got)
			assert.Less(t, mat.Norm(up), 2e-5*h*mat.Norm(got), "size %g", size)
		}
		clear(s)
	}
}

func TestFunctionFails(t *testing.T) {
	p := rows(t)
	dx, dy := p.Dims()
	x, y := vec(dx), vec(dy)
	x[0] = math.NaN()
	require.ErrorIs(t, implicit.New(p).Solve(y, x, 0), implicit.ErrNoSolution)
	x[0], y[0] = 0, 1
	spoilt := &bileveltest.Faulty[bilevel.Sample]{Problem: p, Quantity: "g_y"}
	for _, v := range []float64{math.NaN(), 1} { // falls nowhere
		spoilt.Fault = func(gy []float64) error { copy(gy, slices.Repeat([]float64{v}, dy)); return nil }
		err := implicit.New(spoilt).Solve(y, x, 0)
		require.ErrorIs(t, err, implicit.ErrNoSolution)
		require.ErrorContains(t, err, fmt.Sprint("‖g_y‖ is ", math.Sqrt(float64(dy)*v*v)))
	}
	spoilt.Fault = func([]float64) error { return bilevel.ErrNoExact }
	require.ErrorIs(t, implicit.New(spoilt).Solve(y, x, 0), bilevel.ErrNoExact)
}

func TestFunctionOfBatches(t *testing.T) {
	p := rows(t)
	dx, dy := p.Dims()
	x, y, h, s, f := vec(dx), vec(dy), vec(dx), vec(dx), implicit.New(p)
	value := func() float64 {
		require.NoError(t, f.Solve(y, x, 0))
		return bileveltest.Must(f.Gradient(h, x, y))
	}
	all := value()
	f.Xi, f.Phi = []bilevel.Sample{1, 2}, []bilevel.Sample{3, 4, 5}
	few := value()
	assert.NotEqual(t, all, few)
	assert.InDelta(t, bileveltest.Must(p.ValueF(x, y, f.Xi)), few, 1e-12)
	f.Xi, f.Phi, s[0] = nil, nil, 1
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		x[0] = 1 - x[0]
		_ = f.Solve(y, x, 0)
		_, _ = f.Gradient(h, x, y)
		_ = f.HessVec(h, s)
	}))
}

type function = func(grad, x []float64) (float64, error)

func rosenbrock(grad, x []float64) (f float64, err error) {
	clear(grad)
	for i := range x[1:] {
		a, b := x[i+1]-x[i]*x[i], 1-x[i]
		f += 100*a*a + b*b
		grad[i] -= 400*a*x[i] + 2*b
		grad[i+1] += 200 * a
	}
	return f, nil
}

func unvalued(f function) function {
	return func(grad, x []float64) (float64, error) {
		_, err := f(grad, x)
		return math.NaN(), err
	}
}

func TestMinimiseRosenbrock(t *testing.T) {
	for most, f := range map[int]function{60: rosenbrock, 120: unvalued(rosenbrock)} {
		m := bileveltest.Must(implicit.Minimise(f, []float64{-1.2, 1}, implicit.Options{}))
		assert.InDeltaSlice(t, []float64{1, 1}, m.X, 1e-9)
		assert.Less(t, m.Evaluations, most)
		m = bileveltest.Must(implicit.Minimise(f, []float64{-1.2, 1}, implicit.Options{Lo: []float64{-2, -2}, Hi: []float64{0.5, 2}}))
		assert.InDeltaSlice(t, []float64{0.5, 0.25}, m.X, 1e-9)
		assert.Less(t, m.Evaluations, most)
	}
	m, err := implicit.Minimise(rosenbrock, vec(50), implicit.Options{Evaluations: 30})
	require.ErrorIs(t, err, implicit.ErrNoMinimum)
	assert.Equal(t, 30, m.Evaluations)
}

func TestMinimiseInAnyUnits(t *testing.T) {
	for _, u := range [][2]float64{{1, 1e-20}, {1e10, 1}, {1e20, 1}, {1e-30, 1}} { // of x and F
		m := bileveltest.Must(implicit.Minimise(func(grad, x []float64) (float64, error) {
			grad[0] = u[1] / u[0] * (x[0]/u[0] - 1)
			return grad[0] * (x[0] - u[0]) / 2, nil
		}, []float64{5 * u[0]}, implicit.Options{}))
		assert.InEpsilon(t, u[0], m.X[0], 1e-7, "%v", u)
	}
	m := bileveltest.Must(implicit.Minimise(func(grad, x []float64) (float64, error) { // F is 0 where ∇F is not
		grad[0] = (x[0] - 0.02) / math.Hypot(1, x[0]-0.02)
		return math.Hypot(1, x[0]-0.02) - 1, nil
	}, vec(1), implicit.Options{}))
	assert.Less(t, m.Evaluations, 200)
}

// Condition 1e4, all kinds of bounds; without values, the trapezoid rule is exact here.
func TestMinimiseQuadratics(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 1 + rng.IntN(30)
		x, b, lo, hi, rot, z, start, value := vec(n), vec(n), vec(n), vec(n), vec(n), vec(n), vec(n), vec(2)
		for i := range x {
			x[i], b[i], rot[i] = 5*rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			lo[i] = rng.NormFloat64()
			hi[i] = lo[i] + rng.ExpFloat64()
			inf, kind := math.Inf(1), rng.IntN(5)
			lo[i], hi[i] = []float64{-inf, lo[i], lo[i], lo[i], lo[i]}[kind], []float64{hi[i], inf, lo[i], hi[i], hi[i]}[kind]
		}
		reflect := func(dst, x []float64) {
			copy(dst, x)
			mat.Axpy(dst, -2*mat.Dot(rot, x)/mat.Dot(rot, rot), rot)
		}
		f := func(grad, x []float64) (value float64, err error) { // ½zᵀDz + bᵀz with z a reflection of x
			reflect(grad, x)
			for i, v := range grad {
				c := math.Pow(10, 4*float64(i)/float64(n))
				value += 0.5*c*v*v + b[i]*v
				z[i] = c*v + b[i]
			}
			reflect(grad, z)
			return value, nil
		}
		(bilevel.Box{Lo: lo, Hi: hi}).Project(start, x)
		first, _ := f(vec(n), start)
		for k, f := range []function{f, unvalued(f)} {
			m := bileveltest.Must(implicit.Minimise(f, x, implicit.Options{Lo: lo, Hi: hi, Memory: 5}))
			assert.Less(t, m.ProjGrad, 1e-8, "seed %d", seed)
			assert.Less(t, m.Evaluations, 2000, "seed %d", seed)
			for i, v := range m.X {
				assert.True(t, lo[i] <= v && v <= hi[i])
			}
			value[k] = m.F
		}
		assert.InDelta(t, value[0]-first, value[1], 1e-9*(1+math.Abs(first)), "seed %d", seed)
	}
}

func TestMinimiseFails(t *testing.T) {
	barrier := func(grad, x []float64) (float64, error) { // −log(1 − x) − log(1 + x) + 0.9x
		grad[0] = 1/(1-x[0]) - 1/(1+x[0]) + 0.9
		if math.Abs(x[0]) >= 1 {
			grad[0] = math.Inf(1)
		}
		return -math.Log(1-x[0]) - math.Log(1+x[0]) + 0.9*x[0], nil
	}
	m := bileveltest.Must(implicit.Minimise(barrier, []float64{0.999}, implicit.Options{}))
	assert.InDelta(t, 0, 2*m.X[0]/(1-m.X[0]*m.X[0])+0.9, 1e-8)

	none := math.Inf(1) // no lower bound, no gradient, none that can be squared, no value
	for _, c := range [][2]float64{{0, 1}, {0, math.NaN()}, {0, none}, {0, 1e300}, {none, 1}} {
		_, err := implicit.Minimise(func(g, x []float64) (float64, error) { g[0] = c[1]; return c[0] + x[0], nil }, vec(1), implicit.Options{})
		require.ErrorIs(t, err, implicit.ErrNoMinimum)
	}
	_, err := implicit.Minimise(func([]float64, []float64) (float64, error) { return 0, bilevel.ErrNoExact }, []float64{0}, implicit.Options{})
	require.ErrorIs(t, err, bilevel.ErrNoExact)
	for want, o := range map[string]implicit.Options{
		"implicit: Options.Memory is -1":                                            {Memory: -1},
		"implicit: Options.Evaluations is -1":                                       {Evaluations: -1},
		"implicit: Options.Lo and Hi: bilevel: bad option: Box is empty at index 1": {Lo: []float64{0, 1}, Hi: []float64{1, 0}},
	} {
		_, err := implicit.Minimise(rosenbrock, []float64{0, 0}, o)
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
}

func TestMinimiserByHand(t *testing.T) {
	grad, m := vec(20), bileveltest.Must(implicit.NewMinimiser(vec(20), implicit.Options{}))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if m.Done() {
			return
		}
		f, _ := rosenbrock(grad, m.Trial())
		if m.Tell(f, grad); m.Done() && !slices.Equal(m.X(), m.Trial()) {
			panic("Trial is X where the search is done")
		}
	}))
	assert.True(t, m.Done())
}
