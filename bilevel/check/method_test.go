package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// guest is a stranger's method: SOBA with a mean, and a coin. With a flaw, it breaks one rule.
type guest struct {
	flaw  string
	alpha float64
	name  *string
	same  *visitor // the Stepper of all Solvers, with the flaw "shared"
	calls *int     // counts on from run to run, with the flaw "seed"
}

func newGuest(flaw string) guest {
	g := guest{flaw: flaw, alpha: 0.05, name: new(string), same: new(visitor), calls: new(int)}
	if flaw != "no name" {
		*g.name = "guest"
	}
	return g
}

func (g guest) Name() string { return *g.name }

func (g guest) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	dx, dy := it.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	m := &visitor{guest: g, v: vec(dy), d: vec(dx), fx: vec(dx), fy: vec(dy), gy: vec(dy), gyyv: vec(dy), gxyv: vec(dx)}
	switch g.flaw {
	case "start asks":
		return m, it.Oracle().GradG(m.gy, it.X(), it.Y(), nil)
	case "start draws":
		it.DrawXi(1)
	case "start panics":
		_ = m.v[dy]
	case "start fails":
		return nil, errors.New("not today")
	case "start refuses":
		return nil, option.Bad("guest.alpha is wrong")
	case "start refuses sums":
		if u, _ := it.Oracle().Streams(); u > 0 {
			return nil, option.Bad("guest takes no sums")
		}
	case "shared":
		*g.same = *m
		return g.same, nil
	}
	return m, nil
}

type visitor struct {
	guest
	v, d                   []float64 // these outlive a step
	fx, fy, gy, gyyv, gxyv []float64
	last                   float64
	sum, rest              float64 // on which x and y do not depend
	turn                   bool
}

func (m *visitor) Step(it *bilevel.Iteration) error {
	o, x, y, xi, phi := it.Oracle(), it.X(), it.Y(), it.DrawXi(0), it.DrawPhi(0)
	ask := []func() error{
		func() error { return o.GradG(m.gy, x, y, phi) },
		func() error { return o.GradF(m.fx, m.fy, x, y, xi) },
		func() error { return o.HessVecG(m.gyyv, x, y, m.v, phi) },
		func() error { return o.CrossVecG(m.gxyv, x, y, m.v, phi) },
	}
	switch m.flaw {
	case "goes behind":
		ask[0] = func() error { return it.Problem().GradG(m.gy, x, y, phi) }
	case "draws for itself":
		ask[0] = func() error { return o.GradG(m.gy, x, y, []bilevel.Sample{bilevel.Sample(it.K() % 12), 11, 10, 9}) }
	case "asks for what it did not draw":
		ask[1] = func() error { return o.GradF(m.fx, m.fy, x, y, []bilevel.Sample{3}) }
	case "exact in secret":
		ask[0] = func() error { return o.GradG(m.gy, x, y, nil) }
	}
	for _, f := range ask {
		err := f()
		switch {
		case m.flaw == "swallows errors", m.flaw == "stays" && errors.Is(err, bilevel.ErrDomain):
		case err != nil && m.flaw == "hides errors":
			return &bilevel.OracleError{Err: errors.New("something failed")}
		case err != nil && m.flaw == "wraps errors":
			return fmt.Errorf("mine: %w", err)
		case err != nil:
			return err
		}
	}
	if err := m.spoil(it); err != nil {
		return err
	}
	for j, fy := range m.fy {
		m.v[j] -= 0.1 * (m.gyyv[j] - fy)
	}
	for i, fx := range m.fx {
		m.d[i] += 0.3 * (fx - m.gxyv[i] - m.d[i])
	}
	m.last += it.Rand().Float64()
	m.rest++
	m.sum += m.rest
	it.MoveX(m.alpha*(1+0.1*m.last/(1+m.last)), m.d)
	it.MoveY(0.1, m.gy)
	switch m.flaw {
	case "leaves X":
		copy(it.NextX(), it.X())
		mat.Axpy(it.NextX(), -m.alpha, m.d)
	case "writes x":
		it.X()[1]++
	case "writes y and fails":
		it.Y()[0] = 7
		panic("and fails")
	case "reports no step of y":
		return it.UseSteps(m.alpha, 0, 0)
	case "forgets the step of x at times":
		return it.UseSteps(m.alpha*float64(it.K()%2), 0.1, 0)
	}
	return it.UseSteps(m.alpha, 0.1, 0)
}

func (m *visitor) spoil(it *bilevel.Iteration) error {
	switch m.flaw {
	case "asks there":
		y := it.NextY()
		mat.Axpy(y, 1, m.gy)
		return it.Oracle().GradG(m.gy, it.X(), y, it.DrawPhi(0))
	case "cuts infinity":
		for i, a := range m.fx {
			m.fx[i] = min(a, 100)
		}
	case "seed":
		*m.calls++
		m.v[0] += 1e-9 * float64(*m.calls)
	case "name":
		*m.name += "'"
	}
	return nil
}

func (m *visitor) Vectors(visit func(name string, v []float64)) {
	if m.flaw != "names nothing" {
		visit("g_y", m.gy)
		visit("f_x", m.fx)
		visit("f_y", m.fy)
		visit("g_yy v", m.gyyv)
		visit("g_xy v", m.gxyv)
	}
}

func (m *visitor) State(st *bilevel.State) {
	if m.flaw != "forgets d" {
		st.Floats(m.d)
	}
	if m.flaw != "forgets v" {
		st.Floats(m.v)
	}
	st.Float(&m.last)
	switch m.flaw {
	case "changes on the way":
		m.last++
	case "forgets what moves nothing":
		st.Float(&m.sum)
	case "visits more by turns":
		if m.turn = !m.turn; m.turn {
			st.Float(&m.last)
		}
	case "grows":
		if m.last > 3 {
			st.Float(&m.last)
		}
	}
}

// broken returns the rules that a method breaks.
func broken(err error) string {
	var rules []string
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			rules = append(rules, e.(*Breach).Rule)
		}
	}
	return strings.Join(rules, " ")
}

// A guest that keeps all rules passes; each flaw is called by its name.
func TestMethodFindsFlaws(t *testing.T) {
	for _, c := range []struct {
		flaw    string
		rules   string // joined by blanks
		message string
	}{
		{flaw: ""},
		{flaw: "wraps errors"},
		{flaw: "start refuses sums"},
		{"no name", "name", "check: method breaks a rule: name: on a stream: Name is empty"},
		{"name", "name", "Name is \"guest\" before"},
		{"start asks", "start", "on a stream: Start draws samples or calls an oracle"},
		{"start draws", "start", "Start draws samples or calls"},
		{"start fails", "start", "does not wrap bilevel.ErrOption: not today"},
		{"start panics", "start", "panic: runtime error: index out of range"},
		{"start refuses", "start", "on every problem: no run is left: bilevel: bad option: guest.alpha is wrong"},
		{"writes x", "inputs", "step 0 changes what it is to read: x[1] is "},
		{"writes y and fails", "inputs run", "step 0 changes what it is to read: y[0] is 7, and not 0"},
		{"leaves X", "feasible", "on a stream in a box: after 1 steps, x is "},
		{"reports no step of y", "steps", " and reports β = 0, with which Run.Tol never stops: call Iteration.UseSteps"},
		{"forgets the step of x at times", "steps", " and reports α = 0, with which"},
		{"goes behind", "counts oracle", "call Iteration.Oracle"},
		{"draws for itself", "counts", "different samples φ"},
		{"asks for what it did not draw", "counts", "for the sample ξ = 3, which the run has not drawn"},
		{"exact in secret", "counts", "after 1 steps, the oracles were asked for 12 different samples φ, and 3 were drawn"},
		{"seed", "seed", "in a second run of one seed, after 2 steps, x["},
		{"shared", "shared", "beside another Solver of the same Method value, after 2 steps, x["},
		{"forgets d", "resume", "cut after 1 steps, saved and loaded, after 2 steps, x["},
		{"forgets v", "resume", "State must visit all that later steps depend on"},
		{"forgets what moves nothing", "resume", "cut after 1 steps, saved and loaded, after 2 steps, the checkpoint has other numbers"},
		{"changes on the way", "resume", "cut after 0 steps, saved and loaded, after 0 steps, the checkpoint has other numbers"},
		{"visits more by turns", "resume", "cut after 0 steps, saved and loaded, bilevel: Save: the State of guest visited"},
		{"grows", "resume", "cut after 7 steps, saved and loaded, bilevel: checkpoint of another run: its state has 39 words, and this one 38: State"},
		{"swallows errors", "oracle", "CrossVecG fails at its call 0, and the step goes on"},
		{"stays", "oracle", "gives ErrDomain at its call 2, and the step goes on from that point"},
		{"hides errors", "oracle", "returns another error, bilevel: "},
		{"names nothing", "not finite", " gives NaN at its call 0, and the step goes on"},
		{"cuts infinity", "not finite", "GradF gives +Inf at its call 1, and the step goes on"},
		{"asks there", "not finite", "GradG is then asked where y[3] is NaN"},
	} {
		t.Run(c.flaw, func(t *testing.T) {
			err := Method(newGuest(c.flaw), MethodOptions{})
			assert.Equal(t, c.rules, broken(err), "%v", err)
			assert.Equal(t, c.rules == "", err == nil)
			if err != nil {
				assert.ErrorContains(t, err, c.message)
			}
		})
	}
}

// Method runs on a problem of the caller's, whatever that has besides its four oracles.
func TestMethodOptions(t *testing.T) {
	q, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 1, LG: 2, LP: 2, SigmaGy: 0.3, Terms: 12})
	require.NoError(t, err)
	for _, p := range []bilevel.Problem{q, struct{ bilevel.Problem }{q}, struct {
		bilevel.Problem
		bilevel.Products
	}{q, q}, bareGX{q, q}} {
		has := func(p bilevel.Problem) [2]bool {
			_, products := p.(bilevel.Products)
			_, upper := p.(bilevel.UpperGradient)
			return [2]bool{products, upper}
		}
		asked := 0
		o := MethodOptions{Problem: p, Steps: 5, Options: bilevel.Options{Set: bilevel.Simplex{}},
			As: func(seen bilevel.Problem) bilevel.Problem {
				assert.Equal(t, has(p), has(seen))
				asked++
				return seen
			}}
		require.NoError(t, Method(newGuest(""), o))
		assert.Greater(t, asked, 3*20)
		for flaw, rule := range map[string]string{"leaves X": "feasible", "forgets v": "resume",
			"names nothing": "not finite"} {
			assert.Equal(t, rule, broken(Method(newGuest(flaw), o)), "%v, %s", has(p), flaw)
		}
	}

	var full, others int
	p := &mutant{full: goodOf(3, 3, 0), oracle: "GradG", fails: func(c call) error {
		if len(c.batch) > 0 {
			others++
			return nil
		}
		full++
		return bilevel.ErrNoExact
	}}
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

// shaky is a set whose projection rounds what is inside.
type shaky struct{ bilevel.Space }

func (shaky) Project(dst, x []float64) {
	for i, v := range x {
		dst[i] = v * (1 + 0x1p-50)
	}
}

func TestRoundingIsNoStep(t *testing.T) {
	g := newGuest("")
	g.alpha = 0
	require.NoError(t, Method(g, MethodOptions{Options: bilevel.Options{Set: shaky{}, X0: []float64{0.3, 0.2, 0.6}}}))
}
