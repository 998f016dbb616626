package observe

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/quadratic"
	"stable/mat"
	"stable/mat/mattest"
)

func problem(t testing.TB, o quadratic.Options) *quadratic.Problem {
	t.Helper()
	return bileveltest.Must(quadratic.New(o))
}

// The minimiser over a set satisfies ⟨∇F(x̂) + ρ(x̂ − x), z − x̂⟩ ≥ 0 for z in X.
func TestMoreauIsOptimalOverSets(t *testing.T) {
	convex := problem(t, quadratic.Options{Dx: 5, Dy: 4, Seed: 8, LP: 50, CrossNorm: 6})
	other := problem(t, quadratic.Options{Dx: 5, Dy: 4, Seed: 2, Nonconvex: 2})
	for name, set := range map[string]bilevel.Set{
		"space": bilevel.Space{}, "box": bilevel.UniformBox(5, -0.3, 0.2), "ball": bilevel.Ball{Radius: 0.5},
		"simplex": bilevel.Simplex{}, "half space": bilevel.HalfSpace{A: []float64{1, 1, 1, 1, 1}, B: -1},
		"non-negative": bilevel.NonNegative{},
	} {
		for rho, p := range map[float64]*quadratic.Problem{0.1: convex, 10: convex, 4: other} {
			m := Moreau{F: p, Set: set, Rho: rho}
			for seed := range uint64(5) {
				x, xhat, grad := mattest.Vec(5, seed), make([]float64, 5), make([]float64, 5)
				e, err := m.At(xhat, x)
				require.NoError(t, err, name)
				z, first := make([]float64, 5), make([]float64, 5)
				set.Project(z, x)
				bileveltest.Must(p.Objective(first, z))
				for i := range first { // z − ∇φ(z)/ρ
					first[i] = x[i] - first[i]/rho
				}
				set.Project(first, first)
				mat.Axpy(first, -1, z)
				assert.LessOrEqual(t, e.Residual, 1e-9*max(1, rho*mat.Norm(first)))
				f := bileveltest.Must(p.Objective(grad, xhat))
				mat.Axpy(x, -1, xhat)
				mat.Axpy(grad, -rho, x)
				far := mat.Dot(x, x)
				assert.InEpsilon(t, f+rho/2*far, e.Value, 1e-12)
				assert.InEpsilon(t, rho*rho*far, e.Near, 1e-12)
				for other := range uint64(20) {
					z := mattest.Vec(5, 100+other)
					set.Project(z, z)
					mat.Axpy(z, -1, xhat)
					assert.GreaterOrEqual(t, mat.Dot(grad, z), -1e-7*(1+mat.Norm(z)), "%s, ρ = %v", name, rho)
				}
			}
		}
	}
}

func TestMoreauMemory(t *testing.T) {
	f := problem(t, quadratic.Options{Dx: 1, Dy: 1})
	v := func() []float64 { return []float64{1} }
	p := &prox{Moreau: &Moreau{F: f, Rho: 1}, x: v(), z: v(), g: v(), next: v(), gn: v(), d: []float64{9}}
	p.last = [10]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 1e6}
	require.NoError(t, p.search())
	assert.Equal(t, [10]float64{p.phi, 0, 1, 2, 3, 4, 5, 6, 7, 8}, p.last)
	assert.Equal(t, []float64{10}, p.z)
}

func TestMoreauCap(t *testing.T) {
	p := problem(t, quadratic.Options{Dx: 5, Dy: 4, Seed: 8, LP: 1000})
	m := Moreau{F: p, Rho: 0.01, MaxIter: 2}
	xhat := make([]float64, 5)
	e, err := m.At(xhat, make([]float64, 5))
	assert.ErrorIs(t, err, ErrNoEnvelope)
	assert.Equal(t, 2, e.Iterations)
	f := bileveltest.Must(p.Objective(nil, xhat))
	assert.InDelta(t, f+0.005*mat.Dot(xhat, xhat), e.Value, 1e-12*math.Abs(f))
	for m.MaxIter = 1; m.MaxIter < 8; m.MaxIter++ { // φ stays below φ(x) = F(x), though the first step 1/ρ is much too long
		x := mattest.Vec(5, 1)
		f := bileveltest.Must(p.Objective(nil, x))
		e, _ := m.At(xhat, x)
		assert.Less(t, e.Value, f, "after %d iterations", m.MaxIter)
	}
	for want, m := range map[string]Moreau{
		"F is nil": {Rho: 1}, "Rho is 0": {F: p}, "Tol is -1": {F: p, Rho: 1, Tol: -1}, "MaxIter is -1": {F: p, Rho: 1, MaxIter: -1},
	} {
		_, err = m.At(xhat, xhat)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, "Moreau."+want)
	}
}
