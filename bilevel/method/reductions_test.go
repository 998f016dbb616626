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

func afterSteps(t *testing.T, m bilevel.Method, opt bilevel.Options, n int) []float64 {
	s := start(t, newWavy(0.3), m, opt)
	steps(t, s, n)
	return slices.Concat(s.X(), s.Y())
}

// Parameters that make two methods equal, bit for bit or to a tolerance, and others.
func TestReductions(t *testing.T) {
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	zero, one, tau, inf := bilevel.Constant(0), bilevel.Constant(1), bilevel.Constant(0.3), math.Inf(1)
	few := bilevel.Options{Seed: 5, UpperBatch: 2, LowerBatch: 3, Set: bilevel.UniformBox(3, -0.2, 0.4)}
	large := bilevel.Options{Seed: 5, UpperBatch: 6, LowerBatch: 6, Set: few.Set}
	exact := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full, Set: few.Set}
	half := bilevel.Options{Seed: 5, UpperBatch: bilevel.Full, Set: few.Set}
	const apart, rho = -1, 1e13
	soba, storm := SOBA{Alpha: a, Beta: b}, SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: tau, Neumann: n}
	adam := BiAdam{Alpha: a, Beta: b, TauX: one, TauY: one, Neumann: n}
	averaged := adam
	averaged.TauX, averaged.TauY = tau, tau
	constant := BiAdam{Alpha: a * rho, Beta: b * rho, TauX: tau, TauY: tau, Rho: rho, Neumann: n}
	ttsa := TTSA{Alpha: a, Beta: b, Neumann: n}
	for i, c := range []struct {
		m, other       bilevel.Method
		opt, otherwise bilevel.Options
		near           float64
	}{
		{ttsa, ALSET{Alpha: a, Beta: b, Inner: 1, Neumann: n}, few, few, 0},
		{ttsa, BSA{Alpha: a, Beta: b, Inner: one, Neumann: n}, few, few, 0},
		{MSTSA{Alpha: a, Beta: b, Tau: tau, Neumann: n}, SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: one, Neumann: n},
			few, few, 0},
		{MSTSA{Alpha: a, Beta: b, Tau: tau, Neumann: n}, storm, few, few, apart},
		{SUSTAIN{Alpha: a, Beta: b, TauX: one, TauY: one, Neumann: n}, storm, exact, exact, 1e-13},
		{SUSTAIN{Alpha: a, Beta: b, TauX: one, TauY: one, Neumann: n},
			MRBO{Alpha: a, Beta: b, TauX: tau, TauY: zero, Neumann: n}, exact, exact, 1e-13},
		{adam, VRBiAdam(adam), few, few, 0}, // weight 1 has no memory
		{averaged, VRBiAdam(averaged), few, few, apart},
		{storm, VRBiAdam(constant), few, few, 1e-10}, // a constant metric
		{soba, MASOBA{Alpha: a, Beta: b, Theta: one}, few, few, 0},
		{soba, MASOBA{Alpha: a, Beta: b}, few, few, apart},
		{soba, SRBA{Alpha: a, Beta: b, Period: 1, Large: 6}, large, few, 0},
		{soba, SRBA{Alpha: a, Beta: b, Period: 2, Large: 6}, large, few, apart},
		{soba, SPABA{Alpha: a, Beta: b, Share: 1, Large: 6}, large, few, 0},
		{soba, SPABA{Alpha: a, Beta: b, Share: 1, Large: 6, Radius: 1e-3}, large, few, apart},
		{soba, SPABA{Alpha: a, Beta: b, Share: 0.5, Large: 6}, large, few, apart},
		{soba, SRBA{Alpha: a, Beta: b, Period: 1000}, exact, exact, 1e-12},
		{soba, SPABA{Alpha: a, Beta: b, Share: 1e-9}, exact, exact, 1e-12},
		{soba, SABA(soba), exact, exact, 0}, // without tables
		{soba, SABA(soba), exact, half, apart},
		{bilevel.STABLE{Plain: true, Alpha: a, Beta: b, MuG: 0.1, CGxy: inf}, STABLECG{Alpha: a, Beta: b},
			exact, exact, 1e-9},
	} {
		want, got := afterSteps(t, c.m, c.opt, 40), afterSteps(t, c.other, c.otherwise, 40)
		switch c.near {
		case apart:
			assert.NotEqual(t, want, got, "%d: %s, %s", i, c.m.Name(), c.other.Name())
		case 0:
			assert.Equal(t, want, got, "%d: %s, %s", i, c.m.Name(), c.other.Name())
		default:
			assert.InDeltaSlice(t, want, got, c.near, "%d: %s, %s", i, c.m.Name(), c.other.Name())
		}
	}
}

func TestDefaults(t *testing.T) {
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	one, root, storm, inf := bilevel.Constant(1), bilevel.Power{C: 1, P: 0.5}, bilevel.Power{C: 1, P: 2.0 / 3}, math.Inf(1)
	adam := BiAdam{Alpha: a, Beta: b, Eta: one, TauX: root, TauY: root, Decay: 0.99, Rho: 1e-3, Neumann: n}
	fast := VRBiAdam(adam)
	fast.TauX, fast.TauY = storm, storm
	lambda := bilevel.Power{C: 10, P: -1.0 / 7}
	for _, c := range []struct{ short, long bilevel.Method }{
		{bilevel.STABLE{MuG: 0.3},
			bilevel.STABLE{ScaleX: 0.1, ScaleY: 0.5, Tau: root, MuG: 0.3, CGxy: inf, InitBatch: 4, Trust: 0.1}},
		{BSA{Alpha: a, Beta: b, Neumann: n}, BSA{Alpha: a, Beta: b, Inner: bilevel.Power{C: 1, P: -0.5}, Neumann: n}},
		{StocBiO{Alpha: a, Beta: b, Neumann: n}, StocBiO{Alpha: a, Beta: b, Inner: 10, Neumann: n}},
		{ALSET{Alpha: a, Beta: b, Neumann: n}, ALSET{Alpha: a, Beta: b, Inner: 1, Neumann: n}},
		{SUSTAIN{Alpha: a, Beta: b, Neumann: n}, SUSTAIN{Alpha: a, Beta: b, TauX: storm, TauY: storm, Neumann: n}},
		{MSTSA{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Tau: storm, Neumann: n}},
		{MRBO{Alpha: a, Beta: b, Neumann: n}, MRBO{Alpha: a, Beta: b, TauX: storm, TauY: storm, Neumann: n}},
		{VRBO{Alpha: a, Beta: b, Neumann: n},
			VRBO{Alpha: a, Beta: b, Period: 10, Inner: 10, LargeBatch: 20, Neumann: n}},
		{RSVRB{Alpha: a, Beta: b, MuG: 0.3}, RSVRB{Alpha: a, Beta: b, Tau: storm, MuG: 0.3, CGxy: inf, InitBatch: 4}},
		{BiAdam{Alpha: a, Beta: b, Neumann: n}, adam},
		{VRBiAdam{Alpha: a, Beta: b, Neumann: n}, fast},
		{SOBA{Alpha: a, Beta: b}, SOBA{Alpha: a, Beta: b, Gamma: b}},
		{SABA{Alpha: a, Beta: b}, SABA{Alpha: a, Beta: b, Gamma: b}},
		{MASOBA{Alpha: a, Beta: b}, MASOBA{Alpha: a, Beta: b, Gamma: b, Theta: root}},
		{SRBA{Alpha: a, Beta: b}, SRBA{Alpha: a, Beta: b, Gamma: b, Period: 8, Large: bilevel.Full}},
		{SPABA{Alpha: a, Beta: b}, SPABA{Alpha: a, Beta: b, Gamma: b, Large: bilevel.Full, Share: 2. / 18, Radius: inf}},
		{FSLA{Alpha: a, Beta: b}, FSLA{Alpha: a, Beta: b, Gamma: b, Eta: root}},
		{AmIGO{Alpha: a, Beta: b}, AmIGO{Alpha: a, Beta: b, Gamma: b, Inner: 10}},
		{F2SA{Alpha: a, Beta: b}, F2SA{Alpha: a, Beta: b, Lambda: lambda, Inner: 1}},
		{F2SAp{Alpha: a, Beta: b}, F2SAp{Alpha: a, Beta: b, Nu: 0.1, Inner: 1}},
		{BOME{Alpha: a, Beta: b}, BOME{Alpha: a, Beta: b, Gamma: b, Eta: 0.5, Inner: 10}},
		{STFBO{}, STFBO{A: 1, B: 1, C: 1}},
		{HOAG{}, HOAG{Share: 1e-3, Memory: 10}},
		{STABLECG{Alpha: a, Beta: b}, STABLECG{Alpha: a, Beta: b, Tau: root, CGxy: inf, Window: 32, Iterations: 10}},
	} {
		opt := bilevel.Options{Seed: 5, UpperBatch: 2, LowerBatch: 2}
		assert.Equal(t, afterSteps(t, c.long, opt, 60), afterSteps(t, c.short, opt, 60), c.short.Name())
	}
}

// With exact oracles the bias of F2SA-p falls as ν², that of F2SA as 1/λ.
func TestBiasOfFirstOrder(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1})
	require.NoError(t, err)
	best, _ := p.Optimum()
	bias := func(m bilevel.Method) float64 {
		s := start(t, p, m, bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
		steps(t, s, 3000)
		var sum float64
		for i, x := range s.X() {
			sum += sq(x - best[i])
		}
		return math.Sqrt(sum)
	}
	a, b, few, many := bilevel.Constant(0.1), bilevel.Constant(0.2), bilevel.Constant(50), bilevel.Constant(200)
	assert.InDelta(t, 16, bias(F2SAp{Alpha: a, Beta: b, Nu: 0.08})/bias(F2SAp{Alpha: a, Beta: b, Nu: 0.02}), 1)
	assert.InDelta(t, 4,
		bias(F2SA{Alpha: a, Beta: b, Lambda: few})/bias(F2SA{Alpha: a, Beta: b, Lambda: many}), 0.2)
}
