package bilevel

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type nested struct {
	Schedule
	all  []Schedule
	text string
	more map[string]float64
	f    func() float64
}

type (
	bare    string
	wrapped struct{ Method }
)

func (b bare) Name() string                    { return string(b[:6]) }
func (bare) Start(*Iteration) (Stepper, error) { return drawing{}, nil }

func TestForeignIsRefused(t *testing.T) {
	type run struct {
		p   *wavy
		m   Method
		s   STABLE
		tau *nested
		o   Options
	}
	change := func(f func(r *run)) *Solver {
		r := run{p: newWavy(0.3), o: Options{Seed: 9, Set: UniformBox(3, -1, 1)},
			tau: &nested{Schedule: Constant(0.1), all: []Schedule{Constant(1), nil, Power{C: 2}},
				more: map[string]float64{"a": 1}, f: func() float64 { return 1 }}}
		r.s = STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, Tau: r.tau, MuG: 0.5}
		if f(&r); r.m == nil {
			r.m = r.s
		}
		return newSolver(t, r.p, r.m, r.o)
	}
	s := change(func(*run) {})
	steps(t, s, 2)
	file := saved(t, s)
	for _, c := range []struct {
		want   string
		change func(r *run)
	}{
		{"dy is 4 in the checkpoint, and 5 here", func(r *run) { r.p.Dy, r.p.N = 5, 20 }},
		{"samples ξ is 16 in the checkpoint, and 8 here", func(r *run) { r.p.N = 8 }},
		{"method is STABLE in the checkpoint, and method here", func(r *run) { r.m = bare("method") }},
		{"type is stable/bilevel.STABLE in the checkpoint, and stable/bilevel.bare here",
			func(r *run) { r.m = bare("STABLE") }},
		{"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint", func(r *run) { r.s.Alpha = Constant(0.1) }},
		{"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint, and bilevel.Power here",
			func(r *run) { r.s.Alpha = Power{C: 1} }},
		{"STABLE.Beta.P is 0.5 in the checkpoint, and 0.25 here", func(r *run) { r.s.Beta = Power{C: 0.1, P: 0.25} }},
		{"STABLE.Tau is *bilevel.nested in the checkpoint, and nil", func(r *run) { r.s.Tau = nil }},
		{"STABLE.Tau.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Const",
			func(r *run) { r.tau.Schedule = Constant(0.2) }},
		{"STABLE.Tau.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Power",
			func(r *run) { r.tau.Schedule = Power{C: 0.1} }},
		{"STABLE.Tau.all is ", func(r *run) { r.tau.all[2] = Power{C: 3} }},
		{"STABLE.Tau.text is ", func(r *run) { r.tau.text = "line\nline" }},
		{"STABLE.MuG is 0.5 in the checkpoint, and 0.25 here", func(r *run) { r.s.MuG = 0.25 }},
		{"STABLE.Plain is false in the checkpoint, and true here", func(r *run) { r.s.Plain = true }},
		{"Options.Set is bilevel.Box in the checkpoint, and bilevel", func(r *run) { r.o.Set = Space{} }},
		{"Options.Set.Hi is 3 entries with checksum", func(r *run) { r.o.Set = UniformBox(3, -1, 2) }},
		{"Options.X0 is 3 entries with checksum", func(r *run) { r.o.X0 = []float64{0, 0.1, 0} }},
		{"Options.Y0 is 4 entries with checksum", func(r *run) { r.o.Y0 = []float64{0, 0, 0, 1} }},
		{"Options.Seed is 9 in the checkpoint, and 10 here", func(r *run) { r.o.Seed = 10 }},
		{"Options.UpperBatch is 1 in the checkpoint, and -1 here", func(r *run) { r.o.UpperBatch = Full }},
		{"Options.LowerBatch is 1 in the checkpoint, and 2 here", func(r *run) { r.o.LowerBatch = 2 }},
		{"Options.Explode is 1e+12 in the checkpoint, and 1000 here", func(r *run) { r.o.Explode = 1000 }},
	} {
		s := change(c.change)
		err := s.Load(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrForeign, c.want)
		assert.ErrorContains(t, err, c.want)
		assert.Zero(t, s.K())
	}
	for _, same := range []func(r *run){
		func(*run) {},
		func(r *run) { r.m = &r.s }, // a pointer to the method is the method
		func(r *run) { r.tau.more, r.tau.f = nil, nil },
	} {
		require.NoError(t, change(same).Load(bytes.NewReader(file)))
	}
	itself := change(func(r *run) { r.tau.all[1] = r.tau })
	assert.Less(t, len(itself.describe()), 1<<16)

	describe := func(m Method) string { return change(func(r *run) { r.m = m }).describe() }
	assert.Equal(t, `bare is "method 1" in the checkpoint, and "method 2" here`,
		difference(describe(bare("method 1")), describe(bare("method 2"))))
	assert.Contains(t, difference(describe(wrapped{STABLE{MuG: 1}}), describe(wrapped{STABLE{MuG: 2}})),
		"wrapped.Method.MuG is 1")
}
