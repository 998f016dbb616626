package implicit_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/implicit"
)

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

func unvalued(f func(grad, x []float64) (float64, error)) func(grad, x []float64) (float64, error) {
	return func(grad, x []float64) (float64, error) {
		_, err := f(grad, x)
		return math.NaN(), err
	}
}

// SciPy's L-BFGS-B needs 37 evaluations for Rosenbrock's valley without bounds.
func TestMinimiseRosenbrock(t *testing.T) {
	for most, f := range map[int]func(grad, x []float64) (float64, error){60: rosenbrock, 120: unvalued(rosenbrock)} {
		m, err := implicit.Minimise(f, []float64{-1.2, 1}, implicit.Options{})
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float64{1, 1}, m.X, 1e-9)
		assert.Less(t, m.Evaluations, most)
		m, err = implicit.Minimise(f, []float64{-1.2, 1}, implicit.Options{Lo: []float64{-2, -2}, Hi: []float64{0.5, 2}})
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float64{0.5, 0.25}, m.X, 1e-9)
		assert.Less(t, m.Evaluations, most)
	}
	m, err := implicit.Minimise(rosenbrock, make([]float64, 50), implicit.Options{Tol: 1e-5})
	require.NoError(t, err)
	assert.LessOrEqual(t, m.ProjGrad, 1e-5)
	assert.Greater(t, m.ProjGrad, 1e-12, "it went on")
	m, err = implicit.Minimise(rosenbrock, make([]float64, 50), implicit.Options{Evaluations: 30})
	require.ErrorIs(t, err, implicit.ErrNoMinimum)
	assert.Equal(t, 30, m.Evaluations)
}

// Condition 1e4, all kinds of bounds; without values, the trapezoid rule is exact here.
func TestMinimiseQuadratics(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 1 + rng.IntN(30)
		x, b, lo, hi, rot := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		size := 0.0
		for i := range x {
			x[i], b[i], rot[i] = 5*rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			size += rot[i] * rot[i]
			lo[i] = rng.NormFloat64()
			hi[i] = lo[i] + rng.ExpFloat64()
			switch rng.IntN(5) {
			case 0:
				lo[i] = math.Inf(-1)
			case 1:
				hi[i] = math.Inf(1)
			case 2:
				hi[i] = lo[i]
			}
		}
		f := func(grad, x []float64) (value float64, err error) { // ½zᵀDz + bᵀz with z a reflection of x
			dot := 0.0
			for i := range x {
				dot += rot[i] * x[i]
			}
			back := 0.0
			for i := range x {
				z := x[i] - 2*dot*rot[i]/size
				c := math.Pow(10, 4*float64(i)/float64(n))
				value += 0.5*c*z*z + b[i]*z
				grad[i] = c*z + b[i]
				back += rot[i] * grad[i]
			}
			for i := range x {
				grad[i] -= 2 * back * rot[i] / size
			}
			return value, nil
		}
		start, value := make([]float64, n), make([]float64, 2)
		(bilevel.Box{Lo: lo, Hi: hi}).Project(start, x)
		first, _ := f(make([]float64, n), start)
		for k, f := range []func(grad, x []float64) (float64, error){f, unvalued(f)} {
			m, err := implicit.Minimise(f, x, implicit.Options{Lo: lo, Hi: hi, Memory: 5})
			require.NoError(t, err, "seed %d", seed)
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
	m, err := implicit.Minimise(barrier, []float64{0.999}, implicit.Options{})
	require.NoError(t, err)
	assert.InDelta(t, 0, 2*m.X[0]/(1-m.X[0]*m.X[0])+0.9, 1e-8)

	broken := errors.New("broken")
	_, err = implicit.Minimise(func([]float64, []float64) (float64, error) { return 0, broken }, []float64{0},
		implicit.Options{})
	require.ErrorIs(t, err, broken)
	for want, o := range map[string]implicit.Options{
		"Options.Memory is -1":      {Memory: -1},
		"Options.Evaluations is -1": {Evaluations: -1},
		"Options.Tol is NaN":        {Tol: math.NaN()},
		"Box is empty at index 1":   {Lo: []float64{0, 1}, Hi: []float64{1, 0}},
		"Box has 1 lower":           {Lo: []float64{0}},
	} {
		_, err := implicit.Minimise(rosenbrock, []float64{0, 0}, o)
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
}

func TestMinimiserByHand(t *testing.T) {
	start, grad := make([]float64, 20), make([]float64, 20)
	m, err := implicit.NewMinimiser(start, implicit.Options{})
	require.NoError(t, err)
	n := 0
	for ; !m.Done(); n++ {
		f, _ := rosenbrock(grad, m.Trial())
		if m.Tell(f, grad) && !m.Done() {
			assert.NotEqual(t, m.X(), m.Trial())
		}
	}
	got, err := implicit.Minimise(rosenbrock, start, implicit.Options{})
	require.NoError(t, err)
	assert.Equal(t, got.X, m.X())
	assert.Equal(t, got.ProjGrad, m.ProjGrad())
	assert.Equal(t, got.Evaluations, n)

	m, err = implicit.NewMinimiser(start, implicit.Options{})
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(60, func() {
		f, _ := rosenbrock(grad, m.Trial())
		m.Tell(f, grad)
	}))
}
