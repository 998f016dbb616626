package method

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
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
		off := slices.Clone(s.X())
		mat.Axpy(off, -1, best)
		return mat.Norm(off)
	}
	a, b, few, many := bilevel.Constant(0.1), bilevel.Constant(0.2), bilevel.Constant(50), bilevel.Constant(200)
	assert.InDelta(t, 16, bias(F2SAp{Alpha: a, Beta: b, Nu: 0.08})/bias(F2SAp{Alpha: a, Beta: b, Nu: 0.02}), 1)
	assert.InDelta(t, 4,
		bias(F2SA{Alpha: a, Beta: b, Lambda: few})/bias(F2SA{Alpha: a, Beta: b, Lambda: many}), 0.2)
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
		chi += sq(c-draws/n) / (draws / n)
	}
	assert.Less(t, chi, 18.467)
}

// With exact products both are the N-term sum, and its error attains the bound at an eigenvector.
func TestNeumannBias(t *testing.T) {
	w := newWavy(0)
	w.Kappa = 0 // g_yy = diag(1, 2, 3, 4)
	const mu, lg = 1.0, 4.0
	it := iteration(t, w, bilevel.Options{})
	x := []float64{0.3, -0.8, 0.5}
	gxy := mat.NewDense(3, 4)
	require.NoError(t, w.CrossG(gxy, x, make([]float64, 4), nil))
	for name, y := range map[string][]float64{"any": {0.4, -1, 0.2, 0.7}, "smallest": {2, 1, 1, 1}} { // f_y = y − 1
		for _, random := range []bool{true, false} {
			for _, n := range []int{1, 2, 5, 20, 60} {
				mem := newMemory(it)
				s, dst := mem.begin(it), mem.x("")
				h := hypergradient{series: Neumann{LG: lg, Terms: n}, random: random}
				h.start(mem)
				h.draw(s, bilevel.Full, bilevel.Full)
				h.at(s, dst, x, y)
				require.NoError(t, s.err)
				exact, missing := make([]float64, 4), make([]float64, 4)
				for j := range y {
					exact[j] = (y[j] - 1) / float64(1+j)
					missing[j] = exact[j] - h.v[j]
				}
				bound := mat.Norm(h.fy) / mu * math.Pow(1-mu/lg, float64(n))
				assert.LessOrEqual(t, mat.Norm(missing), bound*(1+1e-12)+1e-14, name)
				if name == "smallest" {
					assert.InDelta(t, bound, mat.Norm(missing), 1e-14)
				}
				truth := make([]float64, 3)
				mat.MulVec(truth, gxy, exact)
				for i := range truth {
					truth[i] = h.fx[i] - truth[i] - dst[i]
				}
				assert.LessOrEqual(t, mat.Norm(truth), mat.NormFrob(gxy)*bound*(1+1e-12)+1e-14)
			}
		}
	}
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

// A step of the methods that follow no log draws and evaluates what its paper says.
func TestCountsOfAStep(t *testing.T) {
	const u, l, all, window = 2, 3, 16, 32
	soba := func(u, l, points uint64) bilevel.Counts {
		return bilevel.Counts{Xi: u, Phi: l, GradF: points * u, GradG: points * l, HessVecG: points * l,
			CrossVecG: points * l}
	}
	cg := bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, CrossG: 2 * l, HessVecG: 2 * (1 + 4) * window}
	first := bilevel.Counts{Xi: u, Phi: window, GradF: u, GradG: window, CrossG: window, HessVecG: cg.HessVecG}
	for name, want := range map[string][2][]bilevel.Counts{ // of step 0, and one of these
		"SPABA":     {{soba(all, all, 1)}, {soba(all, all, 1), soba(u, l, 2)}},
		"HOAG":      {{{Xi: all, Phi: all, GradF: all, CrossVecG: all}}, {{Xi: all, Phi: all, GradF: all, CrossVecG: all}}},
		"STABLE-CG": {{first}, {cg}},
	} {
		e, err := Lookup(name)
		require.NoError(t, err)
		s := start(t, e.problem(0.1), e.New(tuning), bilevel.Options{UpperBatch: u, LowerBatch: l, Seed: 6})
		for k := range 40 {
			old := s.Counts()
			steps(t, s, 1)
			used := s.Counts()
			a, b := reflect.ValueOf(old), reflect.ValueOf(&used).Elem()
			for i := range a.NumField() {
				b.Field(i).SetUint(b.Field(i).Uint() - a.Field(i).Uint())
			}
			if name == "HOAG" { // and Newton steps on y
				require.True(t, used.GradG >= all && used.HessG >= all)
				used.GradG, used.HessG = 0, 0
			}
			require.Contains(t, want[min(k, 1)], used, "%s at step %d", name, k)
		}
	}
}

type sized struct {
	withProducts
	upper, lower uint64
}

func (s sized) Streams() (uint64, uint64) { return s.upper, s.lower }

// An exact value counts as the whole finite sum, or as one sample of an unbounded stream.
func TestCountsFull(t *testing.T) {
	for _, c := range []struct{ upper, lower, u, l uint64 }{{16, 5, 16, 5}, {0, 7, 1, 7}, {3, 0, 3, 1}, {1, 1, 1, 1}} {
		for m, want := range map[bilevel.Method]bilevel.Counts{
			bilevel.STABLE{MuG: 0.3}: {Xi: c.u, Phi: c.l, GradF: c.u, GradG: c.l, CrossG: c.l, HessG: c.l},
			STFBO{}:                  {Xi: c.u, Phi: c.l, GradF: c.u, GradG: c.l, HessVecG: c.l, CrossVecG: c.l},
		} {
			s := start(t, sized{newProducts(0.1), c.upper, c.lower}, m,
				bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			steps(t, s, 1)
			assert.Equal(t, want, s.Counts(), m.Name())
		}
	}
}

// A problem without products gives the same run, and counts matrices.
func TestMethodsWithoutProducts(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		with := start(t, e.problem(0.3), e.New(tuning), bilevel.Options{Seed: 2})
		without := start(t, withoutProducts(e.problem(0.3)), e.New(tuning), bilevel.Options{Seed: 2})
		for range 20 {
			require.NoError(t, with.Step())
			require.NoError(t, without.Step())
		}
		assert.Equal(t, with.X(), without.X())
		a, b := with.Counts(), without.Counts()
		a.HessG, a.CrossG, a.HessVecG, a.CrossVecG = a.HessG+a.HessVecG, a.CrossG+a.CrossVecG, 0, 0
		assert.Equal(t, a, b)
	})
}
