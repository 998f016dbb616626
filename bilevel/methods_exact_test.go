package bilevel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// afterSteps returns x and y after some steps on wavy.
func afterSteps(t *testing.T, m Method, opt Options, steps int) []float64 {
	s, err := New(newWavy(0.3), m, opt)
	require.NoError(t, err)
	for range steps {
		require.NoError(t, s.Step())
	}
	return slices.Concat(s.X(), s.Y())
}

// With exact oracles and a long series each method's step is that of its deterministic counterpart,
// with the exact inverse.
func TestMethodsExactStep(t *testing.T) {
	const alpha, beta = 0.05, 0.1
	series := Neumann{LG: 7, MuG: 0.5, Terms: 700}
	a, b := Constant(alpha), Constant(beta)
	full1 := Options{Set: UniformBox(3, -0.2, 0.4), UpperBatch: Full, LowerBatch: Full}
	for _, c := range []struct {
		m      Method
		inner  int
		atNewY bool // x moves at the new y
	}{
		{BSA{a, b, Constant(3), series}, 3, true}, {TTSA{a, b, series}, 1, true}, {StocBiO{a, b, 2, series}, 2, true},
		{ALSET{a, b, 4, series}, 4, true}, {SUSTAIN{a, b, Constant(0.2), Constant(0.3), series}, 1, false}, {MSTSA{a, b, Constant(0.2), series}, 1, false},
		{MRBO{a, b, Constant(0.2), Constant(0.3), series}, 1, false},
	} {
		w, mirror := newWavy(0.1), newWavy(0.1)
		s, err := New(w, c.m, full1)
		require.NoError(t, err)
		x, y := make([]float64, 3), make([]float64, 4)
		gy := make([]float64, 4)
		for k := range 10 {
			require.NoError(t, s.Step())
			xNow, at := slices.Clone(x), slices.Clone(y)
			for range c.inner {
				require.NoError(t, mirror.GradG(gy, xNow, y, nil))
				mat.Axpy(y, -beta, gy)
			}
			if c.atNewY {
				at = y
			}
			mat.Axpy(x, -alpha, exactHypergradient(t, mirror, xNow, at))
			full1.Set.Project(x, x)
			require.InDeltaSlice(t, x, s.X(), 1e-11, "%s: x at step %d", c.m.Name(), k)
			require.InDeltaSlice(t, y, s.Y(), 1e-11, "%s: y at step %d", c.m.Name(), k)
		}
	}
}

// exactHypergradient is f_x − g_xy g_yy⁻¹ f_y at (x, y), by elimination.
func exactHypergradient(t *testing.T, w *wavy, x, y []float64) []float64 {
	fx, fy, gxy, gyy := make([]float64, 3), make([]float64, 4), mat.NewDense(3, 4), mat.NewSym(4)
	require.NoError(t, w.GradF(fx, fy, x, y, nil))
	require.NoError(t, w.CrossG(gxy, x, y, nil))
	require.NoError(t, w.HessG(gyy, x, y, nil))
	v := apply(invert(t, full(gyy, 4, 4)), fy)
	for i := range fx {
		fx[i] -= mat.Dot(gxy.Row(i), v)
	}
	return fx
}

// Weight 1 is the method without a memory, and equal parameters make equal methods, bit for bit:
// they draw in the same order.
func TestMethodReductions(t *testing.T) {
	a, b, n := Constant(0.05), Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	one, tau := Constant(1), Constant(0.3)
	opt := Options{Seed: 5, LowerBatch: 2}
	assert.Equal(t, afterSteps(t, TTSA{a, b, n}, opt, 30), afterSteps(t, ALSET{a, b, 1, n}, opt, 30))
	assert.Equal(t, afterSteps(t, TTSA{a, b, n}, opt, 30), afterSteps(t, BSA{a, b, one, n}, opt, 30))
	assert.Equal(t, afterSteps(t, MSTSA{a, b, tau, n}, opt, 30), afterSteps(t, SUSTAIN{a, b, tau, one, n}, opt, 30))
	assert.NotEqual(t, afterSteps(t, MSTSA{a, b, tau, n}, opt, 30), afterSteps(t, SUSTAIN{a, b, tau, tau, n}, opt, 30))

	// Without noise the weights do not matter, nor does the estimator.
	exact := Options{UpperBatch: Full, LowerBatch: Full}
	want := afterSteps(t, SUSTAIN{a, b, one, one, n}, exact, 30)
	for _, m := range []Method{SUSTAIN{a, b, tau, tau, n}, MSTSA{a, b, tau, n}, MRBO{a, b, tau, Constant(0), n}} {
		assert.InDeltaSlice(t, want, afterSteps(t, m, exact, 30), 1e-13, m.Name())
	}
}

// What is left zero stands at the default that the documentation gives, bit for bit.
func TestDefaults(t *testing.T) {
	a, b, n := Constant(0.05), Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	root, storm, inf := Power{C: 1, P: 0.5}, Power{C: 1, P: 2.0 / 3}, math.Inf(1)
	opt := Options{Seed: 5, UpperBatch: 2, LowerBatch: 2}
	rule := func(u Upper) Method { return STABLE{Alpha: a, Beta: b, MuG: 0.3, Upper: u} }
	for _, c := range []struct{ short, long Method }{
		{STABLE{MuG: 0.3}, STABLE{ScaleX: 0.1, ScaleY: 0.5, Tau: root, MuG: 0.3, CGxy: inf, InitBatch: 4, Trust: 0.1}},
		{rule(Momentum{}), rule(Momentum{Constant(0.9)})},
		{rule(STORM{}), rule(STORM{storm})},
		{rule(Adam{}), rule(Adam{0.9, 0.999, 1e-8})},
		{BSA{a, b, nil, n}, BSA{a, b, Power{C: 1, P: -0.5}, n}},
		{StocBiO{a, b, 0, n}, StocBiO{a, b, 10, n}},
		{ALSET{a, b, 0, n}, ALSET{a, b, 1, n}},
		{SUSTAIN{a, b, nil, nil, n}, SUSTAIN{a, b, storm, storm, n}},
		{MSTSA{a, b, nil, n}, MSTSA{a, b, storm, n}},
		{MRBO{a, b, nil, nil, n}, MRBO{a, b, storm, storm, n}},
		{VRBO{a, b, 0, 0, 0, n}, VRBO{a, b, 10, 10, 20, n}},
		{RSVRB{Alpha: a, Beta: b, MuG: 0.3}, RSVRB{a, b, storm, 0.3, inf, 4}},
		{BiAdam{Alpha: a, Beta: b, Neumann: n}, BiAdam{a, b, Constant(1), root, root, 0.99, 1e-3, n}},
		{VRBiAdam{Alpha: a, Beta: b, Neumann: n}, VRBiAdam{a, b, Constant(1), storm, storm, 0.99, 1e-3, n}},
		{SOBA{Alpha: a, Beta: b}, SOBA{a, b, b}},
		{SABA{Alpha: a, Beta: b}, SABA{a, b, b}},
	} {
		assert.Equal(t, afterSteps(t, c.long, opt, 120), afterSteps(t, c.short, opt, 120), c.short.Name())
	}
	short := afterSteps(t, TTSA{a, b, n}, Options{}, 30)
	assert.Equal(t, short, afterSteps(t, TTSA{a, b, n}, Options{make([]float64, 3), make([]float64, 4), Space{}, 0, 1, 1, 1e12}, 30))
	s, err := New(newWavy(0), plain, Options{})
	require.NoError(t, err)
	assert.Equal(t, 1e12, s.it.opt.Explode)
}

// Exact oracles keep the directions of VRBO exact wherever it goes, without large batches after the
// first.
func TestVRBOExact(t *testing.T) {
	w := newWavy(0.1)
	s, err := New(w, VRBO{Constant(0.05), Constant(0.1), 1000, 3, 0, Neumann{LG: 7, Terms: 600}},
		Options{Set: UniformBox(3, -0.2, 0.4), UpperBatch: Full, LowerBatch: Full})
	require.NoError(t, err)
	gy := make([]float64, 4)
	for range 20 {
		require.NoError(t, s.Step())
		m := s.it.stepper.(*vrbo)
		require.NoError(t, w.GradG(gy, s.X(), s.Y(), nil))
		require.InDeltaSlice(t, gy, m.v, 1e-12)
		require.InDeltaSlice(t, exactHypergradient(t, w, s.X(), s.Y()), m.u, 1e-11)
	}
}

// On a compositional problem ALSET with L = 1 and one term is single-timescale SCGD: y ← y + β(h(x;
// φ) − y), x ← x − α ∇h(x; φ′) f′(y).
func TestALSETCompositional(t *testing.T) {
	const alpha, beta = 0.1, 0.3
	c := compositional{3}
	s, err := New(c, ALSET{Alpha: Constant(alpha), Beta: Constant(beta), Neumann: Neumann{LG: 1, Terms: 1}}, Options{X0: []float64{1, -1, 0.5}, Seed: 2})
	require.NoError(t, err)
	x, y := []float64{1, -1, 0.5}, make([]float64, 3)
	draw := newStream(5, 2, 'y', new(uint64))
	for k := range 40 {
		require.NoError(t, s.Step())
		phi := draw.draw(1)[0]
		for i := range y {
			y[i] += beta * (c.h(x[i], phi) - y[i])
		}
		phi = draw.draw(1)[0]
		for i := range x {
			x[i] -= alpha * c.dh(x[i], phi) * (y[i] - 1)
		}
		assert.InDeltaSlice(t, x, s.X(), 1e-12, "x at step %d", k)
		assert.InDeltaSlice(t, y, s.Y(), 1e-12, "y at step %d", k)
	}
}
