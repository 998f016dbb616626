package flow

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

type subject struct {
	p interface {
		bilevel.Problem
		bilevel.Truth
	}
	c theorem.Constants
}

func subjects(t testing.TB) map[string]subject {
	m := map[string]subject{"bent": {newBent(), newBent().constants()}}
	for name, o := range map[string]quadratic.Options{
		"quadratic":              {Dx: 3, Dy: 4, Seed: 1, MuG: 0.5, LG: 4},
		"steep":                  {Dx: 5, Dy: 2, Seed: 2, CrossNorm: 4},
		"quadratic lower, not F": {Dx: 3, Dy: 3, Seed: 3, Nonconvex: 1.5, CrossNorm: 2},
	} {
		p, err := quadratic.New(o)
		require.NoError(t, err)
		m[name] = subject{p, p.Constants(0)} // of which MaxAlpha uses what holds everywhere, because L is 0
	}
	return m
}

func start(s subject, seed uint64) (x, y []float64) {
	dx, dy := s.p.Dims()
	x, y = mattest.Vec(dx, seed), mattest.Vec(dy, seed+1000)
	for i := range x {
		x[i] *= 6
	}
	for j := range y {
		y[j] *= 6
	}
	return x, y
}

// Halving h divides the error by 2⁴ for Runge-Kutta and by 2 for Euler.
func TestOrder(t *testing.T) {
	for scheme, order := range map[Scheme]float64{RK4: 4, Euler: 1} {
		t.Run(scheme.String(), func(t *testing.T) {
			end := func(steps int) []float64 {
				f, err := New(newBent(),
					Options{Alpha: 1, Beta: 1, H: 2 / float64(steps), Scheme: scheme, X0: []float64{2, -1},
						Y0: []float64{1, -2, 0.5}})
				require.NoError(t, err)
				for range steps {
					require.NoError(t, f.Step())
				}
				require.Equal(t, 2.0, f.T())
				return append(slices.Clone(f.X()), f.Y()...)
			}
			a, b, c := end(64), end(128), end(256)
			mat.Axpy(a, -1, b)
			mat.Axpy(b, -1, c)
			assert.InDelta(t, order, math.Log2(mat.Norm(a)/mat.Norm(b)), 0.1)
		})
	}
}

func TestAtRestOnlyAtTheSolution(t *testing.T) {
	const alpha, beta = 0.7, 1.3
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			dx, dy := s.p.Dims()
			vx, vy, ys, grad := make([]float64, dx), make([]float64, dy), make([]float64, dy), make([]float64, dx)
			f, err := New(s.p, Options{Alpha: alpha, Beta: beta, H: 0.05})
			require.NoError(t, err)
			if q, ok := s.p.(*quadratic.Problem); ok {
				x, _ := q.Optimum()
				require.NoError(t, s.p.Solution(ys, x))
				require.NoError(t, f.Velocity(vx, vy, x, ys))
				assert.Less(t, mat.Norm(vx)+mat.Norm(vy), 1e-12)
			}
			for seed := range uint64(10) {
				x, y := start(s, seed)
				require.NoError(t, s.p.Solution(ys, x))
				require.NoError(t, f.Velocity(vx, vy, x, ys))
				_, err := s.p.Objective(grad, x)
				require.NoError(t, err)
				require.Greater(t, mat.Norm(grad), 1e-3)
				for i := range grad {
					assert.InDelta(t, -alpha*grad[i], vx[i], 1e-11*(1+mat.Norm(grad)))
				}
				require.NoError(t, f.Velocity(vx, vy, x, y))
				assert.Greater(t, mat.Norm(vx)+mat.Norm(vy), 1e-3)
			}
		})
	}
}

func TestSettlesAtStationaryPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			dx, dy := s.p.Dims()
			ys, grad := make([]float64, dy), make([]float64, dx)
			for seed := range uint64(5) {
				x, y := start(s, seed)
				f, err := New(s.p, Options{Alpha: 1, Beta: 1, H: 0.05, X0: x, Y0: y})
				require.NoError(t, err)
				for range 8000 {
					require.NoError(t, f.Step())
				}
				require.NoError(t, s.p.Solution(ys, f.X()))
				assert.InDeltaSlice(t, ys, f.Y(), 1e-9)
				_, err = s.p.Objective(grad, f.X())
				require.NoError(t, err)
				assert.Less(t, mat.Norm(grad), 1e-8, "seed %d", seed)
			}
		})
	}
}

// In a quadratic problem y − y*(x) decays by −β g_yy alone, whatever the rate of x.
func TestCorrectionCarriesTheError(t *testing.T) {
	s := subjects(t)["quadratic"]
	x, y := start(s, 3)
	ys := make([]float64, len(y))
	var errs [2][]float64
	for i, alpha := range []float64{0.01, 1} {
		f, err := New(s.p, Options{Alpha: alpha, Beta: 1, H: 0.01, X0: x, Y0: y})
		require.NoError(t, err)
		for range 100 {
			require.NoError(t, f.Step())
		}
		require.NoError(t, s.p.Solution(ys, f.X()))
		errs[i] = slices.Clone(f.Y())
		mat.Axpy(errs[i], -1, ys)
		require.Greater(t, mat.Norm(errs[i]), 0.1)
	}
	assert.InDeltaSlice(t, errs[0], errs[1], 1e-11)
}

func TestEulerIsSTABLE(t *testing.T) {
	const h, alpha, beta = 0.1, 0.7, 1.5
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			x, y := start(s, 8)
			f, err := New(s.p, Options{Alpha: alpha, Beta: beta, H: h, Scheme: Euler, X0: x, Y0: y})
			require.NoError(t, err)
			m, err := bilevel.New(s.p,
				bilevel.STABLE{Alpha: bilevel.Constant(h * alpha), Beta: bilevel.Constant(h * beta), MuG: 1e-3,
					Plain: true},
				bilevel.Options{X0: x, Y0: y, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			for k := range 50 {
				require.NoError(t, f.Step())
				require.NoError(t, m.Step())
				require.InDeltaSlice(t, m.X(), f.X(), 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, m.Y(), f.Y(), 1e-10, "y at step %d", k)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"Alpha is 0":  {Beta: 1, H: 1},
		"Beta is -1":  {Alpha: 1, Beta: -1, H: 1},
		"H is NaN":    {Alpha: 1, Beta: 1, H: math.NaN()},
		"Scheme is 7": {Alpha: 1, Beta: 1, H: 1, Scheme: 7},
		"X0 wants 2":  {Alpha: 1, Beta: 1, H: 1, X0: []float64{1}},
		"Y0 wants 3":  {Alpha: 1, Beta: 1, H: 1, Y0: []float64{1, 2, math.Inf(1)}},
	} {
		_, err := New(newBent(), o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// failing lets one oracle fail, or makes g_yy indefinite.
type failing struct {
	bilevel.Problem
	at string
}

func (p failing) fail(name string) error {
	if p.at == name {
		return fmt.Errorf("%s failed", name)
	}
	return nil
}

func (p failing) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	_ = p.Problem.GradF(fx, fy, x, y, xi)
	if p.at == "NaN" {
		fx[0] = math.NaN()
	}
	return p.fail("GradF")
}

func (p failing) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.GradG(gy, x, y, phi)
	return p.fail("GradG")
}

func (p failing) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.CrossG(gxy, x, y, phi)
	return p.fail("CrossG")
}

func (p failing) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.HessG(gyy, x, y, phi)
	if p.at == "indefinite" {
		gyy.Set(1, 1, -1)
	}
	return p.fail("HessG")
}

func TestErrors(t *testing.T) {
	for _, at := range []string{"GradF", "GradG", "CrossG", "HessG", "indefinite", "NaN"} {
		f, err := New(failing{newBent(), at}, Options{Alpha: 1, Beta: 1, H: 0.1, X0: []float64{1, 2}})
		require.NoError(t, err)
		err = f.Step()
		switch at {
		case "indefinite":
			assert.ErrorIs(t, err, chol.ErrNotPosDef)
		case "NaN":
			assert.ErrorIs(t, err, bilevel.ErrDiverged)
		default:
			assert.ErrorContains(t, err, at+" failed")
		}
		assert.Equal(t, []float64{1, 2}, f.X())
		assert.Zero(t, f.K())
		_, err = f.Lyapunov()
		assert.ErrorIs(t, err, ErrNoTruth)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{})
	require.NoError(t, err)
	f, err := New(p, Options{Alpha: 0.1, Beta: 0.1, H: 0.1})
	require.NoError(t, err)
	require.NoError(t, f.Step())
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = f.Step() }))
}
