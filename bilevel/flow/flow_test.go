package flow

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
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
	m := map[string]subject{"bent": {newBent(t), bent{}.constants()}}
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

func newFlow(t testing.TB, p bilevel.Problem, o Options) *Flow {
	t.Helper()
	f, err := New(p, o)
	require.NoError(t, err)
	return f
}

func start(s subject, seed uint64) (x, y []float64) {
	dx, dy := s.p.Dims()
	x, y = mattest.Vec(dx, seed), mattest.Vec(dy, seed+1000)
	mat.Axpy(x, 5, x)
	mat.Axpy(y, 5, y)
	return x, y
}

// Halving h divides the error by 2⁴ for Runge-Kutta and by 2 for Euler.
func TestOrder(t *testing.T) {
	for scheme, order := range map[Scheme]float64{RK4: 4, Euler: 1} {
		t.Run(scheme.String(), func(t *testing.T) {
			end := func(steps int) []float64 {
				f := newFlow(t, newBent(t), Options{Alpha: 1, Beta: 1, H: 2 / float64(steps), Scheme: scheme,
					X0: []float64{2, -1}, Y0: []float64{1, -2, 0.5}})
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
			f := newFlow(t, s.p, Options{Alpha: alpha, Beta: beta, H: 0.05})
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

func TestEulerIsSTABLE(t *testing.T) {
	const h, alpha, beta = 0.1, 0.7, 1.5
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			x, y := start(s, 8)
			f := newFlow(t, s.p, Options{Alpha: alpha, Beta: beta, H: h, Scheme: Euler, X0: x, Y0: y})
			a, b := bilevel.Constant(h*alpha), bilevel.Constant(h*beta)
			m, err := bilevel.New(s.p, bilevel.STABLE{Alpha: a, Beta: b, MuG: 1e-3, Plain: true},
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
		"Alpha is 0":              {Beta: 1, H: 1},
		"Beta is -1":              {Alpha: 1, Beta: -1, H: 1},
		"H is NaN":                {Alpha: 1, Beta: 1, H: math.NaN()},
		"Scheme is 7":             {Alpha: 1, Beta: 1, H: 1, Scheme: 7},
		"X0 has length 1, want 2": {Alpha: 1, Beta: 1, H: 1, X0: []float64{1}},
		"Y0 is +Inf at index 2":   {Alpha: 1, Beta: 1, H: 1, Y0: []float64{1, 2, math.Inf(1)}},
	} {
		_, err := New(newBent(t), o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{})
	require.NoError(t, err)
	f := newFlow(t, p, Options{Alpha: 0.1, Beta: 0.1, H: 0.1})
	require.NoError(t, f.Step())
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = f.Step() }))
}

// An error moves nothing.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	fails := func([]float64) error { return broken }
	entry := func(v float64) func(row []float64) error {
		return func(row []float64) error {
			row[len(row)-2] = v
			return nil
		}
	}
	for _, c := range []struct {
		quantity string
		fault    func(v []float64) error
		want     error
	}{
		{"f_x", fails, broken}, {"g_y", fails, broken}, {"H_xy", fails, broken}, {"H_yy", fails, broken},
		{"H_yy", entry(-1e9), chol.ErrNotPosDef}, {"f_x", entry(math.NaN()), bilevel.ErrDiverged},
	} {
		p := &bileveltest.Faulty[bilevel.Sample]{Problem: newBent(t), Quantity: c.quantity, Fault: c.fault}
		f := newFlow(t, p, Options{Alpha: 1, Beta: 1, H: 0.1, X0: []float64{1, 2}})
		require.ErrorIs(t, f.Step(), c.want, c.quantity)
		assert.Equal(t, []float64{1, 2}, f.X())
		assert.Zero(t, f.K())
		_, err := f.Lyapunov()
		assert.ErrorIs(t, err, ErrNoTruth)
	}
}
