package observe

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func problem(t testing.TB, o quadratic.Options) *quadratic.Problem {
	t.Helper()
	p, err := quadratic.New(o)
	require.NoError(t, err)
	return p
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
}

func hessian(t testing.TB, p bilevel.Truth, x []float64) *mat.Sym {
	h, g0, g := mat.NewSym(len(x)), make([]float64, len(x)), make([]float64, len(x))
	_, err := p.Objective(g0, x)
	require.NoError(t, err)
	for i := range x {
		z := slices.Clone(x)
		z[i]++
		_, err := p.Objective(g, z)
		require.NoError(t, err)
		for j := range i + 1 {
			h.Set(i, j, g[j]-g0[j])
		}
	}
	return h
}

// Closed forms: x̂ = x* + ρ(S + ρI)⁻¹u, and Φ − F*, for u = x − x* and S = ∇²F.
func TestMoreauOnQuadratic(t *testing.T) {
	p := problem(t, quadratic.Options{Dx: 3, Dy: 4, Seed: 5, LG: 3, LP: 2, CrossNorm: 2})
	best, least := p.Optimum()
	s, v, sv := hessian(t, p, best), make([]float64, 3), make([]float64, 3)
	for seed := range uint64(5) {
		x := mattest.Vec(3, seed)
		u := slices.Clone(x)
		mat.Axpy(u, -1, best)
		for _, rho := range []float64{0.01, 1, 100} {
			e, err := Moreau{F: p, Rho: rho}.At(make([]float64, 3), x)
			require.NoError(t, err)
			var c chol.Cholesky
			require.NoError(t, c.FactorShifted(s, -rho)) // of S + ρI
			c.SolveVec(v, u)
			far := slices.Clone(u) // x − x̂ = u − ρv
			mat.Axpy(far, -rho, v)
			want := rho * rho * mat.Dot(far, far)
			assert.InEpsilon(t, want, e.Near, 1e-6, "ρ = %v", rho)
			mat.MulVecSym(sv, s, v)
			assert.InEpsilon(t, rho*rho*mat.Dot(v, sv)/2+want/(2*rho), e.Value-least, 1e-7, "ρ = %v", rho)
		}
	}
}

// The minimiser over a set satisfies ⟨∇F(x̂) + ρ(x̂ − x), z − x̂⟩ ≥ 0 for z in X.
func TestMoreauIsOptimalOverSets(t *testing.T) {
	p := problem(t, quadratic.Options{Dx: 5, Dy: 4, Seed: 8, LP: 50, CrossNorm: 6})
	for name, set := range map[string]bilevel.Set{
		"space": bilevel.Space{}, "box": bilevel.UniformBox(5, -0.3, 0.2), "ball": bilevel.Ball{Radius: 0.5},
		"simplex": bilevel.Simplex{}, "half space": bilevel.HalfSpace{A: []float64{1, 1, 1, 1, 1}, B: -1},
		"non-negative": bilevel.NonNegative{},
	} {
		for _, rho := range []float64{0.1, 10} {
			m := Moreau{F: p, Set: set, Rho: rho}
			for seed := range uint64(5) {
				x, xhat, grad := mattest.Vec(5, seed), make([]float64, 5), make([]float64, 5)
				e, err := m.At(xhat, x)
				require.NoError(t, err, name)
				f, err := p.Objective(grad, xhat)
				require.NoError(t, err)
				mat.Axpy(grad, rho, xhat)
				mat.Axpy(grad, -rho, x)
				far := distance(xhat, x)
				assert.InEpsilon(t, f+rho/2*far*far, e.Value, 1e-12)
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

// ∇Φ = ρ(x − x̂), by differences; Φ ≤ F; and ρ(x − x̂) goes to ∇F as ρ grows.
func TestMoreauGradient(t *testing.T) {
	p := problem(t, quadratic.Options{Dx: 3, Dy: 4, Seed: 2, Nonconvex: 2})
	x, xhat, grad := []float64{0.4, -0.7, 1.1}, make([]float64, 3), make([]float64, 3)
	f, err := p.Objective(grad, x)
	require.NoError(t, err)
	m := Moreau{F: p, Rho: 4, Tol: 1e-12}
	e, err := m.At(xhat, x)
	require.NoError(t, err)
	assert.Less(t, e.Value, f)
	for i := range x {
		const h = 1e-4
		var phi [2]float64
		for k, s := range []float64{-h, h} {
			z := slices.Clone(x)
			z[i] += s
			e, err := m.At(make([]float64, 3), z)
			require.NoError(t, err)
			phi[k] = e.Value
		}
		assert.InDelta(t, (phi[1]-phi[0])/(2*h), 4*(x[i]-xhat[i]), 1e-6)
	}
	m.Rho = 1e7
	_, err = m.At(xhat, x)
	require.NoError(t, err)
	for i := range x {
		assert.InDelta(t, grad[i], 1e7*(x[i]-xhat[i]), 1e-5)
	}
}

// A step is judged by the largest of the last ten values.
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
	f, err := p.Objective(nil, xhat)
	require.NoError(t, err)
	assert.InDelta(t, f+0.005*mat.Dot(xhat, xhat), e.Value, 1e-12*math.Abs(f))
	for m.MaxIter = 1; m.MaxIter < 8; m.MaxIter++ { // φ stays below φ(x) = F(x), though the first step 1/ρ is much too long
		x := mattest.Vec(5, 1)
		f, err := p.Objective(nil, x)
		require.NoError(t, err)
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
