package method

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/compose"
	"stable/mat"
)

func afterSteps(t *testing.T, m bilevel.Method, opt bilevel.Options, steps int) []float64 {
	s, err := bilevel.New(newWavy(0.3), m, opt)
	require.NoError(t, err)
	for range steps {
		require.NoError(t, s.Step())
	}
	return slices.Concat(s.X(), s.Y())
}

// exactHypergradient is f_x − g_xy g_yy⁻¹ f_y at (x, y), by elimination.
func exactHypergradient(t *testing.T, w *wavy, x, y []float64) []float64 {
	fx, fy, gxy, gyy := make([]float64, 3), make([]float64, 4), mat.NewDense(3, 4), mat.NewSym(4)
	require.NoError(t, w.GradF(fx, fy, x, y, nil))
	require.NoError(t, w.CrossG(gxy, x, y, nil))
	require.NoError(t, w.HessG(gyy, x, y, nil))
	v := bileveltest.Apply(bileveltest.Invert(bileveltest.Full(gyy, 4, 4)), fy)
	for i := range fx {
		fx[i] -= mat.Dot(gxy.Row(i), v)
	}
	return fx
}

// Weight 1 is the method without a memory; equal parameters make equal methods, bit for bit.
func TestMethodReductions(t *testing.T) {
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	one, tau := bilevel.Constant(1), bilevel.Constant(0.3)
	opt := bilevel.Options{Seed: 5, LowerBatch: 2}
	assert.Equal(t, afterSteps(t, TTSA{Alpha: a, Beta: b, Neumann: n}, opt, 30),
		afterSteps(t, ALSET{Alpha: a, Beta: b, Inner: 1, Neumann: n}, opt, 30))
	assert.Equal(t, afterSteps(t, TTSA{Alpha: a, Beta: b, Neumann: n}, opt, 30),
		afterSteps(t, BSA{Alpha: a, Beta: b, Inner: one, Neumann: n}, opt, 30))
	assert.Equal(t, afterSteps(t, MSTSA{Alpha: a, Beta: b, Tau: tau, Neumann: n}, opt, 30),
		afterSteps(t, SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: one, Neumann: n}, opt, 30))
	assert.NotEqual(t, afterSteps(t, MSTSA{Alpha: a, Beta: b, Tau: tau, Neumann: n}, opt, 30),
		afterSteps(t, SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: tau, Neumann: n}, opt, 30))

	exact := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}
	want := afterSteps(t, SUSTAIN{Alpha: a, Beta: b, TauX: one, TauY: one, Neumann: n}, exact, 30)
	for _, m := range []bilevel.Method{SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: tau, Neumann: n},
		MSTSA{Alpha: a, Beta: b, Tau: tau, Neumann: n}, MRBO{Alpha: a, Beta: b, TauX: tau, TauY: bilevel.Constant(0),
			Neumann: n}} {
		assert.InDeltaSlice(t, want, afterSteps(t, m, exact, 30), 1e-13, m.Name())
	}
}

func TestDefaults(t *testing.T) {
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	root, storm, inf := bilevel.Power{C: 1, P: 0.5}, bilevel.Power{C: 1, P: 2.0 / 3}, math.Inf(1)
	opt := bilevel.Options{Seed: 5, UpperBatch: 2, LowerBatch: 2}
	for _, c := range []struct{ short, long bilevel.Method }{
		{bilevel.STABLE{MuG: 0.3},
			bilevel.STABLE{ScaleX: 0.1, ScaleY: 0.5, Tau: root, MuG: 0.3, CGxy: inf, InitBatch: 4, Trust: 0.1}},
		{BSA{Alpha: a, Beta: b, Neumann: n}, BSA{Alpha: a, Beta: b, Inner: bilevel.Power{C: 1, P: -0.5}, Neumann: n}},
		{StocBiO{Alpha: a, Beta: b, Inner: 0, Neumann: n}, StocBiO{Alpha: a, Beta: b, Inner: 10, Neumann: n}},
		{ALSET{Alpha: a, Beta: b, Inner: 0, Neumann: n}, ALSET{Alpha: a, Beta: b, Inner: 1, Neumann: n}},
		{SUSTAIN{Alpha: a, Beta: b, TauY: nil, Neumann: n},
			SUSTAIN{Alpha: a, Beta: b, TauX: storm, TauY: storm, Neumann: n}},
		{MSTSA{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Tau: storm, Neumann: n}},
		{MRBO{Alpha: a, Beta: b, TauY: nil, Neumann: n}, MRBO{Alpha: a, Beta: b, TauX: storm, TauY: storm, Neumann: n}},
		{VRBO{Alpha: a, Beta: b, Period: 0, Inner: 0, LargeBatch: 0, Neumann: n},
			VRBO{Alpha: a, Beta: b, Period: 10, Inner: 10, LargeBatch: 20, Neumann: n}},
		{RSVRB{Alpha: a, Beta: b, MuG: 0.3}, RSVRB{Alpha: a, Beta: b, Tau: storm, MuG: 0.3, CGxy: inf, InitBatch: 4}},
		{BiAdam{Alpha: a, Beta: b, Neumann: n},
			BiAdam{Alpha: a, Beta: b, Eta: bilevel.Constant(1), TauX: root, TauY: root, Decay: 0.99, Rho: 1e-3,
				Neumann: n}},
		{VRBiAdam{Alpha: a, Beta: b, Neumann: n},
			VRBiAdam{Alpha: a, Beta: b, Eta: bilevel.Constant(1), TauX: storm, TauY: storm, Decay: 0.99, Rho: 1e-3,
				Neumann: n}},
		{SOBA{Alpha: a, Beta: b}, SOBA{Alpha: a, Beta: b, Gamma: b}},
		{SABA{Alpha: a, Beta: b}, SABA{Alpha: a, Beta: b, Gamma: b}},
	} {
		assert.Equal(t, afterSteps(t, c.long, opt, 120), afterSteps(t, c.short, opt, 120), c.short.Name())
	}
	short := afterSteps(t, TTSA{Alpha: a, Beta: b, Neumann: n}, bilevel.Options{}, 30)
	assert.Equal(t, short,
		afterSteps(t, TTSA{Alpha: a, Beta: b, Neumann: n},
			bilevel.Options{X0: make([]float64, 3), Y0: make([]float64, 4), Set: bilevel.Space{}, UpperBatch: 1,
				LowerBatch: 1, Explode: 1e12}, 30))
}

type identity struct{ withProducts }

func (identity) Composition() compose.Composition { return nil }

func newIdentity(noise float64) identity {
	w := newProducts(noise)
	w.Identity, w.Kappa = true, 0
	return identity{w}
}
