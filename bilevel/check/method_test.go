package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
	"stable/mat"
)

type iteration = *bilevel.Iteration

type flaw struct {
	name, rules, message string
	end                  func(m *visitor, it iteration) error // of a step
}

var flaws = []flaw{
	{name: ""},
	{name: "wraps errors"},
	{name: "start refuses sums"},
	{"no name", "name", "check: method breaks a rule: name: on a stream: Name is empty", nil},
	{"name", "name", "Name is \"guest\" before", func(m *visitor, _ iteration) error { *m.guest.name += "'"; return nil }},
	{"start asks", "start", "on a stream: Start draws samples or calls an oracle", nil},
	{"start draws", "start", "Start draws samples or calls", nil},
	{"start fails", "start", "does not wrap bilevel.ErrOption: not today", nil},
	{"start panics", "start", "panic: runtime error: index out of range", nil},
	{"start refuses", "start", "on every problem: no run is left: bilevel: bad option: guest.alpha is wrong", nil},
	{"writes x", "inputs", "step 0 changes what it is to read: x[1] is ",
		func(_ *visitor, it iteration) error { it.X()[1]++; return nil }},
	{"writes y and fails", "inputs run", "step 0 changes what it is to read: y[0] is 7, and not 0",
		func(_ *visitor, it iteration) error { it.Y()[0] = 7; panic("and fails") }},
	{"leaves X", "feasible", "on a stream in a box: after 1 steps, x is ",
		func(m *visitor, it iteration) error { mat.Axpy(it.NextX(), -alpha, m.named("h")); return nil }},
	{"reports no step of y", "steps", " and reports β = 0, with which Run.Tol never stops: call Iteration.UseSteps", nil},
	{"forgets the step of x at times", "steps", " and reports α = 0, with which", func(m *visitor, it iteration) error {
		it.MoveX(alpha, m.named("h"))
		return it.UseSteps(alpha*float64(it.K()%2), 0.1, 0)
	}},
	{"goes behind", "counts oracle not finite", "call Iteration.Oracle",
		func(m *visitor, it iteration) error { return it.Problem().GradG(m.gy, it.X(), it.Y(), it.DrawPhi(0)) }},
	{"draws for itself", "counts", "different samples φ", func(m *visitor, it iteration) error {
		return it.Oracle().GradG(m.gy, it.X(), it.Y(), []bilevel.Sample{bilevel.Sample(it.K() % 12), 11, 10, 9})
	}},
	{"asks for what it did not draw", "counts", "φ = 3, which the run has not", func(m *visitor, it iteration) error {
		it.DrawPhi(1)
		return it.Oracle().GradG(m.gy, it.X(), it.Y(), []bilevel.Sample{3})
	}},
	{"exact in secret", "counts", "after 1 steps, the oracles were asked for 12 different samples φ, and 3 were drawn",
		func(m *visitor, it iteration) error { return it.Oracle().GradG(m.gy, it.X(), it.Y(), nil) }},
	{"seed", "seed", "in a second run of one seed, after 1 steps, y[0] is ", func(m *visitor, it iteration) error {
		*m.runs++
		it.NextY()[0] += 1e-9 * float64(*m.runs)
		return nil
	}},
	{"shared", "shared", "beside another Solver of the same Method value, after 2 steps, x[", nil},
	{"forgets h", "resume", "cut after 1 steps, saved and loaded, after 2 steps, x[", nil},
	{"changes on the way", "resume", "cut after 0 steps, saved and loaded, after 0 steps, the checkpoint has", nil},
	{"visits more by turns", "resume", "cut after 0 steps, saved and loaded, bilevel: Save: the State of guest ", nil},
	{"grows", "resume", "cut after 7 steps, saved and loaded, bilevel: checkpoint of another run: its state has ", nil},
	{"swallows errors", "oracle", "CrossVecG fails at its call 0, and the step goes on", nil},
	{"stays", "oracle", "gives ErrDomain at its call 2, and the step goes on from that point", nil},
	{"hides errors", "oracle", "returns another error, bilevel: ", nil},
	{"names nothing", "not finite", " gives NaN at its call 0, and the step goes on", nil},
	{"cuts infinity", "not finite", " gives +Inf at its call 1, and the step", func(m *visitor, it iteration) error {
		cut := func(_ string, v []float64) {
			for i, a := range v {
				v[i] = max(-100, min(a, 100))
			}
		}
		cut("x", it.NextX())
		m.Vectors(cut)
		return nil
	}},
	{"asks there", "not finite", "GradG is then asked where y[3] is NaN",
		func(m *visitor, it iteration) error {
			return it.Oracle().GradG(m.gy, it.X(), it.NextY(), it.DrawPhi(0))
		}},
}

type guest struct {
	bilevel.Method
	flaw
	name *string
	same *visitor // the Stepper of all Solvers, with the flaw "shared"
	runs *int     // counts steps from run to run
}

const alpha = 0.05

func masoba(alpha, beta float64) bilevel.Method {
	return method.MASOBA{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(beta), Theta: bilevel.Constant(0.3)}
}

func newGuest(name string) guest {
	own, k := "guest", slices.IndexFunc(flaws, func(f flaw) bool { return f.name == name })
	g := guest{masoba(alpha, 0.1), flaws[k], &own, new(visitor), new(int)}
	switch name {
	case "no name":
		own = ""
	case "reports no step of y":
		g.Method = masoba(alpha, 0)
	case "forgets the step of x at times":
		g.Method = masoba(0, 0.1)
	}
	return g
}

func (g guest) Name() string { return *g.name }

func (g guest) Start(it iteration) (bilevel.Stepper, error) {
	inner, err := g.Method.Start(it)
	m := &visitor{Stepper: inner, guest: g}
	m.gy = m.named("g_y")
	switch g.flaw.name {
	case "start asks":
		err = it.Oracle().GradG(m.gy, it.X(), it.Y(), nil)
	case "start draws":
		it.DrawXi(1)
	case "start panics":
		_ = it.X()[it.K()+3]
	case "start fails":
		err = errors.New("not today")
	case "start refuses":
		err = option.Bad("guest.alpha is wrong")
	case "start refuses sums":
		if u, _ := it.Oracle().Streams(); u > 0 {
			err = option.Bad("guest takes no sums")
		}
	case "shared":
		*g.same = *m
		m = g.same
	}
	return m, err
}

type visitor struct {
	guest
	bilevel.Stepper
	gy    []float64
	coins float64
	turn  bool
}

func (m *visitor) named(name string) (found []float64) {
	m.Stepper.Vectors(func(other string, v []float64) {
		if name == other {
			found = v
		}
	})
	return found
}

func (m *visitor) Step(it iteration) error {
	if err := m.Stepper.Step(it); err != nil {
		switch m.flaw.name {
		case "hides errors":
			return &bilevel.OracleError{Err: errors.New("something failed")}
		case "wraps errors":
			return fmt.Errorf("mine: %w", err)
		case "swallows errors":
			return nil
		case "stays":
			if errors.Is(err, bilevel.ErrDomain) {
				return nil
			}
		}
		return err
	}
	m.coins += it.Rand().Float64()
	it.NextY()[0] += 0.01 * m.coins / (1 + m.coins)
	if m.end != nil {
		return m.end(m, it)
	}
	return nil
}

func (m *visitor) Vectors(visit func(name string, v []float64)) {
	if m.flaw.name != "names nothing" {
		m.Stepper.Vectors(visit)
	}
}

func (m *visitor) State(st *bilevel.State) {
	if m.flaw.name == "forgets h" {
		st.Floats(m.named("v"))
	} else {
		m.Stepper.State(st)
	}
	st.Float(&m.coins)
	m.turn = !m.turn
	name := m.flaw.name
	if name == "changes on the way" {
		m.coins++
	}
	if name == "visits more by turns" && m.turn || name == "grows" && m.coins > 3 {
		st.Float(&m.coins)
	}
}

func broken(err error) string {
	var rules []string
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			rules = append(rules, e.(*Breach).Rule)
		}
	}
	return strings.Join(rules, " ")
}

func TestMethodFindsFlaws(t *testing.T) {
	for _, c := range flaws {
		t.Run(c.name, func(t *testing.T) {
			err := Method(newGuest(c.name), MethodOptions{})
			assert.Equal(t, c.rules, broken(err), "%v", err)
			assert.Equal(t, c.rules == "", err == nil)
			if err != nil {
				assert.ErrorContains(t, err, c.message)
			}
		})
	}
}

func TestMethodOptions(t *testing.T) {
	q := made(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 1, LG: 2, LP: 2, SigmaGy: 0.3, Terms: 12}))
	has := func(p bilevel.Problem) [2]bool {
		_, products := p.(bilevel.Products)
		_, upper := p.(bilevel.UpperGradient)
		return [2]bool{products, upper}
	}
	for _, p := range []bilevel.Problem{q, bare{q}, bareGX{q, q}, withProducts{q, q}} {
		asked := 0
		o := MethodOptions{Problem: p, Steps: 5, Options: bilevel.Options{Set: bilevel.Simplex{}},
			As: func(seen bilevel.Problem) bilevel.Problem {
				assert.Equal(t, has(p), has(seen))
				asked++
				return seen
			}}
		require.NoError(t, Method(newGuest(""), o))
		assert.Greater(t, asked, 3*20)
		for flaw, rule := range map[string]string{"leaves X": "feasible", "forgets h": "resume",
			"names nothing": "not finite"} {
			assert.Equal(t, rule, broken(Method(newGuest(flaw), o)), "%v, %s", has(p), flaw)
		}
	}

	var full, others int
	p := mutant{oracle: "GradG", fails: func(c written) error {
		if len(c.batch) > 0 {
			others++
			return nil
		}
		full++
		return bilevel.ErrNoExact
	}}.of(goodOf(3, 3, 0))
	require.NoError(t, Method(newGuest(""), MethodOptions{Problem: p, Steps: 3}))
	assert.Equal(t, 1, full)
	assert.Positive(t, others)

	for want, o := range map[string]MethodOptions{
		"Steps is -1":          {Steps: -1},
		"Options.X0 has":       {Options: bilevel.Options{X0: []float64{1}}},
		"Options.Explode is -": {Problem: q, Options: bilevel.Options{Explode: -1}},
	} {
		assert.ErrorContains(t, Method(newGuest(""), o), want)
	}
	require.ErrorIs(t, Method(nil, MethodOptions{}), bilevel.ErrOption)
}

type shaky struct{ bilevel.Space }

func (shaky) Project(dst, x []float64) {
	for i, v := range x {
		dst[i] = v * (1 + 0x1p-50)
	}
}

func TestRoundingIsNoStep(t *testing.T) {
	g := newGuest("")
	g.Method = masoba(0, 0.1)
	require.NoError(t, Method(g, MethodOptions{Options: bilevel.Options{Set: shaky{}, X0: []float64{0.3, 0.2, 0.6}}}))
}
