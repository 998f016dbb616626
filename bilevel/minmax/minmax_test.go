package minmax

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// square has its saddle point at (a, b): with u = x − a and v = y − b, names 2i, 2i+1 of opposite
// noise,
//
//	s = ½ Σ p_i u_i² + uᵀK v − ½ Σ q_j v_j² − bend·Σ log cosh(v_j) + noise·(eᵀu + e′ᵀv + uᵀN v).
type square struct {
	p, q, a, b  []float64
	k           *mat.Dense
	noise, bend float64
	size        uint64
	drawn       [4]*draw // those made so far
}

type draw struct {
	e, f []float64
	n    *mat.Dense
}

// newSquare has p_1 < 0, so that s is not convex in x; F is, because p_1 + (K Q⁻¹Kᵀ)_11 > 0.
func newSquare(noise, bend float64) *square {
	k := &mat.Dense{Rows: 3, Cols: 4, Stride: 4, Data: []float64{2, 0, 0, 1, 0, 1, 1, 0, 0, 1, -2, 0}}
	return &square{p: []float64{-0.1, 0.5, 1}, q: []float64{1, 2, 3, 4}, a: []float64{0.5, -1, 2},
		b: []float64{1, 0, -2, 0.3}, k: k, noise: noise, bend: bend, size: 8}
}

func (s *square) Dims() (int, int) { return len(s.p), len(s.q) }
func (s *square) Stream() uint64   { return s.size }

func (s *square) draws(zeta []bilevel.Sample) (e, f []float64, n *mat.Dense) {
	dx, dy := s.Dims()
	e, f, n = make([]float64, dx), make([]float64, dy), mat.NewDense(dx, dy)
	for _, z := range zeta {
		w := s.noise / float64(len(zeta))
		if z%2 == 1 {
			w = -w
		}
		d := s.pair(uint64(z) % 8 / 2)
		mat.Axpy(e, w, d.e)
		mat.Axpy(f, w, d.f)
		mat.AddScaled(n, n, w, d.n)
	}
	mat.AddScaled(n, n, 1, s.k)
	return e, f, n
}

func (s *square) pair(i uint64) *draw {
	if s.drawn[i] == nil {
		dx, dy := s.Dims()
		d := &draw{make([]float64, dx), make([]float64, dy), mat.NewDense(dx, dy)}
		rng := rand.New(rand.NewPCG(11, i))
		for _, v := range [][]float64{d.e, d.f, d.n.Data} {
			for i := range v {
				v[i] = rng.NormFloat64()
			}
		}
		s.drawn[i] = d
	}
	return s.drawn[i]
}

func (s *square) offsets(x, y []float64) (u, v []float64) {
	for i := range x {
		u = append(u, x[i]-s.a[i])
	}
	for j := range y {
		v = append(v, y[j]-s.b[j])
	}
	return u, v
}

func (s *square) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	u, v := s.offsets(x, y)
	e, f, n := s.draws(zeta)
	w := make([]float64, len(x))
	mat.MulVec(w, n, v)
	sum := mat.Dot(u, w) + mat.Dot(e, u) + mat.Dot(f, v)
	for i, u := range u {
		sum += s.p[i] * u * u / 2
	}
	for j, v := range v {
		sum -= s.q[j]*v*v/2 + s.bend*math.Log(math.Cosh(v))
	}
	return sum, nil
}

func (s *square) Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error {
	u, v := s.offsets(x, y)
	e, f, n := s.draws(zeta)
	mat.MulVec(sx, n, v)
	mat.MulVecTrans(sy, n, u)
	for i := range sx {
		sx[i] += s.p[i]*u[i] + e[i]
	}
	for j := range sy {
		sy[j] += f[j] - s.q[j]*v[j] - s.bend*math.Tanh(v[j])
	}
	return nil
}

func (s *square) Cross(sxy *mat.Dense, _, _ []float64, zeta []bilevel.Sample) error {
	_, _, n := s.draws(zeta)
	mat.Copy(sxy, n)
	return nil
}

func (s *square) Hess(syy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	_, v := s.offsets(x, y)
	syy.Zero()
	for j := range v {
		syy.Set(j, j, -s.q[j]-s.bend/(math.Cosh(v[j])*math.Cosh(v[j])))
	}
	return nil
}

type promising struct{ *square }

func (s promising) ConvexityAt([]float64) float64 { return slices.Min(s.q) }

func TestAdaptedProblemsAreRight(t *testing.T) {
	for name, s := range map[string]Saddle{
		"promise":      promising{newSquare(0.5, 2)},
		"quadratic":    newSquare(0.5, 0),
		"nonquadratic": newSquare(0.5, 2),
		"simulator": &square{p: []float64{1}, q: []float64{0.5, 3}, a: []float64{1}, b: []float64{1, 1},
			k: mattest.Dense(1, 2, 1), noise: 1, bend: 1},
	} {
		r, err := check.Problem(Adapt(s), check.Options{MuG: 0.5})
		require.NoError(t, err)
		assert.NoError(t, r.Err(), name)
		done := map[string]bool{}
		for _, p := range r.Passed {
			done[p.Check] = true
			done[p.Oracle] = true
		}
		assert.Equal(t, name == "promise", done["ConvexityAt"], name)
		for _, want := range []string{check.Derivative, check.BatchMean, check.Unbiased, check.Convexity, check.Truth} {
			assert.True(t, done[want], "%s: %s was not checked", name, want)
		}
	}
}

// hypergradient returns s_x and f_x − g_xy g_yy⁻¹ f_y at (x, y), and ‖g_xy g_yy⁻¹ f_y‖.
func hypergradient(t testing.TB, p *Problem, x, y []float64) (plain, corrected []float64, correction float64) {
	dx, dy := p.Dims()
	plain, corrected = make([]float64, dx), make([]float64, dx)
	fy, gxy, gyy := make([]float64, dy), mat.NewDense(dx, dy), mat.NewSym(dy)
	require.NoError(t, p.GradF(plain, fy, x, y, nil))
	require.NoError(t, p.CrossG(gxy, x, y, nil))
	require.NoError(t, p.HessG(gyy, x, y, nil))
	var c chol.Cholesky
	require.NoError(t, c.Factor(gyy))
	c.SolveVec(fy, fy)
	mat.MulVec(corrected, gxy, fy)
	correction = mat.Norm(corrected)
	for i := range corrected {
		corrected[i] = plain[i] - corrected[i]
	}
	return plain, corrected, correction
}

// At y*(x) the correction vanishes. Off it, s_x is wrong by O(‖y − y*‖), corrected by its square.
func TestCorrection(t *testing.T) {
	for _, bend := range []float64{0, 2} {
		p := Adapt(newSquare(0.5, bend))
		x, ys, grad := []float64{1, 2, -1}, make([]float64, 4), make([]float64, 3)
		require.NoError(t, p.Solution(ys, x))
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		_, got, correction := hypergradient(t, p, x, ys)
		assert.Less(t, correction, 1e-13)
		assert.InDeltaSlice(t, grad, got, 1e-13)

		var plain, corrected [2]float64
		for i, d := range []float64{1e-2, 1e-3} {
			y := []float64{ys[0] + d, ys[1] - d, ys[2] + d/2, ys[3]}
			a, b, _ := hypergradient(t, p, x, y)
			mat.Axpy(a, -1, grad)
			mat.Axpy(b, -1, grad)
			plain[i], corrected[i] = mat.Norm(a), mat.Norm(b)
		}
		assert.InDelta(t, 1, math.Log10(plain[0]/plain[1]), 0.05)
		if bend == 0 {
			assert.Less(t, corrected[0], 1e-13)
		} else {
			assert.InDelta(t, 2, math.Log10(corrected[0]/corrected[1]), 0.05)
		}
	}
}

func TestSTABLEGoesToTheSaddlePoint(t *testing.T) {
	for _, bend := range []float64{0, 2} {
		s := newSquare(0.5, bend)
		m, err := bilevel.New(Adapt(s),
			bilevel.STABLE{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.2), MuG: 1, Plain: true},
			bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
		require.NoError(t, err)
		r, err := m.Run(context.Background(), bilevel.Run{Steps: 3000})
		require.NoError(t, err)
		assert.InDeltaSlice(t, s.a, r.X, 1e-9)
		assert.InDeltaSlice(t, s.b, r.Y, 1e-9)

		rate := func(c float64) bilevel.Schedule { return bilevel.Power{C: c, K0: 40, P: 1} }
		m, err = bilevel.New(Adapt(s), bilevel.STABLE{Alpha: rate(4), Beta: rate(8), Tau: rate(8), MuG: 1, Plain: true},
			bilevel.Options{Seed: 1})
		require.NoError(t, err)
		r, err = m.Run(context.Background(), bilevel.Run{Steps: 20000})
		require.NoError(t, err)
		assert.InDeltaSlice(t, s.a, r.X, 0.05)
		assert.InDeltaSlice(t, s.b, r.Y, 0.05)
	}
}

// counting counts the Hessians.
type counting struct {
	*square
	hessians int
}

func (c *counting) Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error {
	c.hessians++
	return c.square.Hess(syy, x, y, zeta)
}

// A quadratic problem: y*(x) = b + Q⁻¹Kᵀu and F(x) = ½ Σ p u² + ½ (Kᵀu)ᵀQ⁻¹Kᵀu, in a few steps.
func TestTruth(t *testing.T) {
	s := newSquare(0.5, 0)
	c := &counting{square: s}
	p := Adapt(c)
	x, y, w := []float64{1, 2, -1}, []float64{1e6, -1e6, 0, 1}, make([]float64, 4)
	u, _ := s.offsets(x, s.b)
	mat.MulVecTrans(w, s.k, u)
	want, f := make([]float64, 4), 0.0
	for j, v := range w {
		want[j] = s.b[j] + v/s.q[j]
		f += v * v / s.q[j] / 2
	}
	for i, v := range u {
		f += s.p[i] * v * v / 2
	}
	for range 2 {
		require.NoError(t, p.Solution(y, x))
		assert.InDeltaSlice(t, want, y, 1e-14)
	}
	assert.LessOrEqual(t, c.hessians, 6)
	got, err := p.Objective(nil, x)
	require.NoError(t, err)
	assert.InDelta(t, f, got, 1e-13)

	s.b = make([]float64, 4) // a solution at 0 exactly
	require.NoError(t, p.Solution(y, s.a))
	assert.InDeltaSlice(t, s.b, y, 1e-15)
}

// From the flat part of log cosh the Newton step overshoots and is halved; y*(a) = b.
func TestSolutionFromAfar(t *testing.T) {
	s := newSquare(0, 2)
	s.q = []float64{0.1, 0.1, 0.1, 0.1}
	y := []float64{6, 5, -7, 4}
	require.NoError(t, Adapt(s).Solution(y, s.a))
	assert.InDeltaSlice(t, s.b, y, 1e-13)
}

func TestObjectiveHasNoMemory(t *testing.T) {
	p := Adapt(newSquare(0.5, 2))
	for seed := range uint64(50) {
		x := mattest.Vec(3, seed)
		got, err := p.Objective(nil, x)
		require.NoError(t, err)
		want, err := Adapt(newSquare(0.5, 2)).Objective(nil, x)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// convexIn is not concave in y, or has no exact values.
type convexIn struct {
	*square
	err error
}

func (s convexIn) Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error {
	_ = s.square.Hess(syy, x, y, zeta)
	syy.Set(2, 2, 1)
	return s.err
}

func TestNoMaximum(t *testing.T) {
	y := make([]float64, 4)
	err := Adapt(convexIn{newSquare(0, 0), nil}).Solution(y, []float64{1, 2, 3})
	assert.ErrorIs(t, err, ErrNoMaximum)
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	_, err = Adapt(convexIn{newSquare(0, 0), bilevel.ErrNoExact}).Objective(nil, []float64{1, 2, 3})
	assert.True(t, errors.Is(err, bilevel.ErrNoExact))
}
