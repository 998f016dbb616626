package observe

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/method"
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

func observer(t testing.TB, p bilevel.Problem, o Options) *Observer {
	t.Helper()
	ob, err := New(p, o)
	require.NoError(t, err)
	return ob
}

var noisy = quadratic.Options{Dx: 3, Dy: 4, Seed: 5, LG: 3, LP: 2, CrossNorm: 2, SigmaFx: 0.5, SigmaFy: 0.5,
	SigmaGy: 0.5, SigmaGxy: 0.3, SigmaGyy: 0.3}

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

// Closed forms: F − F* = ½ uᵀSu and ∇F = Su for u = x − x* and S = ∇²F; x̂ = x* + ρ(S + ρI)⁻¹u.
func TestStateOnQuadratic(t *testing.T) {
	p := problem(t, noisy)
	best, least := p.Optimum()
	s, o := hessian(t, p, best), observer(t, p, Options{Best: least})
	for seed := range uint64(5) {
		x, y, ys := mattest.Vec(3, seed), mattest.Vec(4, seed+50), make([]float64, 4)
		u, v, su := slices.Clone(x), make([]float64, 3), make([]float64, 3)
		mat.Axpy(u, -1, best)
		mat.MulVecSym(su, s, u)
		require.NoError(t, p.Solution(ys, x))
		m, err := o.At(x, y)
		require.NoError(t, err)
		assert.InEpsilon(t, mat.Dot(u, su)/2, m.Gap, 1e-9)
		assert.InEpsilon(t, mat.Norm(su), m.Grad, 1e-9)
		assert.InEpsilon(t, distance(y, ys), m.Lower, 1e-12)
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
			mat.MulVecSym(su, s, v)
			assert.InEpsilon(t, rho*rho*mat.Dot(v, su)/2+want/(2*rho), e.Value-least, 1e-7, "ρ = %v", rho)
		}
	}
}

func TestObservingChangesNothing(t *testing.T) {
	finite := noisy
	finite.Terms = 20 // some methods keep a table of all samples
	p := problem(t, finite)
	for _, e := range method.Registry() {
		if e.Needs.Composition {
			continue
		}
		m, name := e.New(method.Tuning{Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.02), MuG: 0.5,
			LG: 5}), e.Name
		results := [2]bilevel.Result{}
		seen := 0
		for i, watch := range []bool{false, true} {
			s, err := bilevel.New(p, m, bilevel.Options{Seed: 7, LowerBatch: 2})
			require.NoError(t, err, name)
			run := bilevel.Run{Steps: 40}
			o := observer(t, p, Options{})
			if watch {
				run.Progress = o.Progress(func(s *bilevel.Solver, m State) bool {
					seen++
					assert.Equal(t, seen, s.K())
					return m.Gap < math.Inf(1)
				})
			}
			results[i], err = s.Run(context.Background(), run)
			require.NoError(t, err, name)
			require.NoError(t, o.Err())
		}
		assert.Equal(t, results[0].X, results[1].X, name)
		assert.Equal(t, results[0].Y, results[1].Y, name)
		assert.Equal(t, results[0].Counts, results[1].Counts, name)
		assert.Equal(t, results[0].Steps, seen, name)
	}
}

// brittle fails in Solution, or in Objective.
type brittle struct {
	*quadratic.Problem
	solution, objective error
}

func (b brittle) Objective(grad, x []float64) (float64, error) {
	f, err := b.Problem.Objective(grad, x)
	return f, cmp.Or(b.objective, err)
}

func (b brittle) Solution(y, x []float64) error { return cmp.Or(b.solution, b.Problem.Solution(y, x)) }

func TestProgressStops(t *testing.T) {
	broken := errors.New("broken")
	for _, b := range []brittle{{}, {solution: broken}, {objective: broken}} {
		b.Problem = problem(t, noisy)
		o := observer(t, b, Options{})
		s, err := bilevel.New(b, bilevel.STABLE{MuG: 0.5}, bilevel.Options{})
		require.NoError(t, err)
		r, err := s.Run(context.Background(), bilevel.Run{Steps: 10, Progress: o.Progress(
			func(s *bilevel.Solver, _ State) bool { return s.K() < 4 })})
		require.NoError(t, err)
		assert.Equal(t, bilevel.ByProgress, r.Reason)
		if cmp.Or(b.solution, b.objective) == nil {
			assert.Equal(t, 4, r.Steps)
			assert.NoError(t, o.Err())
		} else {
			assert.Equal(t, 1, r.Steps)
			assert.ErrorIs(t, o.Err(), broken)
			assert.ErrorContains(t, o.Err(), "step 1")
		}
	}
}

type untold struct {
	bilevel.Problem
	bilevel.Values
}

func TestNewtonIsTheTruth(t *testing.T) {
	p := problem(t, quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGyy: 1})
	x, best := p.Optimum()
	o := LimitOptions{Draws: 50}
	want, err := LocalLimit(p, x, o)
	require.NoError(t, err)
	got, err := LocalLimit(struct{ bilevel.Problem }{p}, x, o)
	require.NoError(t, err)
	assert.InEpsilon(t, want.Xi, got.Xi, 1e-9)
	assert.InEpsilon(t, want.Phi, got.Phi, 1e-9)

	x[1] += 0.5
	y := []float64{1, 2, 3, 4}
	a, err := observer(t, p, Options{Best: best}).At(x, y)
	require.NoError(t, err)
	b, err := observer(t, untold{p, p}, Options{Best: best}).At(x, y)
	require.NoError(t, err)
	assert.InEpsilon(t, a.Gap, b.Gap, 1e-9)
	assert.InEpsilon(t, a.Grad, b.Grad, 1e-9)
	assert.InEpsilon(t, a.Lower, b.Lower, 1e-9)

	for want, p := range map[string]bilevel.Problem{
		"bilevel.Truth or bilevel.Values": struct{ bilevel.Problem }{p}, "Options.Best is NaN": p,
	} {
		_, err = New(p, Options{Best: math.NaN()})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// Of two losses alone: y*(x) solves e^y − n + e^x·y = 0, to rounding, from anywhere.
func TestNewtonOfTwoLosses(t *testing.T) {
	x, n := []float64{-9, 2, 0.5}, []float64{300, 0.5, 3} // Newton steps from 0 are far too long
	p, err := auto.New(auto.Losses{Dx: 3, Dy: 3, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-1).SquaredNorm() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Exp().Sum().Sub(y.Dot(auto.Data(n))).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
		},
	})
	require.NoError(t, err)
	truth := truthOf(p)
	for _, from := range [][]float64{{0, 0, 0}, {-40, 30, 5}, {1, 1, 1}} {
		require.NoError(t, truth.Solution(from, x))
		for j, y := range from {
			assert.InDelta(t, n[j], math.Exp(y)+math.Exp(x[j])*y, 1e-11*n[j])
		}
	}
	grad, at := make([]float64, 3), make([]float64, 3)
	value, err := truth.Objective(grad, x)
	require.NoError(t, err)
	for j := range x {
		const h = 1e-5
		copy(at, x)
		at[j] += h
		up, err := truth.Objective(nil, at)
		require.NoError(t, err)
		at[j] -= 2 * h
		down, err := truth.Objective(nil, at)
		require.NoError(t, err)
		assert.InDelta(t, (up-down)/(2*h), grad[j], 1e-6*value)
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
