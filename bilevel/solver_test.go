package bilevel

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/mat"
)

var plain = STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.1}

// A derivative that is not finite ends the run at that step, names the quantity, and leaves the
// last good iterate.
func TestStepNotFinite(t *testing.T) {
	for _, quantity := range []string{"f_x", "f_y", "g_y", "H_xy", "H_yy"} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, after := range []int{0, 7, 8} {
				f := &faulty{Problem: newWavy(0.1), Quantity: quantity, After: after, Fault: func(v []float64) error { v[len(v)-1] = bad; return nil }}
				s, err := New(f, plain, Options{Seed: 1})
				require.NoError(t, err)
				var x, y []float64
				for range 20 {
					x, y = append(x[:0], s.X()...), append(y[:0], s.Y()...)
					if err = s.Step(); err != nil {
						break
					}
				}
				var d *DivergedError
				require.ErrorAs(t, err, &d, "%s %v", quantity, bad)
				require.ErrorIs(t, err, ErrDiverged)
				assert.Equal(t, s.K(), d.Step)
				assert.Contains(t, d.Quantity, quantity)
				assert.Equal(t, x, s.X())
				assert.Equal(t, y, s.Y())
				assert.Equal(t, err, s.Step(), "a failed run goes on")

				r, err2 := s.Run(context.Background(), Run{Steps: 5})
				assert.Equal(t, err, err2)
				assert.Equal(t, Failed, r.Reason)
				assert.Equal(t, x, r.X)
			}
		}
	}
}

// Growth beyond Options.Explode is divergence, too.
func TestStepExplodes(t *testing.T) {
	s, err := New(newWavy(0), STABLE{Alpha: Constant(0.1), Beta: Constant(50), MuG: 0.1, Plain: true},
		Options{Explode: 1e6})
	require.NoError(t, err)
	r, err := s.Run(context.Background(), Run{Steps: 1000})
	var d *DivergedError
	require.ErrorAs(t, err, &d)
	assert.Greater(t, d.Value, 1e6)
	assert.Contains(t, []string{"‖y − y⁰‖", "‖x − x⁰‖"}, d.Quantity)
	assert.LessOrEqual(t, mat.Norm(r.Y), 1e6)
	assert.Equal(t, Failed, r.Reason)
	assert.Equal(t, d.Step, r.Steps)
}

// An oracle's error or panic arrives with the oracle's name and the step.
func TestStepOracleFails(t *testing.T) {
	boom := errors.New("no more data")
	for quantity, oracle := range map[string]string{"f_x": "GradF", "g_y": "GradG", "H_xy": "CrossG", "H_yy": "HessG"} {
		for name, fault := range map[string]func([]float64) error{
			"error": func([]float64) error { return boom },
			"panic": func([]float64) error { panic(boom) },
		} {
			f := &faulty{Problem: newWavy(0.1), Quantity: quantity, After: 5, Fault: fault}
			s, err := New(f, plain, Options{})
			require.NoError(t, err)
			r, err := s.Run(context.Background(), Run{Steps: 20})
			var o *OracleError
			require.ErrorAs(t, err, &o, name)
			assert.Equal(t, oracle, o.Oracle)
			assert.Equal(t, s.K(), o.Step)
			assert.Equal(t, s.X(), r.X)
			if name == "error" {
				assert.ErrorIs(t, err, boom)
				continue
			}
			var p *PanicError
			require.ErrorAs(t, err, &p)
			assert.Equal(t, boom, p.Value)
			assert.Contains(t, string(p.Stack), "spoil")
		}
	}
}

// A panic of the caller's own set is not the problem's fault, and does not end the process either.
func TestStepForeignPanic(t *testing.T) {
	s, err := New(newWavy(0), plain, Options{Set: panicSet{}})
	require.NoError(t, err)
	err = s.Step()
	var e *StepError
	var p *PanicError
	require.ErrorAs(t, err, &e)
	require.ErrorAs(t, err, &p)
	assert.Equal(t, StepError{Step: 0, Method: "STABLE", Err: p}, *e)
	assert.Equal(t, "mine", p.Value)
	assert.Contains(t, string(p.Stack), "panicSet")
	assert.Equal(t, make([]float64, 3), s.X())
	assert.Equal(t, err, s.Step())
}

type panicSet struct{ Space }

func (panicSet) Project(dst, x []float64) {
	if copy(dst, x); x[0] != 0 {
		panic("mine")
	}
}

// shaped is a problem of other dimensions.
type shaped struct {
	Problem
	dx, dy int
}

func (p shaped) Dims() (int, int) { return p.dx, p.dy }

func TestNewRefuses(t *testing.T) {
	nan := math.NaN()
	with := func(f func(m *STABLE)) STABLE { m := plain; f(&m); return m }
	for _, c := range []struct {
		want string
		m    Method
		opt  Options
	}{
		{"a problem and a method", nil, Options{}},
		{"STABLE.ScaleX is -1", with(func(m *STABLE) { m.ScaleX = -1 }), Options{}},
		{"STABLE.ScaleY is NaN", with(func(m *STABLE) { m.ScaleY = nan }), Options{}},
		{"STABLE.Alpha at step 0 is -1", with(func(m *STABLE) { m.Alpha = Constant(-1) }), Options{}},
		{"STABLE.Beta at step 0 is NaN", with(func(m *STABLE) { m.Beta = Constant(nan) }), Options{}},
		{"STABLE.Beta at step 0 is +Inf", with(func(m *STABLE) { m.Beta = Constant(math.Inf(1)) }), Options{}},
		{"STABLE.Tau at step 0 is 1.5", with(func(m *STABLE) { m.Tau = Constant(1.5) }), Options{}},
		{"MuG is 0", with(func(m *STABLE) { m.MuG = 0 }), Options{}},
		{"MuG is -2", with(func(m *STABLE) { m.MuG = -2 }), Options{}},
		{"MuG is NaN", with(func(m *STABLE) { m.MuG = nan }), Options{}},
		{"CGxy is -1", with(func(m *STABLE) { m.CGxy = -1 }), Options{}},
		{"CGxy is NaN", with(func(m *STABLE) { m.CGxy = nan }), Options{}},
		{"STABLE.Trust is -1", with(func(m *STABLE) { m.Trust = -1 }), Options{}},
		{"STABLE.Trust is NaN", with(func(m *STABLE) { m.Trust = nan }), Options{}},
		{"STABLE.InitBatch is -3", with(func(m *STABLE) { m.InitBatch = -3 }), Options{}},
		{"Options.UpperBatch is -2", plain, Options{UpperBatch: -2}},
		{"Options.LowerBatch is -2", plain, Options{LowerBatch: -2}},
		{"Options.Explode is NaN", plain, Options{Explode: nan}},
		{"Options.X0 has length 2, want 3", plain, Options{X0: make([]float64, 2)}},
		{"Options.Y0 has length 3, want 4", plain, Options{Y0: make([]float64, 3)}},
		{"Options.X0 is NaN at index 1", plain, Options{X0: []float64{0, nan, 0}}},
		{"Options.Y0 is -Inf at index 3", plain, Options{Y0: []float64{0, 0, 0, math.Inf(-1)}}},
		{"X0 is not in the feasible set: entry 2 is 7",
			plain, Options{X0: []float64{0, 0, 7}, Set: UniformBox(3, 0, 1)}},
		{"Box has 2 lower", plain, Options{Set: UniformBox(2, 0, 1)}},
	} {
		_, err := New(newWavy(0), c.m, c.opt)
		require.ErrorIs(t, err, ErrOption, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := New(shaped{newWavy(0), 0, 3}, plain, Options{})
	assert.ErrorContains(t, err, "dx = 0, dy = 3")
	_, err = New(shaped{newWavy(0), 3, 0}, plain, Options{})
	assert.ErrorContains(t, err, "dx = 3, dy = 0")
	_, err = New(nil, plain, Options{})
	assert.ErrorIs(t, err, ErrOption)
}

// A schedule that leaves its range later is refused at that step.
func TestStepBadSchedule(t *testing.T) {
	s, err := New(newWavy(0), STABLE{Alpha: bileveltest.Turn{K: 4, V: math.NaN()}, Beta: Constant(0.1), MuG: 0.1},
		Options{})
	require.NoError(t, err)
	r, err := s.Run(context.Background(), Run{Steps: 10})
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, "at step 4 are α = NaN")
	assert.Equal(t, 4, r.Steps)
}

func TestStepAllocates(t *testing.T) {
	s, err := New(quiet{Wavy: newWavy(0.5)},
		STABLE{Alpha: Constant(0.01), Beta: Constant(0.1), Tau: Constant(1), MuG: 0.9,
			CGxy: 1.2}, Options{Set: UniformBox(3, 0, 1)})
	require.NoError(t, err)
	steps := 0
	step := func() {
		if err := s.Step(); err != nil {
			panic(err)
		}
		steps++
	}
	for range 20 {
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(100, step))
	assert.Greater(t, s.Activity().Truncated, 10)
	assert.Less(t, s.Activity().Truncated, steps)
}

// The same seed gives the same bits; another seed another run; the step loop and Run agree.
func TestRunReproducible(t *testing.T) {
	run := func(seed uint64, loop bool) []float64 {
		s, err := New(newWavy(0.3), plain, Options{Seed: seed, UpperBatch: 2})
		require.NoError(t, err)
		if loop {
			for range 50 {
				require.NoError(t, s.Step())
			}
		} else {
			_, err = s.Run(context.Background(), Run{Steps: 50})
			require.NoError(t, err)
		}
		return append(append([]float64(nil), s.X()...), s.Y()...)
	}
	assert.Equal(t, run(1, false), run(1, true))
	assert.NotEqual(t, run(1, false), run(2, false))
}

func TestRunStops(t *testing.T) {
	start := func() *Solver {
		m := plain
		m.InitBatch = 3
		s, err := New(newWavy(0), m, Options{UpperBatch: 2, LowerBatch: 3})
		require.NoError(t, err)
		return s
	}
	ctx := context.Background()

	r, err := start().Run(ctx, Run{Steps: 7, Xi: 1000, Phi: 1000})
	require.NoError(t, err)
	assert.Equal(t, StepLimit, r.Reason)
	assert.Equal(t, 7, r.Steps)

	r, err = start().Run(ctx, Run{Xi: 9})
	require.NoError(t, err)
	assert.Equal(t, SampleLimit, r.Reason)
	assert.Equal(t, uint64(10), r.Counts.Xi)

	s := start()
	r, err = s.Run(ctx, Run{Phi: 9})
	require.NoError(t, err)
	assert.Equal(t, SampleLimit, r.Reason)
	assert.Equal(t, uint64(9), r.Counts.Phi)
	r, err = s.Run(ctx, Run{Steps: 2}) // and on
	require.NoError(t, err)
	assert.Equal(t, 2, r.Steps)
	assert.Equal(t, 5, s.K())

	calls := 0
	r, err = start().Run(ctx, Run{Every: 3, Progress: func(s *Solver) bool { calls++; return s.K() < 9 }})
	require.NoError(t, err)
	assert.Equal(t, ByProgress, r.Reason)
	assert.Equal(t, []int{9, 3}, []int{r.Steps, calls})

	r, err = start().Run(ctx, Run{Time: time.Microsecond})
	require.NoError(t, err)
	assert.Equal(t, TimeLimit, r.Reason)

	gone, cancel := context.WithCancelCause(ctx)
	r, err = start().Run(gone, Run{Progress: func(s *Solver) bool {
		if s.K() == 4 {
			cancel(errors.New("enough"))
		}
		return true
	}})
	assert.EqualError(t, err, "enough")
	assert.Equal(t, Canceled, r.Reason)
	assert.Equal(t, 4, r.Steps)

	exact, err := New(newWavy(0.1), plain, Options{UpperBatch: Full, LowerBatch: Full})
	require.NoError(t, err)
	r, err = exact.Run(ctx, Run{Tol: 1e-9, Window: 10, Steps: 100000})
	require.NoError(t, err)
	assert.Equal(t, ToleranceMet, r.Reason)
	gy := make([]float64, 4)
	require.NoError(t, newWavy(0.1).GradG(gy, r.X, r.Y, nil))
	assert.Less(t, mat.Norm(gy), 1e-8)

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
		r, err := start().Run(ctx, bad)
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
		assert.Zero(t, r.Counts)
	}
	assert.Equal(t, "tolerance met", ToleranceMet.String())
	assert.Equal(t, "failed", Failed.String())
	assert.Equal(t, "time limit", TimeLimit.String())
	assert.Equal(t, "Reason(9)", (Arrived + 1).String())
	assert.Equal(t, "Reason(-1)", Reason(-1).String())
}

// indexing is a sum whose Streams gives 0 terms: it takes the seed of a sample for an index.
type indexing struct {
	Problem
	oracle string
	at     func(s Sample)
}

func (p indexing) Streams() (upper, lower uint64) { return 0, 0 }

func (p indexing) GradF(fx, fy, x, y []float64, xi []Sample) error {
	if p.oracle == "GradF" {
		p.at(xi[0])
	}
	return p.Problem.GradF(fx, fy, x, y, xi)
}

func (p indexing) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	if p.oracle == "HessG" {
		p.at(phi[0])
	}
	return p.Problem.HessG(gyy, x, y, phi)
}

// An index that is the seed of a stream is told to be one, and which stream has no size; another
// mistake with an index is not.
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
		s, err := New(indexing{newWavy(0), c.oracle, c.at}, plain, Options{})
		require.NoError(t, err)
		err = s.Step()
		require.ErrorContains(t, err, "bilevel: oracle "+c.oracle+" failed at step 0: panic: ")
		if c.want == "" {
			assert.NotContains(t, err.Error(), "seed")
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
	p := &PanicError{Value: "index out of range [5925276558585711546] with length 12"} // in a sum that has its size
	assert.Equal(t, "panic: index out of range [5925276558585711546] with length 12", p.Error())
}

// reshaping is a problem whose matrices come back changed in more than their entries.
type reshaping struct {
	Problem
	dense func(m *mat.Dense)
	sym   func(m *mat.Sym)
}

func (p reshaping) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	err := p.Problem.CrossG(gxy, x, y, phi)
	p.dense(gxy)
	return err
}

func (p reshaping) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	err := p.Problem.HessG(gyy, x, y, phi)
	p.sym(gyy)
	return err
}

func TestReshapedMatrixIsRefused(t *testing.T) {
	dense, sym := func(*mat.Dense) {}, func(*mat.Sym) {}
	for want, p := range map[string]reshaping{
		"CrossG failed":              {dense: func(m *mat.Dense) { m.Rows-- }, sym: sym},
		"CrossG failed at":           {dense: func(m *mat.Dense) { m.Cols, m.Stride = 1, 1 }, sym: sym},
		"CrossG failed at step":      {dense: func(m *mat.Dense) { m.Data = append([]float64{1}, m.Data[1:]...) }, sym: sym},
		"HessG failed":               {dense: dense, sym: func(m *mat.Sym) { m.N-- }},
		"HessG failed at":            {dense: dense, sym: func(m *mat.Sym) { m.Stride++ }},
		"oracle HessG failed at ste": {dense: dense, sym: func(m *mat.Sym) { m.Data = nil }},
	} {
		p.Problem = newWavy(0)
		for _, m := range []Method{plain, products{}} {
			s, err := New(p, m, Options{})
			require.NoError(t, err)
			require.ErrorContains(t, s.Step(), want)
			require.ErrorIs(t, s.Step(), errReshaped)
		}
	}
}

// products is a method that asks for products alone.
type products struct{ drawing }

func (products) Start(*Iteration) (Stepper, error) { return products{}, nil }

func (products) Step(it *Iteration) error {
	x, y := make([]float64, 3), make([]float64, 4)
	return errors.Join(it.Oracle().CrossVecG(x, it.X(), it.Y(), y, nil),
		it.Oracle().HessVecG(make([]float64, 4), it.X(), it.Y(), y, nil))
}
