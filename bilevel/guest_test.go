package bilevel_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// script is a guest whose step is a function of the test's, and which keeps one of everything that
// a checkpoint can hold.
type script struct {
	name string
	step func(m *scripted, it *bilevel.Iteration) error
	none bool
}

func (s script) Name() string { return s.name }

func (s script) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	if s.none {
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
	visits   int
	grow     bool
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
	if m.visits++; m.grow && m.visits%2 == 0 {
		st.Float(&m.f)
	}
}

func newQuadratic(t *testing.T) *quadratic.Problem {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, SigmaGy: 1, SigmaFx: 1})
	require.NoError(t, err)
	return p
}

func start(t *testing.T, m bilevel.Method, opt bilevel.Options) *bilevel.Solver {
	s, err := bilevel.New(newQuadratic(t), m, opt)
	require.NoError(t, err)
	return s
}

// wander uses all that an Iteration offers, and everything that it keeps.
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

// A guest keeps the rules, whatever kinds of numbers a checkpoint of it holds, and a step of it
// allocates nothing. So do all forms of STABLE.
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

	s := start(t, wandering, bilevel.Options{Seed: 3})
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		if err := s.Step(); err != nil {
			panic(err)
		}
	}))
	assert.Equal(t, bilevel.Activity{Cut: s.K()}, s.Activity())
	assert.Equal(t, 3*s.K(), s.Stepper().(*scripted).i)
}

// Guests that break the contract get an error that says how, at New, in the step, or from Save.
func TestGuestMisbehaves(t *testing.T) {
	_, err := bilevel.New(newQuadratic(t), script{name: "empty", none: true}, bilevel.Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "empty: Start returns neither")

	for want, step := range map[string]func(m *scripted, it *bilevel.Iteration) error{
		"step 2 of guest failed: panic: mine": func(*scripted, *bilevel.Iteration) error { panic("mine") },
		"step 2 of guest failed: panic: runtime error: index out of range": func(m *scripted, it *bilevel.Iteration) error {
			it.NextX()[len(m.v)] = 1
			return nil
		},
		"step 2 of guest failed: panic: bilevel: Iteration: a negative number of samples": func(_ *scripted, it *bilevel.Iteration) error {
			it.DrawXi(-2)
			return nil
		},
		"at step 2: named[1] is NaN": func(m *scripted, it *bilevel.Iteration) error {
			m.named[1] = math.NaN()
			it.NextY()[0] = math.NaN()
			return nil
		},
		"at step 2: named[0] is +Inf": func(m *scripted, it *bilevel.Iteration) error {
			m.named[0], m.v[2] = math.Inf(1), math.NaN()
			return it.Finite(m.v)
		},
		"at step 2: entry 2 of a vector without a name is -Inf": func(m *scripted, it *bilevel.Iteration) error {
			m.v[2] = math.Inf(-1)
			return it.Finite(m.v)
		},
		"at step 2: ‖x − x⁰‖ is NaN": func(_ *scripted, it *bilevel.Iteration) error {
			it.NextX()[1] = math.NaN()
			return nil
		},
		"at step 2: ‖y − y⁰‖ is 2e+12": func(_ *scripted, it *bilevel.Iteration) error {
			it.NextY()[1] = 2e12
			return nil
		},
		"guest: step sizes at step 2 are α = 0, β = 0, τ = 2": func(_ *scripted, it *bilevel.Iteration) error { return it.UseSteps(0, 0, 2) },
		"guest: Gamma at step 2 is -1, want a finite value ≥ 0": func(_ *scripted, it *bilevel.Iteration) error {
			_, err := it.At("Gamma", bilevel.Constant(-1), math.Inf(1))
			return err
		},
		"guest: Tau at step 2 is 2, want a value in [0, 1]": func(_ *scripted, it *bilevel.Iteration) error {
			_, err := it.At("Tau", bilevel.Constant(2), 1)
			return err
		},
		"bilevel: step 2 of guest failed: my own": func(*scripted, *bilevel.Iteration) error { return errors.New("my own") },
	} {
		s := start(t, script{name: "guest", step: func(m *scripted, it *bilevel.Iteration) error {
			it.Activity().Slowed++
			if it.K() == 2 {
				it.NextX()[0]++ // which is forgotten
				return step(m, it)
			}
			return nil
		}}, bilevel.Options{X0: []float64{1, 2, 3}})
		require.NoError(t, s.Step())
		require.NoError(t, s.Step())
		x, y, activity := slices.Clone(s.X()), slices.Clone(s.Y()), s.Activity()
		err := s.Step()
		require.ErrorContains(t, err, want)
		assert.Equal(t, err, s.Step(), want)
		assert.Equal(t, x, s.X(), want)
		assert.Equal(t, y, s.Y(), want)
		assert.Equal(t, activity, s.Activity(), want)
		if strings.Contains(want, "panic") || strings.Contains(want, "my own") {
			var e *bilevel.StepError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "guest", e.Method)
		}
	}

	s := start(t, script{name: "growing", step: wander}, bilevel.Options{})
	s.Stepper().(*scripted).grow = true
	assert.ErrorContains(t, s.Save(&bytes.Buffer{}), "the State of growing visited")
}

// The next iterate begins as the present one: what a step leaves alone stays.
func TestNextBeginsAsPresent(t *testing.T) {
	s := start(t, script{name: "lazy", step: func(_ *scripted, it *bilevel.Iteration) error {
		it.NextX()[it.K()%2]++
		return nil
	}}, bilevel.Options{Y0: []float64{1, 2, 3, 4}})
	for range 5 {
		require.NoError(t, s.Step())
	}
	assert.Equal(t, []float64{3, 2, 0}, s.X())
	assert.Equal(t, []float64{1, 2, 3, 4}, s.Y())
}

// A checkpoint tells a guest's parameters apart, those without a name for the reader among them,
// and two guests of one name.
func TestGuestIsDescribed(t *testing.T) {
	save := func(m bilevel.Method) []byte {
		s := start(t, m, bilevel.Options{})
		var b bytes.Buffer
		require.NoError(t, s.Save(&b))
		return b.Bytes()
	}
	load := func(m bilevel.Method, file []byte) error {
		return start(t, m, bilevel.Options{}).Load(bytes.NewReader(file))
	}
	a, b := bilevel.Constant(0.1), bilevel.Constant(0.2)
	file := save(Loopless{Alpha: a, Beta: b})
	require.NoError(t, load(Loopless{Alpha: a, Beta: b}, file))
	require.NoError(t, load(&Loopless{Alpha: a, Beta: b}, file))
	for want, m := range map[string]bilevel.Method{
		"Loopless.Past is 0 in the checkpoint, and 0.5 here":                    Loopless{Alpha: a, Beta: b, Past: 0.5},
		"Loopless.Alpha is bilevel.Constant 0.1 in the checkpoint":              Loopless{Alpha: b, Beta: b},
		"method is Loopless in the checkpoint, and STABLE here":                 bilevel.STABLE{MuG: 1},
		"type is stable/bilevel_test.Loopless in the checkpoint, and stable/bi": script{name: "Loopless"},
	} {
		err := load(m, file)
		require.ErrorIs(t, err, bilevel.ErrForeign)
		assert.ErrorContains(t, err, want)
	}
	// A method that is no struct, and one inside another.
	require.NoError(t, load(bare(0.1), save(bare(0.1))))
	assert.ErrorContains(t, load(bare(0.2), save(bare(0.1))), "bare is 0.1 in the checkpoint, and 0.2 here")
	require.NoError(t, load(wrapped{Loopless{Alpha: a, Beta: b}}, save(wrapped{Loopless{Alpha: a, Beta: b}})))
	assert.ErrorContains(t, load(wrapped{Loopless{Alpha: a, Beta: a}}, save(wrapped{Loopless{Alpha: a, Beta: b}})),
		"wrapped.Method.Beta is")
}

type bare float64

func (bare) Name() string { return "bare" }
func (b bare) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	return script{name: "bare", step: wander}.Start(it)
}

type wrapped struct{ bilevel.Method }

// A set of the caller's own tells its width.
func TestWidth(t *testing.T) {
	for _, c := range []struct {
		set  bilevel.Set
		want float64
	}{
		{bilevel.Space{}, 1}, {bilevel.NonNegative{}, 1}, {bilevel.HalfSpace{A: []float64{1}, B: 2}, 1},
		{bilevel.UniformBox(2, -3, 1), 4}, {bilevel.UniformBox(2, 1, 1), 1}, {bilevel.UniformBox(2, 0, math.Inf(1)), 1},
		{bilevel.Ball{Radius: 3}, 6}, {bilevel.Ball{}, 1}, {bilevel.Simplex{}, 1}, {bilevel.Simplex{Sum: 5}, 5},
		{struct{ bilevel.Box }{bilevel.UniformBox(2, -3, 1)}, 4}, {struct{ bilevel.Set }{bilevel.UniformBox(2, -3, 1)},
			1},
	} {
		assert.Equal(t, c.want, bilevel.Width(c.set, 1), "%#v", c.set)
	}
	// The default step sizes of STABLE are in units of it.
	first := func(set bilevel.Set) float64 {
		s, err := bilevel.New(newQuadratic(t), bilevel.STABLE{MuG: 1, Trust: math.Inf(1)},
			bilevel.Options{Set: set, X0: []float64{0, 0, 0}})
		require.NoError(t, err)
		require.NoError(t, s.Step())
		return s.X()[0]
	}
	assert.InDelta(t, 3*first(told{bilevel.Space{}, 1}), first(told{bilevel.Space{}, 3}), 1e-12)
}

type told struct {
	bilevel.Space
	width float64
}

func (s told) Width(int) float64 { return s.width }

// Mean is the mean of the iterates with weights (j+1)(j+2)(j+3), here by its definition; Result has
// it, and a set of which every point is feasible keeps it.
func TestMean(t *testing.T) {
	set := bilevel.Simplex{}
	s := start(t, bilevel.STABLE{MuG: 1}, bilevel.Options{Set: set})
	assert.Equal(t, s.X(), s.Mean())
	sum, weights := make([]float64, 3), 0.0
	for k := range 50 {
		require.NoError(t, s.Step())
		w := float64((k + 1) * (k + 2) * (k + 3))
		mat.Axpy(sum, w, s.X())
		weights += w
		want := make([]float64, 3)
		mat.Axpy(want, 1/weights, sum)
		require.InDeltaSlice(t, want, s.Mean(), 1e-13)
	}
	p := make([]float64, 3)
	set.Project(p, s.Mean())
	assert.InDeltaSlice(t, p, s.Mean(), 1e-14)
	assert.NotEqual(t, s.X(), s.Mean())
	r, err := s.Run(t.Context(), bilevel.Run{Steps: 1})
	require.NoError(t, err)
	assert.Equal(t, s.Mean(), r.Mean)
	mean := slices.Clone(r.Mean)
	require.NoError(t, s.Step())
	assert.Equal(t, mean, r.Mean, "the Result is a copy")
}
