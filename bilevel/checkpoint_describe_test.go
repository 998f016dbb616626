package bilevel

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halving is a schedule of the caller's own, with a pointer receiver.
type halving struct {
	first float64
	f     func() float64
}

func (h *halving) At(k int) float64 { return h.first * math.Pow(0.5, float64(k)) }

// A checkpoint of another run is refused, with the name of what differs.
func TestForeignIsRefused(t *testing.T) {
	own := &halving{first: 0.1, f: func() float64 { return 1 }}
	base := STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, Tau: own, MuG: 0.5}
	opt := Options{Seed: 9, Set: UniformBox(3, -1, 1)}
	s, err := New(newWavy(0.3), base, opt)
	require.NoError(t, err)
	steps(t, s, 2)
	file := saved(t, s)

	larger := newWavy(0.3)
	larger.Dy, larger.N = 5, 20
	for want, change := range map[string]func(p *Problem, m *Method, v *STABLE, o *Options){
		"":                                      func(*Problem, *Method, *STABLE, *Options) {},
		"dy is 4 in the checkpoint, and 5 here": func(p *Problem, _ *Method, _ *STABLE, _ *Options) { *p = larger },
		"samples ξ is 16 in the checkpoint, and 8 here":                                   func(p *Problem, _ *Method, _ *STABLE, _ *Options) { w := newWavy(0.3); w.N = 8; *p = w },
		"method is STABLE in the checkpoint, and tiny here":                               func(_ *Problem, m *Method, _ *STABLE, _ *Options) { *m = smallMethods[0] },
		"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint":                         func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Alpha = Constant(0.1) },
		"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint, and bilevel.Power here": func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Alpha = Power{C: 1} },
		"STABLE.Beta.P is 0.5 in the checkpoint, and 0.25 here":                           func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Beta = Power{C: 0.1, P: 0.25} },
		"STABLE.Tau.first is 0.1 in the checkpoint, and 0.2 here":                         func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Tau = &halving{first: 0.2} },
		"STABLE.Tau is *bilevel.halving in the checkpoint, and nil":                       func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Tau = nil },
		"STABLE.MuG is 0.5 in the checkpoint, and 0.25 here":                              func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.MuG = 0.25 },
		"STABLE.Plain is false in the checkpoint, and true here":                          func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Plain = true },
		"Options.Set is bilevel.Box in the checkpoint, and bilevel.":                      func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Set = Space{} },
		"Options.Set.Hi is 3 entries with checksum":                                       func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Set = UniformBox(3, -1, 2) },
		"Options.X0 is 3 entries with checksum":                                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.X0 = []float64{0, 0.1, 0} },
		"Options.Y0 is 4 entries with checksum":                                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Y0 = []float64{0, 0, 0, 1} },
		"Options.Seed is 9 in the checkpoint, and 10 here":                                func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Seed = 10 },
		"Options.UpperBatch is 1 in the checkpoint, and -1 here":                          func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.UpperBatch = Full },
		"Options.LowerBatch is 1 in the checkpoint, and 2 here":                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.LowerBatch = 2 },
		"Options.Explode is 1e+12 in the checkpoint, and 1000 here":                       func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Explode = 1000 },
	} {
		p, v, o, m := Problem(newWavy(0.3)), base, opt, Method(nil)
		change(&p, &m, &v, &o)
		if m == nil {
			m = v
		}
		s, err := New(p, m, o)
		require.NoError(t, err, want)
		err = s.Load(bytes.NewReader(file))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrForeign, want)
		assert.ErrorContains(t, err, want)
		assert.Zero(t, s.K())
	}
	// A pointer to the method is the method.
	s, err = New(newWavy(0.3), &base, opt)
	require.NoError(t, err)
	require.NoError(t, s.Load(bytes.NewReader(file)))
}

// nested is a schedule that holds others, itself among them.
type nested struct {
	Schedule
	all  []Schedule
	text string
	more map[string]float64
}

// Whatever a schedule of the caller's own holds, its description ends, and tells values apart.
func TestDescribeNested(t *testing.T) {
	text := func(change func(*nested)) string {
		n := &nested{Schedule: Constant(0.1), all: []Schedule{Constant(1), nil, Power{C: 2}},
			more: map[string]float64{"a": 1}}
		change(n)
		s, err := New(newWavy(0), tiny{Alpha: n, Beta: n}, Options{})
		require.NoError(t, err)
		return s.describe()
	}
	base := text(func(*nested) {})
	assert.Equal(t, base, text(func(*nested) {}))
	for want, change := range map[string]func(*nested){
		"tiny.Alpha.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Constant 0.2": func(n *nested) { n.Schedule = Constant(0.2) },
		"tiny.Alpha.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Power here":   func(n *nested) { n.Schedule = Power{C: 0.1} },
		"tiny.Alpha.all is":  func(n *nested) { n.all[2] = Power{C: 3} },
		"tiny.Alpha.text is": func(n *nested) { n.text = "line\nline" },
	} {
		assert.Contains(t, difference(base, text(change)), want)
	}
	assert.Less(t, len(text(func(n *nested) { n.all[1] = n })), 1<<16)
}
