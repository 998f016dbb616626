package bilevel

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/mat"
)

var plain = STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.1}

// A bad number, error or panic of an oracle ends the run there and keeps the last iterate.
func TestStepFails(t *testing.T) {
	boom := errors.New("no more data")
	for quantity, oracle := range map[string]string{
		"f_x": "GradF", "f_y": "GradF", "g_y": "GradG", "H_xy": "CrossG", "H_yy": "HessG",
	} {
		for name, fault := range map[string]func(v []float64) error{
			"NaN":   func(v []float64) error { v[len(v)-1] = math.NaN(); return nil },
			"+Inf":  func(v []float64) error { v[len(v)-1] = math.Inf(1); return nil },
			"error": func([]float64) error { return boom }, "panic": func([]float64) error { panic(boom) },
		} {
			for _, after := range []int{0, 7, 8} {
				s := newSolver(t, &faulty{Problem: newWavy(0.1), Quantity: quantity, After: after, Fault: fault}, plain,
					Options{Seed: 1})
				var x, y []float64
				var err error
				for k := 0; err == nil && k < 20; k++ {
					x, y = slices.Clone(s.X()), slices.Clone(s.Y())
					err = s.Step()
				}
				var d *DivergedError
				var o *OracleError
				var p *PanicError
				if name == "NaN" || name == "+Inf" {
					require.ErrorAs(t, err, &d)
					require.ErrorIs(t, err, ErrDiverged)
					assert.Equal(t, s.K(), d.Step)
					assert.Contains(t, d.Quantity, quantity)
					assert.True(t, after > 0 || math.IsNaN(d.Value) == (name == "NaN"), "%s: %v", quantity, d.Value)
					assert.Contains(t, err.Error(), "an oracle without a value at a point returns ErrDomain")
				} else {
					require.ErrorAs(t, err, &o)
					assert.Equal(t, OracleError{s.K(), oracle, o.Err}, *o)
					assert.Equal(t, name == "error", errors.Is(err, boom))
				}
				if name == "panic" {
					require.ErrorAs(t, err, &p)
					assert.Equal(t, boom, p.Value)
					assert.Contains(t, string(p.Stack), "spoil")
					assert.Regexp(t, `panic: no more data \(solver_test\.go:\d+\)$`, err.Error())
				}
				assert.Equal(t, [][]float64{x, y}, [][]float64{s.X(), s.Y()})
				r, again := s.Run(t.Context(), Run{Steps: 5})
				assert.Equal(t, err, again, "a failed run goes on")
				assert.Equal(t, Failed, r.Reason)
			}
		}
	}
}

type shaped struct {
	Problem
	dx, dy int
}

func (p shaped) Dims() (int, int) { return p.dx, p.dy }

type shapeless struct {
	Space
	err error
}

func (shapeless) Project(dst, x []float64) {
	if copy(dst, x); x[0] != 1 {
		dst[0] = math.NaN()
	}
}
func (s shapeless) Validate(int) error { return s.err }

func TestNewRefuses(t *testing.T) {
	nan, with := math.NaN(), func(f func(m *STABLE)) STABLE { m := plain; f(&m); return m }
	for _, c := range []struct {
		want string
		m    Method
		opt  Options
	}{
		{"a problem and a method", nil, Options{}},
		{"STABLE.ScaleX is -1", STABLE{MuG: 1, ScaleX: -1}, Options{}},
		{"STABLE.ScaleY is NaN", STABLE{MuG: 1, ScaleY: nan}, Options{}},
		{"STABLE.ScaleY is +Inf", STABLE{MuG: 1, ScaleY: math.Inf(1)}, Options{}},
		{"MuG is 0", with(func(m *STABLE) { m.MuG = 0 }), Options{}},
		{"STABLE.Trust is 1, and STABLE.Plain makes it void", with(func(m *STABLE) { m.Trust, m.Plain = 1, true }), Options{}},
		{"STABLE.ScaleX is 1, and STABLE.Alpha makes", with(func(m *STABLE) { m.ScaleX = 1 }), Options{}},
		{"STABLE.ScaleY is 1, and STABLE.Beta makes", with(func(m *STABLE) { m.ScaleY = 1 }), Options{}},
		{"Options.UpperBatch is -2", plain, Options{UpperBatch: -2}},
		{"Options.LowerBatch is -2", plain, Options{LowerBatch: -2}},
		{"Options.Explode is NaN", plain, Options{Explode: nan}},
		{"Options.X0 has length 2, want 3", plain, Options{X0: make([]float64, 2)}},
		{"Options.Y0 has length 3, want 4", plain, Options{Y0: make([]float64, 3)}},
		{"Options.X0 is NaN at index 1", plain, Options{X0: []float64{0, nan, 0}}},
		{"Options.Y0 is -Inf at index 3", plain, Options{Y0: []float64{0, 0, 0, math.Inf(-1)}}},
		{"X0 is not in the feasible set: entry 2 is 7", plain, Options{X0: []float64{0, 0, 7}, Set: UniformBox(3, 0, 1)}},
		{"X0 is not in the feasible set: entry 0 is 5e-10", plain, Options{X0: []float64{5e-10, 0, 0}, Set: UniformBox(3, 0, 1e-12)}},
		{"Options.Set, a bilevel.shapeless, projects onto a point that is NaN at index 0", plain, Options{Set: shapeless{}}},
		{"Options.Set, a bilevel.shapeless: " + ErrMissing.Error(), plain, Options{Set: shapeless{err: ErrMissing}}},
		{"Box has 2 lower", plain, Options{Set: UniformBox(2, 0, 1)}},
	} {
		_, err := New(newWavy(0), c.m, c.opt)
		require.ErrorIs(t, err, ErrOption, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	for _, m := range []STABLE{plain, {MuG: 0.1}} {
		err := newSolver(t, newWavy(0), m, Options{Set: onlyEuclid{shapeless{}}, X0: []float64{1, 0, 0}}).Step()
		require.ErrorContains(t, err, "step 0: entry 0 of a projection by Options.Set, a bilevel.onlyEuclid, is NaN")
	}
	_, err := New(shaped{newWavy(0), 3, 0}, plain, Options{})
	assert.ErrorContains(t, err, "dx = 3, dy = 0")
	_, err = New(nil, plain, Options{})
	assert.ErrorIs(t, err, ErrOption)
}

func TestRunStops(t *testing.T) {
	m := plain
	m.InitBatch = 3
	start := func() *Solver { return newSolver(t, newWavy(0), m, Options{UpperBatch: 2, LowerBatch: 3}) }
	calls := 0
	progress := func(s *Solver) bool {
		calls++
		return s.K() < 9
	}
	for _, c := range []struct {
		run   Run
		want  Reason
		steps int
	}{
		{Run{Steps: 7, Xi: 1000, Phi: 1000}, StepLimit, 7},
		{Run{Xi: 10}, SampleLimit, 5},
		{Run{Phi: 9}, SampleLimit, 3},
		{Run{Every: 3, Progress: progress}, ByProgress, 9},
		{Run{Time: time.Nanosecond}, TimeLimit, 1},
	} {
		s := start()
		r := bileveltest.Must(s.Run(t.Context(), c.run))
		assert.Equal(t, c.want, r.Reason)
		assert.Equal(t, c.steps, r.Steps, c.want)
		assert.Equal(t, []uint64{2 * uint64(c.steps), 3 * uint64(c.steps)}, []uint64{r.Counts.Xi, r.Counts.Phi})
		assert.Equal(t, [][]float64{s.X(), s.Y(), s.Mean()}, [][]float64{r.X, r.Y, r.Mean})
		spent := bileveltest.Must(s.Run(t.Context(), Run{Xi: 2, Steps: 9}))
		assert.Equal(t, []any{SampleLimit, 0}, []any{spent.Reason, spent.Steps})
		on := bileveltest.Must(s.Run(t.Context(), Run{Steps: 2}))
		assert.Equal(t, []int{2, c.steps + 2}, []int{on.Steps, s.K()})
		assert.True(t, r.X[0] != on.X[0] && r.Y[0] != on.Y[0] && r.Mean[0] != on.Mean[0], "a result changes afterwards")
	}
	assert.Equal(t, 3, calls)

	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := start().Run(ctx, Run{Every: 4, Progress: func(*Solver) bool {
		cancel(errors.New("enough"))
		return true
	}})
	assert.EqualError(t, err, "enough")
	assert.Equal(t, Canceled, r.Reason)
	assert.Equal(t, 4, r.Steps)

	exact := newSolver(t, newWavy(0.1), plain, Options{UpperBatch: Full, LowerBatch: Full})
	r = bileveltest.Must(exact.Run(t.Context(), Run{Tol: 1e-9, Window: 10, Steps: 100000}))
	assert.Equal(t, ToleranceMet, r.Reason)
	gy := make([]float64, 4)
	require.NoError(t, newWavy(0.1).GradG(gy, r.X, r.Y, nil))
	assert.Less(t, mat.Norm(gy), 1e-8)
	assert.Empty(t, r.Warnings)
	r = bileveltest.Must(newSolver(t, newWavy(0), STABLE{Alpha: Constant(0), Beta: Constant(0), MuG: 0.1}, Options{}).Run(t.Context(), Run{Steps: 3}))
	assert.Equal(t, []string{"x has not left the start: it is stationary, the run too short, or no value there (Options.X0, Y0)"}, r.Warnings)

	for want, bad := range map[string]Run{
		"no stop rule":     {},
		"Run.Steps is -1":  {Steps: -1},
		"Run.Tol is NaN":   {Tol: math.NaN()},
		"Run.Window is -1": {Steps: 1, Window: -1},
		"Run.Every is -2":  {Steps: 1, Every: -2},
		"Run.Time is -1ns": {Time: -1},
		"Run.Gap is +Inf":  {Gap: math.Inf(1)},
		"Run.Gap is 1, but STABLE does not tell how much of F − F* is left": {Gap: 1},
	} {
		r, err := start().Run(context.Background(), bad)
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, []any{Counts{}, []string(nil)}, []any{r.Counts, r.Warnings})
	}
	for r, want := range map[Reason]string{ToleranceMet: "tolerance met", Failed: "failed", TimeLimit: "time limit",
		Arrived + 1: "Reason(9)", -1: "Reason(-1)"} {
		assert.Equal(t, want, r.String())
	}
}

type watching struct {
	Problem
	ctx    context.Context
	cancel func()
}

func (w watching) GradG([]float64, []float64, []float64, []Sample) error {
	w.cancel()
	return w.ctx.Err()
}

// No run goes on from the middle of a rule.
func TestOracleWatchesTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSolver(t, watching{newWavy(0.1), ctx, cancel}, plain, Options{})
	for range 2 {
		r, err := s.Run(ctx, Run{Steps: 3})
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorAs(t, err, new(*OracleError))
		assert.Equal(t, Failed, r.Reason)
		ctx = t.Context()
	}
}

func TestExplodeWithoutBound(t *testing.T) {
	m := plain
	m.Plain, m.Beta = true, Constant(1e300)
	s := newSolver(t, newWavy(0), m, Options{Explode: math.Inf(1), Y0: []float64{1e10, 1, 1, 1}})
	r, err := s.Run(t.Context(), Run{Steps: 1})
	assert.ErrorIs(t, err, ErrDiverged, "%v", r.Y)
}

// hooked is a problem of streams without end that does something else in the matrices and GradF.
type hooked struct {
	Problem
	f     func(xi Sample)
	cross func(gxy *mat.Dense)
	hess  func(gyy *mat.Sym, phi Sample)
}

func newHooked() hooked {
	return hooked{newWavy(0), func(Sample) {}, func(*mat.Dense) {}, func(*mat.Sym, Sample) {}}
}

func (hooked) Streams() (upper, lower uint64)                            { return 0, 0 }
func (p hooked) GradF(_, _, _, _ []float64, xi []Sample) error           { p.f(xi[0]); return nil }
func (p hooked) CrossG(gxy *mat.Dense, _, _ []float64, _ []Sample) error { p.cross(gxy); return nil }
func (p hooked) HessG(gyy *mat.Sym, _, _ []float64, phi []Sample) error {
	p.hess(gyy, phi[0])
	return nil
}

// An index that is the seed of a stream is told to be one; another mistake with an index is not.
func TestForgottenSize(t *testing.T) {
	data, rows := make([]float64, 12), mat.NewDense(4, 3)
	xi, phi := "a sample ξ is a seed of 64 bits here, and no index, because Streams gives 0 for it; a finite sum must "+
		"give its number of terms there (in package auto: Losses.Upper)", "a sample φ is a seed"
	for _, c := range []struct {
		oracle, want string
		at           func(s Sample)
	}{
		{"GradF", xi, func(s Sample) { data[s]++ }},
		{"GradF", xi, func(s Sample) { data[int(s)]++ }},
		{"HessG", phi, func(s Sample) { clear(data[3*s : 3*s+3]) }},
		{"HessG", phi, func(s Sample) { clear(data[:s]) }},
		{"HessG", phi, func(s Sample) { rows.Row(int(s))[0]++ }},
		{"GradF", "", func(Sample) { data[len(data)]++ }},
		{"HessG", "", func(Sample) { panic("mine") }},
		{"HessG", "", func(s Sample) { data = make([]float64, s|1<<60) }},
	} {
		p := newHooked()
		if c.oracle == "GradF" {
			p.f = c.at
		} else {
			p.hess = func(_ *mat.Sym, s Sample) { c.at(s) }
		}
		err := newSolver(t, p, plain, Options{}).Step()
		require.ErrorContains(t, err, "bilevel: oracle "+c.oracle+" failed at step 0: panic: ")
		assert.ErrorContains(t, err, " (solver_test.go:", "not of package mat")
		if c.want == "" {
			assert.NotContains(t, err.Error(), "seed")
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
	p := &PanicError{Value: "index out of range [5925276558585711546] with length 12"}
	assert.Equal(t, "panic: index out of range [5925276558585711546] with length 12", p.Error())
}

func TestReshapedMatrixIsRefused(t *testing.T) {
	asking := drawing{func(it *Iteration) error {
		x, y, phi := make([]float64, 3), make([]float64, 4), it.DrawPhi(0)
		return errors.Join(it.Oracle().CrossVecG(x, it.X(), it.Y(), y, phi),
			it.Oracle().HessVecG(make([]float64, 4), it.X(), it.Y(), y, phi))
	}}
	for i, spoil := range []func(a *mat.Dense, b *mat.Sym){
		func(a *mat.Dense, _ *mat.Sym) { a.Rows-- }, func(a *mat.Dense, _ *mat.Sym) { a.Cols-- },
		func(a *mat.Dense, _ *mat.Sym) { a.Stride-- }, func(a *mat.Dense, _ *mat.Sym) { a.Data = slices.Clone(a.Data) },
		func(_ *mat.Dense, b *mat.Sym) { b.N-- }, func(_ *mat.Dense, b *mat.Sym) { b.Stride++ },
		func(_ *mat.Dense, b *mat.Sym) { b.Data = nil },
	} {
		p, oracle := newHooked(), "CrossG"
		p.cross = func(a *mat.Dense) { spoil(a, &mat.Sym{}) }
		p.hess = func(b *mat.Sym, _ Sample) { spoil(&mat.Dense{}, b) }
		if i > 3 {
			oracle = "HessG"
		}
		for _, m := range []Method{plain, asking} {
			s := newSolver(t, p, m, Options{})
			require.ErrorContains(t, s.Step(), "oracle "+oracle+" failed at step 0")
			require.ErrorIs(t, s.Step(), errReshaped)
		}
	}
}

func TestPower(t *testing.T) {
	for _, p := range []float64{0, 0.5, 1, 1.0 / 3} {
		for _, k := range []int{0, 1, 10, 1e6} {
			assert.InEpsilon(t, 3/math.Pow(float64(k)+1, p), Power{C: 3, P: p}.At(k), 1e-14)
			assert.InEpsilon(t, 3/math.Pow(float64(k)+20, p), Power{C: 3, K0: 20, P: p}.At(k), 1e-14)
		}
	}
	assert.Equal(t, "0.1/(k+1)^0.5", Power{C: 0.1, P: 0.5}.String())
}

// narrowing says after k steps that 1/k is left, but for a relapse.
type narrowing struct {
	drawing
	k       *int
	relapse int
}

func (c narrowing) Start(*Iteration) (Stepper, error) { return c, nil }

func (c narrowing) Step(it *Iteration) error {
	*c.k = it.K() + 1
	return nil
}

func (c narrowing) Health() Health {
	if *c.k == c.relapse {
		return Health{Gap: 1}
	}
	return Health{Gap: 1 / float64(*c.k)}
}

func TestWindow(t *testing.T) {
	steps := func(window, relapse int) int {
		s := newSolver(t, newWavy(0), narrowing{k: new(int), relapse: relapse}, Options{})
		r := bileveltest.Must(s.Run(t.Context(), Run{Gap: 1e-2, Window: window, Steps: 5000}))
		require.Equal(t, GapReached, r.Reason)
		return r.Steps
	}
	assert.Equal(t, 100, steps(1, 0))
	assert.InDelta(t, 304, steps(200, 0), 5)
	assert.GreaterOrEqual(t, steps(200, 256), 258+199, "it began anew after 256")

	creep := drawing{func(it *Iteration) error {
		it.NextX()[0] += map[bool]float64{false: 1e-9, true: 1}[it.K() == 4]
		return it.UseSteps(1, 1, 0)
	}}
	r := bileveltest.Must(newSolver(t, newWavy(0), creep, Options{}).Run(t.Context(), Run{Tol: 1e-3, Window: 7, Steps: 99}))
	assert.Equal(t, 12, r.Steps)
}
