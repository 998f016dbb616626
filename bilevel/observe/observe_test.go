package observe

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
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
	s := hessian(t, p, best)
	for _, rho := range []float64{0, 0.01, 1, 100} {
		o := observer(t, p, Options{Best: least, Rho: rho})
		for seed := range uint64(5) {
			x, y, ys := mattest.Vec(3, seed), mattest.Vec(4, seed+50), make([]float64, 4)
			u, su := slices.Clone(x), make([]float64, 3)
			mat.Axpy(u, -1, best)
			mat.MulVecSym(su, s, u)
			require.NoError(t, p.Solution(ys, x))
			m, err := o.At(x, y)
			require.NoError(t, err)
			assert.InEpsilon(t, mat.Dot(u, su)/2, m.Gap, 1e-9)
			assert.InEpsilon(t, mat.Norm(su), m.Grad, 1e-9)
			assert.InEpsilon(t, distance(y, ys), m.Lower, 1e-12)
			if rho == 0 {
				assert.Equal(t, m.Gap, m.Envelope)
				assert.True(t, math.IsNaN(m.Near))
				continue
			}
			var c chol.Cholesky
			require.NoError(t, c.FactorShifted(s, -rho)) // of S + ρI
			v := make([]float64, 3)
			c.SolveVec(v, u)
			far := slices.Clone(u) // x − x̂ = u − ρv
			mat.Axpy(far, -rho, v)
			want := rho * rho * mat.Dot(far, far)
			assert.InEpsilon(t, want, m.Near, 1e-6, "ρ = %v", rho)
			mat.MulVecSym(su, s, v)
			assert.InEpsilon(t, rho*rho*mat.Dot(v, su)/2+want/(2*rho), m.Envelope, 1e-7, "ρ = %v", rho)
		}
	}
}

// What is measured of a STABLE run: iterates at k, estimates at their point, k − 1.
func TestMeasurement(t *testing.T) {
	p := problem(t, noisy)
	_, least := p.Optimum()
	const rho = 2
	for _, every := range []int{1, 3} {
		o := observer(t, p, Options{Best: least, Rho: rho})
		plain := observer(t, p.Clone(), Options{Best: least, Rho: rho})
		s, err := bilevel.New(p.Clone(),
			bilevel.STABLE{Alpha: bilevel.Constant(0.05), Beta: bilevel.Constant(0.1),
				MuG: 0.5}, bilevel.Options{Seed: 1})
		require.NoError(t, err)
		before, err := o.Observe(s)
		require.NoError(t, err)
		assert.True(t, math.IsNaN(before.Hxy) && math.IsNaN(before.Hyy), "there are no estimates before the first step")
		assert.InDelta(t, before.Envelope+before.Lower*before.Lower, before.Lyapunov, 1e-15)
		gxy, gyy := mat.NewDense(3, 4), mat.NewSym(4)
		for k := 1; k <= 30; k++ {
			x, y := slices.Clone(s.X()), slices.Clone(s.Y())
			require.NoError(t, s.Step())
			if k%every != 0 {
				continue
			}
			m, err := o.Observe(s)
			require.NoError(t, err)
			assert.Equal(t, k, m.K)
			assert.Equal(t, s.Counts(), m.Counts)
			now, err := plain.At(s.X(), s.Y())
			require.NoError(t, err)
			assert.Equal(t, now, m.State)

			require.NoError(t, p.CrossG(gxy, x, y, nil))
			require.NoError(t, p.HessG(gyy, x, y, nil))
			mat.AddScaled(gxy, gxy, -1, s.Estimator().Hxy())
			mat.AddScaledSym(gyy, gyy, -1, s.Estimator().Hyy())
			hxy, hyy := mat.NormFrob(gxy), mat.NormFrobSym(gyy)
			assert.InEpsilon(t, hxy, m.Hxy, 1e-12)
			assert.InEpsilon(t, hyy, m.Hyy, 1e-12)
			old, err := plain.At(x, y)
			require.NoError(t, err)
			assert.InEpsilon(t, old.Envelope+old.Lower*old.Lower+hxy*hxy+hyy*hyy, m.Lyapunov, 1e-12)
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
			o := observer(t, p, Options{Rho: 3})
			if watch {
				run.Progress = o.Progress(func(m Measurement) bool {
					seen++
					assert.False(t, math.IsNaN(m.Lyapunov))
					return true
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

// brittle fails in one place.
type brittle struct {
	*quadratic.Problem
	in string
}

var errBroken = errors.New("broken")

func (b *brittle) Objective(grad, x []float64) (float64, error) {
	f, err := b.Problem.Objective(grad, x)
	return f, cmp.Or(b.broken("objective"), err)
}

func (b *brittle) Solution(y, x []float64) error {
	return cmp.Or(b.broken("solution"), b.Problem.Solution(y, x))
}

func (b *brittle) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := b.Problem.HessG(gyy, x, y, phi)
	if len(phi) == 0 {
		err = cmp.Or(b.broken("exact"), err)
	}
	return err
}

func (b *brittle) broken(in string) error {
	if b.in == in {
		return errBroken
	}
	return nil
}

func TestProgressStops(t *testing.T) {
	for _, name := range []string{"visit", "objective", "solution", "exact"} {
		b := &brittle{problem(t, noisy), name}
		o := observer(t, b, Options{})
		s, err := bilevel.New(b, bilevel.STABLE{MuG: 0.5}, bilevel.Options{})
		require.NoError(t, err)
		r, err := s.Run(context.Background(), bilevel.Run{Steps: 10, Progress: o.Progress(func(m Measurement) bool { return m.K < 4 })})
		require.NoError(t, err)
		assert.Equal(t, bilevel.ByProgress, r.Reason, name)
		if name == "visit" {
			assert.Equal(t, 4, r.Steps)
			assert.NoError(t, o.Err())
		} else {
			assert.Equal(t, 1, r.Steps)
			assert.ErrorIs(t, o.Err(), errBroken)
			assert.ErrorContains(t, o.Err(), "step 1")
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	p := problem(t, noisy)
	for want, o := range map[string]Options{
		"Options.Best is NaN": {Best: math.NaN()},
		"Rho is -1":           {Rho: -1},
		"Box has 2":           {Rho: 1, Set: bilevel.UniformBox(2, 0, 1)},
	} {
		_, err := New(p, o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
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

	_, err = New(struct{ bilevel.Problem }{p}, Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "bilevel.Truth or bilevel.Values")
}

// rates has Newton steps from 0 that are far too long, g = Σ e^(y_j) − n_j y_j + ½e^(x_j)y_j².
func rates(t *testing.T, exact bool) *auto.Problem {
	g := func(x, y auto.Vec, noise float64) auto.Num {
		n := auto.Data([]float64{300 + noise, 0.5, 3 - noise})
		return y.Exp().Sum().Sub(y.Dot(n)).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
	}
	l := auto.Losses{Dx: 3, Dy: 3, Upper: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-1).SquaredNorm() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return g(x, y, rand.New(rand.NewPCG(uint64(s), 0)).NormFloat64())
		},
	}
	if exact {
		l.MeanG = func(x, y auto.Vec) auto.Num { return g(x, y, 0) }
	}
	p, err := auto.New(l)
	require.NoError(t, err)
	return p
}

// Of two losses alone: y*(x) solves e^y − n + e^x·y = 0, to rounding, from anywhere.
func TestNewtonOfTwoLosses(t *testing.T) {
	truth, err := truthOf(rates(t, true), true)
	require.NoError(t, err)
	x := []float64{-9, 2, 0.5}
	n := []float64{300, 0.5, 3}
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

	_, err = LocalLimit(rates(t, false), x, LimitOptions{})
	require.ErrorIs(t, err, bilevel.ErrNoExact)
}

type lost struct{ bilevel.Problem }

func (lost) GradG(gy, _, _ []float64, _ []bilevel.Sample) error {
	for i := range gy {
		gy[i] = math.NaN()
	}
	return nil
}

func TestNewtonRefusesNaN(t *testing.T) {
	truth, err := truthOf(lost{problem(t, quadratic.Options{Dx: 2, Dy: 3, Seed: 5})}, false)
	require.NoError(t, err)
	require.ErrorContains(t, truth.Solution(make([]float64, 3), make([]float64, 2)), "‖g_y‖ is NaN")
}
