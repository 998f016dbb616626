package bilevel_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/eig"
	"stable/mat"
)

// script is a guest whose step is the test's, and keeps one of all that a checkpoint can hold.
type script struct {
	name string
	step func(m *scripted, it *bilevel.Iteration) error // nil: Start returns nothing
}

func (s script) Name() string { return s.name }

func (s script) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if s.step == nil {
		return nil, nil
	}
	dx, dy := it.Dims()
	_, lower := it.Oracle().Streams()
	m := &scripted{script: s, v: make([]float64, dy), named: make([]float64, dx), a: mat.NewDense(dx, dy),
		b: mat.NewSym(dy), order: bilevel.NewPasses(lower)}
	m.pcg.Seed(1, 2)
	return m, nil
}

type scripted struct {
	script
	v, named []float64
	a        *mat.Dense
	b        *mat.Sym
	i        int
	u        uint64
	f        float64
	pcg      rand.PCG
	order    *bilevel.Passes
	derived  float64 // f², made again by After
}

func (m *scripted) Step(it *bilevel.Iteration) error { return m.step(m, it) }

func (m *scripted) Vectors(visit func(name string, v []float64)) {
	visit("named", m.named)
	visit("g_xy", m.a.Data)
	visit("g_yy", m.b.Data)
}

func (m *scripted) State(st *bilevel.State) {
	st.Floats(m.v)
	st.Dense(m.a)
	st.Sym(m.b)
	st.Count(&m.i)
	st.Uint(&m.u)
	st.Float(&m.f)
	st.Rand(&m.pcg)
	m.order.State(st)
	st.After(func() error { m.derived = m.f * m.f; return nil })
}

func newQuadratic(t *testing.T) *quadratic.Problem {
	return must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, SigmaGy: 1, SigmaFx: 1}))
}

func start(t *testing.T, m bilevel.Method, opt bilevel.Options) *bilevel.Solver {
	return must(bilevel.New(newQuadratic(t), m, opt))
}

func wander(m *scripted, it *bilevel.Iteration) error {
	if m.derived != m.f*m.f {
		return errors.New("what follows from the state was not made again")
	}
	o, x, y := it.Oracle(), it.X(), it.Y()
	phi := it.DrawPhiIn(m.order, 1+it.K()%3)
	if err := errors.Join(o.CrossG(m.a, x, y, phi), o.HessG(m.b, x, y, it.DrawPhi(0))); err != nil {
		return err
	}
	m.i += 3
	m.u = m.pcg.Uint64()
	m.f = 0.9*m.f + it.Rand().Float64()
	m.derived = m.f * m.f
	for j := range m.v {
		m.v[j] += 1e-3*m.b.At(j, j) + 1e-9*float64(m.i) + float64(m.u%7)
	}
	if err := o.GradF(m.named, m.v, x, y, it.DrawXi(2)); err != nil {
		return err
	}
	it.Activity().Cut++
	it.MoveX(0.01, m.named)
	it.MoveY(0.01*m.f, m.v)
	return it.UseSteps(0.01, 0.01*m.f, 0.5)
}

func TestRules(t *testing.T) {
	a, b := bilevel.Constant(0.02), bilevel.Constant(0.1)
	wandering := script{name: "wander", step: wander}
	for _, m := range []bilevel.Method{
		wandering,
		bilevel.STABLE{MuG: 0.1},
		bilevel.STABLE{MuG: 0.8, Plain: true},
		bilevel.STABLE{Alpha: a, Beta: b, MuG: 1.5},
		bilevel.STABLE{Alpha: a, MuG: 0.1, CGxy: 0.5},
	} {
		require.NoError(t, check.Method(m, check.MethodOptions{}))
		require.NoError(t, check.Method(m, check.MethodOptions{Options: bilevel.Options{Set: bilevel.Simplex{}}, Steps: 12}))
	}

	clipping := start(t, bilevel.STABLE{MuG: 1.5}, bilevel.Options{})
	s := start(t, wandering, bilevel.Options{Seed: 3})
	for _, s := range []*bilevel.Solver{s, clipping} {
		must(s.Run(t.Context(), bilevel.Run{Steps: 20}))
		assert.Zero(t, testing.AllocsPerRun(50, func() { _ = s.Step() }))
		require.NoError(t, s.Step(), "nor has one before failed")
	}
	assert.Greater(t, clipping.Activity().Truncated, 20)
	assert.Equal(t, bilevel.Activity{Cut: s.K()}, s.Activity())
	assert.Equal(t, 3*s.K(), s.Stepper().(*scripted).i)
}

func TestGuestMisbehaves(t *testing.T) {
	_, err := bilevel.New(newQuadratic(t), script{name: "empty"}, bilevel.Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "empty: Start returns neither")

	type guest = *scripted
	type iteration = *bilevel.Iteration
	at := func(it iteration, v, most float64) error {
		_, err := it.At("Gamma", bilevel.Constant(v), most)
		return err
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		want   string
		does   func(m guest, it iteration)
		yields func(m guest, it iteration) error // nil: no error
	}{
		{"step 2 of guest failed: panic: mine", func(guest, iteration) { panic("mine") }, nil},
		{"step 2 of guest failed: panic: runtime error: index out of range", func(m guest, it iteration) { it.NextX()[len(m.v)] = 1 }, nil},
		{"failed: panic: bilevel: Iteration: a negative number of samples", func(_ guest, it iteration) { it.DrawXi(-2) }, nil},
		{"failed: panic: bilevel: Iteration: Passes over a sum of another size", func(_ guest, it iteration) { it.DrawXiIn(bilevel.NewPasses(9), 1) }, nil},
		{"at step 2: named[1] is NaN", func(m guest, it iteration) { m.named[1], it.NextY()[0] = nan, nan }, nil},
		{"at step 2: ‖x − x⁰‖ is NaN", func(_ guest, it iteration) { it.NextX()[1] = nan }, nil},
		{"at step 2: ‖y − y⁰‖ is 2e+06", func(_ guest, it iteration) { it.NextY()[1] = 2e6 + 2 }, nil},
		{"at step 2: named[0] is +Inf", func(m guest, it iteration) { m.named[0], m.v[2] = inf, nan },
			func(m guest, it iteration) error { return it.Finite(m.v) }},
		{"at step 2: entry 2 of a vector without a name is -Inf", func(m guest, it iteration) { m.v[2] = -inf }, func(m guest, it iteration) error { return it.Finite(m.v) }},
		{"guest: step sizes at step 2 are α = 0, β = 0, τ = 2", nil, func(_ guest, it iteration) error { return it.UseSteps(0, 0, 2) }},
		{"guest: Gamma at step 2 is -1, want a finite value ≥ 0", nil, func(_ guest, it iteration) error { return at(it, -1, inf) }},
		{"guest: Gamma at step 2 is 2, want a value in [0, 1]", nil, func(_ guest, it iteration) error { return at(it, 2, 1) }},
		{"bilevel: step 2 of guest failed: my own", nil, func(guest, iteration) error { return errors.New("my own") }},
	} {
		s := start(t, script{name: "guest", step: func(m *scripted, it *bilevel.Iteration) error {
			it.Activity().Slowed++
			it.NextX()[it.K()%3]++ // in step 2 forgotten; what a step leaves alone stays
			if it.K() == 2 && c.does != nil {
				c.does(m, it)
			}
			if it.K() == 2 && c.yields != nil {
				return c.yields(m, it)
			}
			return nil
		}}, bilevel.Options{X0: []float64{1, 2, 3}, Y0: []float64{1, 2, 3, 4}, Explode: 1e6})
		require.NoError(t, s.Step())
		require.NoError(t, s.Step())
		err := s.Step()
		require.ErrorContains(t, err, c.want)
		assert.Equal(t, err, s.Step(), c.want)
		assert.Equal(t, []float64{2, 3, 3}, s.X(), c.want)
		assert.Equal(t, []float64{1, 2, 3, 4}, s.Y(), c.want)
		assert.Equal(t, bilevel.Activity{Slowed: 2}, s.Activity(), c.want)
		var e *bilevel.StepError
		var p *bilevel.PanicError
		require.Equal(t, strings.Contains(c.want, "failed"), errors.As(err, &e), c.want)
		require.Equal(t, strings.Contains(c.want, "panic"), errors.As(err, &p), c.want)
		if e != nil {
			assert.Equal(t, "guest", e.Method)
		}
		if p != nil {
			assert.Contains(t, string(p.Stack), "scripted")
		}
	}
}

func TestComplete(t *testing.T) {
	p := newQuadratic(t)
	assert.Equal(t, &bilevel.Completed{Problem: p, Products: p, UpperGradient: p, Truth: p, Values: p, StronglyConvex: p},
		bilevel.Complete(p))

	lacks := bilevel.Complete(struct{ bilevel.Problem }{p})
	x, y, v := []float64{1, 2, -1}, []float64{0.5, 1, 2, -3}, []float64{1, -1, 3, 2}
	batch, got, want := []bilevel.Sample{3, 4}, make([]float64, 4), make([]float64, 4)
	require.NoError(t, errors.Join(lacks.HessVecG(got, x, y, v, batch), p.HessVecG(want, x, y, v, batch)))
	assert.InDeltaSlice(t, want, got, 1e-13)
	require.NoError(t, errors.Join(lacks.CrossVecG(got[:3], x, y, v, batch), p.CrossVecG(want[:3], x, y, v, batch)))
	assert.InDeltaSlice(t, want, got, 1e-13)
	assert.Equal(t, math.Inf(-1), lacks.ConvexityAt(x))
	_, objective := lacks.Objective(nil, x)
	_, valueF := lacks.ValueF(x, y, batch)
	_, valueG := lacks.ValueG(x, y, batch)
	for name, err := range map[string]error{"GradXG": lacks.GradXG(got[:3], x, y, batch), "Solution": lacks.Solution(y, x),
		"Objective": objective, "ValueF": valueF, "ValueG": valueG} {
		require.ErrorIs(t, err, bilevel.ErrMissing, name)
		assert.ErrorContains(t, err, name)
	}
}

func TestEach(t *testing.T) {
	for want, c := range map[string]struct {
		batch []bilevel.Sample
		terms int
	}{
		" 0:0.5 1:0.5": {nil, 2}, " 0:0.25 1:0.25 2:0.25": {[]bilevel.Sample{}, 4}, // 2 is the last
		" 3:0.5 3:0.5": {[]bilevel.Sample{3, 3}, 4}, " 2:0.5": {[]bilevel.Sample{2, 3}, 4}, "": {nil, 0},
	} {
		got := ""
		for name, w := range bilevel.Each(c.batch, c.terms) {
			if got += fmt.Sprintf(" %d:%g", name, w); name == 2 {
				break
			}
		}
		assert.Equal(t, want, got)
	}
	sum := 0.0
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for s, w := range bilevel.Each(nil, 3) {
			sum += w * float64(s)
		}
	}))
}

func noisy(size float64, o quadratic.Options) quadratic.Options {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = size, size, size, size, size
	return o
}

// lowest is the least eigenvalue of the exact g_yy where the solver is.
func lowest(t *testing.T, p bilevel.Problem, s *bilevel.Solver) float64 {
	t.Helper()
	_, dy := p.Dims()
	h := mat.NewSym(dy)
	require.NoError(t, p.HessG(h, s.X(), s.Y(), nil))
	var e eig.Jacobi
	require.NoError(t, e.FactorValues(h))
	return e.Values()[0]
}

func TestLargeMuGIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	wide := bileveltest.NewWavy[bilevel.Sample](0.2)
	wide.Dy, wide.N = 8, 80
	sum := must(quadratic.New(noisy(0.2, quadratic.Options{Dx: 4, Dy: 5, Seed: 3, Terms: 80, MuG: 0.3})))
	wavy := bileveltest.NewWavy[bilevel.Sample](0.3)
	for name, p := range map[string]bilevel.Problem{"wavy": wavy, "wide": wide, "sum": sum} {
		for _, kind := range []string{"STABLE", "RSVRB"} {
			entry := must(method.Lookup(kind))
			run := func(mu float64, seed uint64) (*bilevel.Solver, bilevel.Result) {
				tuning := method.Tuning{MuG: mu, LG: 3, CGxy: math.Inf(1)}
				if entry.Needs.Alpha {
					tuning.Alpha, tuning.Beta = bilevel.Power{C: 0.1, P: 0.5}, bilevel.Power{C: 0.3, P: 0.5}
				}
				s := must(bilevel.New(p, entry.New(tuning), bilevel.Options{Seed: seed, Set: bilevel.Ball{Radius: 1}}))
				r := must(s.Run(t.Context(), bilevel.Run{Steps: 1500}))
				return s, r
			}
			s, _ := run(1e-3, 1)
			right := lowest(t, p, s)
			for _, factor := range []float64{1, 2, 5} {
				s, r := run(factor*right, 2)
				h, ok := s.Health()
				require.True(t, ok)
				assert.Equal(t, factor > 1, h.LargeMuG, "%s on %s, %g times", kind, name, factor)
				assert.False(t, h.NotConvex)
				assert.Equal(t, h.Warnings(), r.Warnings)
				if factor <= 1 {
					assert.Empty(t, r.Warnings)
					continue
				}
				require.Len(t, r.Warnings, 1)
				assert.Contains(t, r.Warnings[0], "looks too large: the least eigenvalue of g_yy is ")
				assert.InEpsilon(t, lowest(t, p, s), h.Least, 0.3)
			}
		}
	}
}

type saddle struct{ bilevel.Problem }

func (p saddle) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := p.Problem.HessG(gyy, x, y, phi)
	mat.AddIdentity(gyy, -2)
	return err
}

func TestNotConvexIsTold(t *testing.T) {
	p := saddle{bileveltest.NewWavy[bilevel.Sample](0.3)}
	s := must(bilevel.New(p, bilevel.STABLE{MuG: 0.1}, bilevel.Options{Set: bilevel.UniformBox(3, -3, 3)}))
	r := must(s.Run(t.Context(), bilevel.Run{Steps: 1000}))
	h, _ := s.Health()
	assert.True(t, h.NotConvex)
	assert.InDelta(t, lowest(t, p, s), h.Least, 4*h.LeastErr)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "g(x, ·) is not convex where the run is")
}

type lost struct{}

func (lost) Name() string                                        { return "lost" }
func (m lost) Start(*bilevel.Iteration) (bilevel.Stepper, error) { return m, nil }
func (lost) Vectors(func(string, []float64))                     {}
func (lost) State(*bilevel.State)                                {}
func (lost) Health() bilevel.Health                              { return bilevel.Health{Gap: math.Inf(1)} }
func (lost) Step(it *bilevel.Iteration) error {
	it.Arrive()
	return it.UseSteps(0, 0, 0)
}

func TestAnArrivalOfUnknownWorthIsTold(t *testing.T) {
	s := must(bilevel.New(bileveltest.NewWavy[bilevel.Sample](0.3), lost{}, bilevel.Options{}))
	r := must(s.Run(t.Context(), bilevel.Run{Steps: 10}))
	assert.Equal(t, bilevel.Arrived, r.Reason)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "nothing tells how far F may fall")
}
