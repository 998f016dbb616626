package method

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/compose"
	"stable/bilevel/units"
	"stable/mat"
)

func afterSteps(t *testing.T, m bilevel.Method, opt bilevel.Options, n int) []float64 {
	s := start(t, newWavy(0.3), m, opt)
	steps(t, s, n)
	return slices.Concat(s.X(), s.Y())
}

// TestMethodsFollowTheirPapers has all methods but this and HOAG.
func TestSTABLECGIsSTABLE(t *testing.T) {
	a, b := bilevel.Constant(0.05), bilevel.Constant(0.1)
	exact := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full, Set: bilevel.UniformBox(3, -0.2, 0.4)}
	want := afterSteps(t, bilevel.STABLE{Plain: true, Alpha: a, Beta: b, MuG: 0.1, CGxy: math.Inf(1)}, exact, 40)
	assert.InDeltaSlice(t, want, afterSteps(t, STABLECG{Alpha: a, Beta: b}, exact, 40), 1e-9)
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

// Pearson's statistic is below its 99.9 % quantile.
func TestNeumannTruncationIsUniform(t *testing.T) {
	const n, draws = 5, 10000
	still := bilevel.Constant(0)
	s := start(t, newWavy(0), TTSA{Alpha: still, Beta: still, Neumann: Neumann{LG: 1, Terms: n}}, bilevel.Options{Seed: 4})
	var seen [n]float64
	for range draws {
		steps(t, s, 1)
		seen[s.Stepper().(*alternating).estimate.prods]++
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
	identity
	upper, lower uint64
}

func (s sized) Streams() (uint64, uint64) { return s.upper, s.lower }

// A derivative that is not finite, once or for good, ends the step, and the error names the quantity.
func TestMethodsNotFinite(t *testing.T) {
	names := map[string][]string{
		"f_x": {"f_x", "hypergradient at the last"}, "f_y": {"f_y", "hypergradient at the last"}, "g_y": {"g_y"},
		"H_xy": {"g_xy g_yy⁻¹ f_y", "hypergradient at the last", "g_xy v", "g_xy f_y", "H_xy"},
		"H_yy": {"g_yy⁻¹ f_y", "hypergradient at the last", "g_yy v", "H_yy"},
		"g_x":  {"g_x"},
	}
	forEach(t, func(t *testing.T, e Entry) {
		for quantity, want := range names {
			second := strings.HasPrefix(quantity, "H_")
			switch {
			case quantity == "H_yy" && e.Needs.Composition, // g_yy = I is not asked for
				second && e.Needs.UpperGradient, quantity == "g_x" && !e.Needs.UpperGradient:
				continue
			}
			for after, bad := range map[int]float64{0: math.NaN(), 1: math.Inf(1), 8: math.NaN(), 31: math.Inf(-1)} {
				for _, once := range []bool{false, true} {
					p := e.faulty(quantity, after)
					p.Fault = func(v []float64) error {
						if v[len(v)-1] = bad; once {
							p.After = math.MaxInt
						}
						return nil
					}
					s := start(t, p, e.New(tuning), bilevel.Options{Seed: 1})
					var d *bilevel.DivergedError
					require.ErrorAs(t, failure(s, 60), &d, "%s: %s", e.Name, quantity)
					assert.Equal(t, s.K(), d.Step)
					assert.True(t, slices.ContainsFunc(want, func(w string) bool { return strings.Contains(d.Quantity, w) }),
						"%s: %s is reported as %s", e.Name, quantity, d.Quantity)
				}
			}
		}
	})
}

type fault struct {
	*faulty
	composed
}

func (e Entry) faulty(quantity string, after int) fault {
	return fault{faulty: &faulty{Problem: e.problem(0.1).wavy, Quantity: quantity, After: after}}
}

// After an oracle's error a step asks and draws no more; after NaN S-TFBO does not project.
func TestMethodsEndAtErrors(t *testing.T) {
	stop := errors.New("enough")
	forEach(t, func(t *testing.T, e Entry) {
		for _, quantity := range []string{"f_x", "g_x", "g_y", "H_xy", "H_yy"} {
			for after := range 4 {
				var s *bilevel.Solver
				var at bilevel.Counts
				p := e.faulty(quantity, after)
				p.Fault = func([]float64) error { at = s.Counts(); return stop }
				s = start(t, p, e.New(tuning), bilevel.Options{Seed: 1})
				if err := failure(s, 9); err != nil { // nil: never asked for
					assert.ErrorIs(t, err, stop)
					assert.Equal(t, at, s.Counts(), quantity)
				}
			}
		}
	})
	p := &faulty{Problem: newWavy(0.1), Quantity: "g_y", After: 4}
	p.Fault = func(v []float64) error { v[0] = math.NaN(); return nil }
	s := start(t, p, STFBO{}, bilevel.Options{Set: strict{}})
	assert.ErrorContains(t, failure(s, 9), "bilevel: run diverged at step 4: g_y[0] is NaN")
	p = &faulty{Problem: newWavy(0.1), Quantity: "f_x", After: 4}
	p.Fault = func(v []float64) error { v[0] = 1e200; return nil } // its square is not finite
	assert.ErrorContains(t, failure(start(t, p, bilevel.STABLE{MuG: 0.5}, bilevel.Options{}), 9),
		"run diverged at step 4: the mean square of the hypergradient[0] is +Inf")
}

type strict struct{ bilevel.Space }

func (strict) Project(dst, x []float64) {
	if mat.NotFinite(x) >= 0 {
		panic("not finite")
	}
	copy(dst, x)
}

// Every parameter is checked at the start, a schedule at every step, and the error names it.
func TestParametersAreRefused(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		m := reflect.New(reflect.TypeOf(e.New(tuning))).Elem()
		m.Set(reflect.ValueOf(e.New(tuning)))
		eachBad(m, m.Type().Name(), func(path string, bad any) {
			s, err := bilevel.New(e.problem(0.1), m.Interface().(bilevel.Method), bilevel.Options{})
			want := path
			if _, late := bad.(turn); late {
				require.NoError(t, err, path)
				err, want = failure(s, 100), "at step 4"
				if path == "BSA.Beta" {
					want = "at step" // in which y does its step 4
				}
			}
			require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v", path, bad)
			assert.ErrorContains(t, err, want, "%v", bad)
		})
		if v, ok := e.New(tuning).(VRBO); ok {
			v.Period = 1 << 20
			_, err := bilevel.New(e.problem(0.1), v, bilevel.Options{LowerBatch: 1000})
			assert.ErrorContains(t, err, "VRBO.LargeBatch is 1048576000")
		}
	})
}

// turn is a schedule that is 0.1, and V from step K on.
type turn struct {
	K int
	V float64
}

func (s turn) At(k int) float64 {
	if k >= s.K {
		return s.V
	}
	return 0.1
}

// eachBad gives each field of m, and of its Neumann, the values that it refuses.
func eachBad(m reflect.Value, path string, f func(path string, bad any)) {
	for i := range m.NumField() {
		field, name := m.Field(i), m.Type().Field(i).Name
		var bad []any
		switch field.Type() {
		case reflect.TypeFor[Neumann]():
			eachBad(field, path+".Neumann", f)
		case reflect.TypeFor[int]():
			bad = []any{-7, math.MaxInt}
		case reflect.TypeFor[float64]():
			bad = []any{-1., math.NaN(), math.Inf(1)}
			if slices.Contains([]string{"CGxy", "Radius", "Trust", "ScaleX", "ScaleY"}, name) { // ∞ is allowed
				bad = bad[:2]
			}
		case reflect.TypeFor[bilevel.Schedule]():
			for _, v := range []float64{-1, math.NaN(), math.Inf(1), 1.5} {
				if v != 1.5 || slices.Contains([]string{"Tau", "TauX", "TauY", "Theta", "Eta"}, name) { // weights
					bad = append(bad, bilevel.Constant(v), turn{K: 4, V: v})
				}
			}
		}
		good := reflect.New(field.Type()).Elem()
		good.Set(field)
		for _, v := range bad {
			field.Set(reflect.ValueOf(v))
			f(path+"."+name, v)
		}
		field.Set(good)
	}
}

func TestMethodsRefuse(t *testing.T) {
	a, n := bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7}
	series := func(n Neumann) bilevel.Method { return TTSA{Alpha: a, Beta: a, Neumann: n} }
	inner := func(s bilevel.Schedule) bilevel.Method { return BSA{Alpha: a, Beta: a, Inner: s, Neumann: n} }
	at := func(v float64) bilevel.Schedule { return turn{K: 4, V: v} }
	wavy := newWavy(0)
	for want, c := range map[string]struct {
		m bilevel.Method
		p bilevel.Problem
	}{
		"BSA.Alpha is nil":                     {BSA{Beta: a, Neumann: n}, wavy},
		"BSA.Inner at step 0 is 0":             {inner(bilevel.Constant(0)), wavy},
		"BSA.Inner at step 0 is 1.073741825e":  {inner(bilevel.Constant(1<<30 + 1)), wavy},
		"inner steps at step 4 is 0":           {inner(at(0)), wavy},
		"inner steps at step 4 is 1.073741825": {inner(at(1<<30 + 0.5)), wavy},
		"TTSA.Neumann.LG is 0":                 {series(Neumann{}), wavy},
		"TTSA.Neumann.MuG is 0":                {series(Neumann{LG: 1}), wavy},
		"TTSA.Neumann.Terms is 0, and the def": {series(Neumann{LG: 1, MuG: 1e-9}), wavy},
		"TTSA.Neumann.Terms is 16777217":       {series(Neumann{LG: 1, Terms: 1<<24 + 1}), wavy},
		"AmIGO.Inner is 1073741825":            {AmIGO{Alpha: a, Beta: a, Inner: 1<<30 + 1}, wavy},
		"STABLECG.Window is 16777217":          {STABLECG{Alpha: a, Beta: a, Window: 1<<24 + 1}, wavy},
		"StocBiO.Neumann.MuG is 0":             {StocBiO{Alpha: a, Beta: a, Neumann: Neumann{LG: 1, Terms: 3}}, wavy},
		"BiAdam.Decay is 1":                    {BiAdam{Alpha: a, Beta: a, Decay: 1, Neumann: n}, wavy},
		"F2SA: Lambda at step 4 is 0":          {F2SA{Alpha: a, Beta: a, Lambda: at(0)}, wavy},
		"the stream of ξ is unbounded":         {SABA{Alpha: a, Beta: a}, sized{Entry{}.problem(0), 0, 7}},
		"the stream of φ is unbounded":         {SABA{Alpha: a, Beta: a}, sized{Entry{}.problem(0), 7, 0}},
		"SCGD.Beta at step 0 is 1.5":           {compose.SCGD{Alpha: a, Beta: bilevel.Constant(1.5)}, bare{wavy: wavy}},
		"SCSC.Beta at step 0 is 1.5":           {compose.SCSC{Alpha: a, Beta: bilevel.Constant(1.5)}, bare{wavy: wavy}},
		"SCGD: Beta at step 4 is 1.5":          {compose.SCGD{Alpha: a, Beta: at(1.5)}, bare{wavy: wavy}},
		"SCSC: Beta at step 4 is 1.5":          {compose.SCSC{Alpha: a, Beta: at(1.5)}, bare{wavy: wavy}},
		"9223372036854775808 samples":          {SABA{Alpha: a, Beta: a}, sized{Entry{}.problem(0), 1 << 63, 7}},
	} {
		s, err := bilevel.New(c.p, c.m, bilevel.Options{})
		if err == nil {
			err = failure(s, 5)
		}
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := bilevel.New(wavy, SOBA{Alpha: a}, bilevel.Options{})
	assert.EqualError(t, err, "bilevel: bad option: SOBA.Beta is nil: a step size has no default", "Gamma has one")
	_, err = bilevel.New(sized{Entry{}.problem(0), 1 << 40, 7}, SRBA{Alpha: a, Beta: a}, bilevel.Options{})
	assert.NoError(t, err, "the default Period has a bound, too")
}

func TestInnerBounds(t *testing.T) {
	a, stop := bilevel.Constant(0.1), errors.New("enough")
	p := &faulty{Problem: newWavy(0), Quantity: "g_y", Fault: func([]float64) error { return stop }}
	m := BSA{Alpha: a, Beta: a, Inner: bilevel.Constant(1 << 30), Neumann: Neumann{LG: 7, MuG: 0.7}}
	assert.ErrorIs(t, start(t, p, m, bilevel.Options{}).Step(), stop)
}

// Near the ends of the range a method works, or says which quantity left it at which step.
func TestMethodsNearOverflowAndUnderflow(t *testing.T) {
	for _, exponent := range []int{-1020, -700, -100, 500, 1020} {
		scale := math.Ldexp(1, exponent)
		u := bileveltest.Must(units.In(newProducts(0.1), units.Units{F: scale, G: scale}))
		p := struct { // without Values
			bilevel.Problem
			bilevel.Products
			bilevel.UpperGradient
		}{u, u, u}
		forEach(t, func(t *testing.T, e Entry) {
			if e.Needs.Composition { // g is not to be scaled
				return
			}
			scaled := tuning
			scaled.MuG, scaled.LG = 0.7*scale, 7*scale
			if !e.Lengths[0] {
				scaled.Alpha, scaled.Beta = bilevel.Constant(0.02/scale), bilevel.Constant(0.05/scale)
			}
			s, err := bilevel.New(p, e.New(scaled), bilevel.Options{Seed: 1})
			if err == nil {
				err = failure(s, 30)
				require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0, "2^%d", exponent)
			}
			if err != nil {
				require.NotEqual(t, -100, exponent)
				known := errors.Is(err, bilevel.ErrDiverged) || errors.Is(err, bilevel.ErrOption)
				require.True(t, known, "2^%d: %v", exponent, err)
				require.ErrorContains(t, err, "at step", "2^%d", exponent)
			}
		})
	}
}
