package implicit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// The Cauchy point is where the model first stops to fall on a fine walk along P(x − t∇F).
func TestCauchyPoint(t *testing.T) {
	inside := make([]int, 4) // runs that end before every entry is at a bound, by those that are
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		const n = 4
		vec := func() []float64 { return mattest.List(n, func(int) float64 { return rng.NormFloat64() }) }
		m := newModel(n, 3)
		for range 4 { // one pair more than it keeps, each of another diagonal Hessian
			s, zero := vec(), make([]float64, n)
			y := mattest.List(n, func(i int) float64 { return math.Exp(rng.NormFloat64()) * s[i] })
			m.learn(s, zero, y, zero)
			require.False(t, m.empty())
			m.times(m.bs, s)
			assert.InDeltaSlice(t, y, m.bs, 1e-12, "the secant equation")
		}
		x, g, lo, hi := vec(), vec(), make([]float64, n), make([]float64, n)
		for i := range x {
			lo[i], hi[i] = x[i]-rng.ExpFloat64(), x[i]+rng.ExpFloat64()
		}
		if seed%3 == 0 {
			lo[0], g[0] = x[0], math.Abs(g[0]) // at its bound from the start
		}

		const h = 1e-4
		z, product, end := make([]float64, n), make([]float64, n), 0.0
		value := func(t float64) float64 {
			for i := range z {
				z[i] = min(max(x[i]-t*g[i], lo[i]), hi[i]) - x[i]
			}
			m.times(product, z)
			return mat.Dot(g, z) + mat.Dot(z, product)/2
		}
		for value(end+h) < value(end) {
			end += h
		}
		value(end)

		m.cauchy(x, g, lo, hi)
		assert.InDeltaSlice(t, z, m.z, 2*h*mat.Norm(g), "seed %d", seed)
		bound := 0
		for i := range m.z {
			at := m.z[i] <= lo[i]-x[i] || m.z[i] >= hi[i]-x[i]
			assert.NotEqual(t, at, slices.Contains(m.free, i), "seed %d, entry %d", seed, i)
			if at {
				bound++
			}
		}
		if bound < n {
			inside[bound]++
		}
	}
	for bound, runs := range inside {
		assert.GreaterOrEqual(t, runs, 5, "%d entries at a bound", bound)
	}
}

func TestStepDescends(t *testing.T) {
	m, d, zero := newModel(2, 2), make([]float64, 2), make([]float64, 2)
	m.learn([]float64{1, 0}, zero, []float64{2, 3}, zero)
	m.learn([]float64{-3, 2}, zero, []float64{0, 1}, zero)
	m.step(d, zero, []float64{1, 1}, []float64{-1 - 1e-9, -9}, []float64{9, 9})
	assert.InDeltaSlice(t, []float64{-1, 0.375}, d, 1e-6, "the projection of (-2, 1) hardly descends")
}

// A value that is not finite is far above: the trial goes near the other end.
func TestBetweenNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		assert.Equal(t, nearest, between(end{slope: -1}, end{1, v, v}))
	}
}
