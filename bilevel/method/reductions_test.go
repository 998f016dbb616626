package method

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
)

func afterSteps(t *testing.T, m bilevel.Method, opt bilevel.Options, n int) []float64 {
	s := start(t, newWavy(0.3), m, opt)
	steps(t, s, n)
	return slices.Concat(s.X(), s.Y())
}

// Parameters that make two methods equal, bit for bit or to a tolerance, and others.
func TestReductions(t *testing.T) {
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	one, tau := bilevel.Constant(1), bilevel.Constant(0.3)
	few := bilevel.Options{Seed: 5, UpperBatch: 2, LowerBatch: 3, Set: bilevel.UniformBox(3, -0.2, 0.4)}
	large := bilevel.Options{Seed: 5, UpperBatch: 6, LowerBatch: 6, Set: few.Set}
	exact := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full, Set: few.Set}
	half := bilevel.Options{Seed: 5, UpperBatch: bilevel.Full, Set: few.Set}
	const apart = -1
	soba := SOBA{Alpha: a, Beta: b}
	for i, c := range []struct {
		m, other       bilevel.Method
		opt, otherwise bilevel.Options
		near           float64
	}{
		{SUSTAIN{Alpha: a, Beta: b, TauX: tau, TauY: tau, Neumann: n},
			MRBO{Alpha: a, Beta: b, TauX: one, TauY: one, Neumann: n}, exact, exact, 1e-13},
		{soba, SPABA{Alpha: a, Beta: b, Share: 1, Large: 6}, large, few, 0},
		{soba, SPABA{Alpha: a, Beta: b, Share: 1e-9}, exact, exact, 1e-12},
		{soba, SABA(soba), exact, exact, 0}, // without tables
		{soba, SABA(soba), exact, half, apart},
		{bilevel.STABLE{Plain: true, Alpha: a, Beta: b, MuG: 0.1, CGxy: math.Inf(1)}, STABLECG{Alpha: a, Beta: b},
			exact, exact, 1e-9},
	} {
		want, got := afterSteps(t, c.m, c.opt, 40), afterSteps(t, c.other, c.otherwise, 40)
		if c.near == apart {
			assert.NotEqual(t, want, got, "%d: %s, %s", i, c.m.Name(), c.other.Name())
			continue
		}
		assert.InDeltaSlice(t, want, got, c.near, "%d: %s, %s", i, c.m.Name(), c.other.Name())
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
		{StocBiO{Alpha: a, Beta: b, Neumann: n}, StocBiO{Alpha: a, Beta: b, Inner: 10, Neumann: n}},
		{ALSET{Alpha: a, Beta: b, Neumann: n}, ALSET{Alpha: a, Beta: b, Inner: 1, Neumann: n}},
		{MSTSA{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Tau: storm, Neumann: n}},
		{MRBO{Alpha: a, Beta: b, Neumann: n}, MRBO{Alpha: a, Beta: b, TauX: storm, TauY: storm, Neumann: n}},
		{VRBO{Alpha: a, Beta: b, Neumann: n},
			VRBO{Alpha: a, Beta: b, Period: 10, Inner: 10, LargeBatch: 20, Neumann: n}},
		{RSVRB{Alpha: a, Beta: b, MuG: 0.3}, RSVRB{Alpha: a, Beta: b, Tau: storm, MuG: 0.3, CGxy: inf, InitBatch: 4}},
		{BiAdam{Alpha: a, Beta: b, Neumann: n}, adam},
		{VRBiAdam{Alpha: a, Beta: b, Neumann: n}, fast},
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

// p is uniform on {0, …, N−1}: Pearson's statistic is below its 99.9 % quantile.
func TestNeumannTruncationIsUniform(t *testing.T) {
	const n, draws = 5, 10000
	it := iteration(t, newWavy(0), bilevel.Options{Seed: 4})
	mem := newMemory(it)
	h := hypergradient{series: Neumann{LG: 1, Terms: n}, random: true}
	h.start(mem)
	var seen [n]float64
	for range draws {
		h.draw(mem.begin(it), 1, 1)
		seen[h.prods]++
	}
	var chi float64
	for _, c := range seen {
		chi += (c - draws/n) * (c - draws/n) / (draws / n)
	}
	assert.Less(t, chi, 18.467)
}

// The default N keeps (1 − μ/L)^N below 1/(k+1), with at most a term or two too many.
func TestNeumannTerms(t *testing.T) {
	for _, n := range []Neumann{{LG: 1, MuG: 1}, {LG: 3, MuG: 1}, {LG: 50, MuG: 0.5}} {
		q := 1 - n.MuG/n.LG
		for _, k := range []int{0, 1, 2, 10, 1000, 1 << 30} {
			assert.LessOrEqual(t, math.Pow(q, float64(n.terms(k))), 1/float64(k+1))
			assert.LessOrEqual(t, float64(n.terms(k)), 2+n.LG/n.MuG*math.Log(float64(k)+1))
		}
	}
	assert.Equal(t, 7, Neumann{LG: 3, MuG: 1, Terms: 7}.terms(1000))
}

// Steps of the methods that follow no log draw and evaluate what they say.
func TestCounts(t *testing.T) {
	const u, l, all, window, n = 2, 3, 16, 32, 40
	for name, want := range map[string]bilevel.Counts{
		"HOAG": {Xi: n * all, Phi: n * all, GradF: n * all, CrossVecG: n * all},
		"STABLE-CG": {Xi: n * u, Phi: window + (n-1)*l, GradF: n * u, GradG: window + (n-1)*l,
			CrossG: window + 2*(n-1)*l, HessVecG: n * 2 * (1 + 4) * window},
	} {
		e := bileveltest.Must(Lookup(name))
		s := start(t, e.problem(0.1), e.New(tuning), bilevel.Options{UpperBatch: u, LowerBatch: l, Seed: 6})
		steps(t, s, n)
		got := s.Counts()
		if name == "HOAG" { // and Newton steps on y
			require.True(t, got.GradG >= n*all && got.HessG >= n*all)
			got.GradG, got.HessG = 0, 0
		}
		assert.Equal(t, want, got, name)
	}
}

type sized struct {
	withProducts
	upper, lower uint64
}

func (s sized) Streams() (uint64, uint64) { return s.upper, s.lower }
