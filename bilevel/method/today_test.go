package method

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

func TestReductionsToSOBA(t *testing.T) {
	a, b := bilevel.Constant(0.05), bilevel.Constant(0.1)
	opt := bilevel.Options{Seed: 5, UpperBatch: 2, LowerBatch: 3}
	soba := afterSteps(t, SOBA{Alpha: a, Beta: b}, opt, 30)
	assert.Equal(t, soba, afterSteps(t, MASOBA{Alpha: a, Beta: b, Theta: bilevel.Constant(1)}, opt, 30))
	assert.NotEqual(t, soba, afterSteps(t, MASOBA{Alpha: a, Beta: b}, opt, 30))

	// Refreshed in every step, SRBA and SPABA are SOBA with large batches.
	large := bilevel.Options{Seed: 5, UpperBatch: 6, LowerBatch: 6}
	soba = afterSteps(t, SOBA{Alpha: a, Beta: b}, large, 30)
	assert.Equal(t, soba, afterSteps(t, SRBA{Alpha: a, Beta: b, Period: 1, Large: 6}, opt, 30))
	assert.Equal(t, soba, afterSteps(t, SPABA{Alpha: a, Beta: b, Share: 1, Large: 6}, opt, 30))
	assert.NotEqual(t, soba, afterSteps(t, SRBA{Alpha: a, Beta: b, Period: 2, Large: 6}, opt, 30))
	assert.NotEqual(t, soba, afterSteps(t, SPABA{Alpha: a, Beta: b, Share: 1, Large: 6, Radius: 1e-3}, opt, 30))
	assert.NotEqual(t, soba, afterSteps(t, SPABA{Alpha: a, Beta: b, Share: 0.5, Large: 6}, opt, 30))

	// With exact oracles the recursions are exact, wherever they go.
	exact := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}
	soba = afterSteps(t, SOBA{Alpha: a, Beta: b}, exact, 40)
	assert.InDeltaSlice(t, soba, afterSteps(t, SRBA{Alpha: a, Beta: b, Period: 1000}, exact, 40), 1e-12)
	assert.InDeltaSlice(t, soba, afterSteps(t, SPABA{Alpha: a, Beta: b, Share: 1e-9}, exact, 40), 1e-12)
}

func TestSTABLECGIsSTABLE(t *testing.T) {
	a, b := bilevel.Constant(0.05), bilevel.Constant(0.1)
	exact := bilevel.Options{Set: bilevel.UniformBox(3, -0.2, 0.4), UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}
	assert.InDeltaSlice(t,
		afterSteps(t, bilevel.STABLE{Plain: true, Alpha: a, Beta: b, MuG: 0.1, CGxy: math.Inf(1)}, exact, 30),
		afterSteps(t, STABLECG{Alpha: a, Beta: b}, exact, 30), 1e-9)
}

// With exact oracles the bias of F2SA-p falls as ν², that of F2SA as 1/λ.
func TestBiasOfFirstOrder(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1})
	require.NoError(t, err)
	best, _ := p.Optimum()
	bias := func(m bilevel.Method) float64 {
		s, err := bilevel.New(p, m, bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
		require.NoError(t, err)
		for range 3000 {
			require.NoError(t, s.Step())
		}
		var sum float64
		for i, x := range s.X() {
			sum += (x - best[i]) * (x - best[i])
		}
		return math.Sqrt(sum)
	}
	a, b := bilevel.Constant(0.1), bilevel.Constant(0.2)
	assert.InDelta(t, 16, bias(F2SAp{Alpha: a, Beta: b, Nu: 0.08})/bias(F2SAp{Alpha: a, Beta: b, Nu: 0.02}), 1)
	assert.InDelta(t, 4,
		bias(F2SA{Alpha: a, Beta: b, Lambda: bilevel.Constant(50)})/bias(F2SA{Alpha: a, Beta: b,
			Lambda: bilevel.Constant(200)}), 0.2)
}

func TestSTFBOFollows(t *testing.T) {
	s, err := bilevel.New(newWavy(0.3), STFBO{A: 2, B: 3, C: 0.5}, bilevel.Options{Seed: 3})
	require.NoError(t, err)
	a, b, c := 4.0, 9.0, 0.25
	x, y, v := make([]float64, 3), make([]float64, 4), make([]float64, 4)
	for k := range 20 {
		require.NoError(t, s.Step())
		m := s.Stepper().(*stfbo)
		gy, dv, dx := m.split(m.g)
		square := func(v []float64) (sum float64) {
			for _, e := range v {
				sum += e * e
			}
			return sum
		}
		a, b, c = a+square(dx), b+square(gy), c+square(dv)
		slow := math.Max(math.Sqrt(b), math.Sqrt(c))
		for j := range y {
			y[j] -= gy[j] / math.Sqrt(b)
			v[j] -= dv[j] / slow
		}
		for i := range x {
			x[i] -= dx[i] / math.Sqrt(a) / slow
		}
		require.InDeltaSlice(t, slices.Concat(x, y, v), slices.Concat(s.X(), s.Y(), m.v), 1e-13, "step %d", k)
	}
}

func TestFirstOrderSaysWhatIsMissing(t *testing.T) {
	p := newProducts(0.1)
	for name, m := range map[string]bilevel.Method{
		"F2SA":   F2SA{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1)},
		"F2SA-p": F2SAp{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1)},
		"BOME":   BOME{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1)},
	} {
		_, err := bilevel.New(opaque{p}, m, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, name+" needs g_x")
	}
}
