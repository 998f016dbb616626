package saa_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/bilevel/units"
	"stable/mat"
)

func noisy(size float64, o quadratic.Options) quadratic.Options {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = size, size, size, size, size
	if o.CrossNorm == 0 {
		o.CrossNorm = 3
	}
	return o
}

func reps(full, short uint64) uint64 {
	if testing.Short() {
		return short
	}
	return full
}

func solved(t *testing.T, p bilevel.Problem, m bilevel.Method, o bilevel.Options, run bilevel.Run) (*bilevel.Solver, bilevel.Result) {
	t.Helper()
	s := bileveltest.Must(bilevel.New(p, m, o))
	r := bileveltest.Must(s.Run(t.Context(), run))
	return s, r
}

func health(s *bilevel.Solver) bilevel.Health {
	h, _ := s.Health()
	return h
}

func stationary(t *testing.T, p bilevel.Truth, set bilevel.Set, x []float64, exact float64) {
	t.Helper()
	grad, to := make([]float64, len(x)), slices.Clone(x)
	bileveltest.Must(p.Objective(grad, x))
	mat.Axpy(to, -1, grad)
	set.Project(to, to)
	assert.InDeltaSlice(t, x, to, exact, "%T", set)
}

// nearX is a g whose y* is x.
func nearX(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(x).SquaredNorm() }
func vec(a ...float64) auto.Vec                      { return auto.Data(a) }

func start(x []float64, seed uint64) []float64 {
	rng, x0 := rand.New(rand.NewPCG(seed, 's')), slices.Clone(x)
	for i := range x0 {
		x0[i] += rng.NormFloat64()
	}
	return x0
}

// On streams the mean error is the least that the samples allow, within what 24 runs can tell.
func TestStreamsAtTheLimit(t *testing.T) {
	t.Parallel()
	const runs = 24
	marks := []uint64{300, 1000, 5000}[:reps(3, 1)]
	for name, o := range map[string]quadratic.Options{
		"base":      noisy(0.5, quadratic.Options{Seed: 61}),
		"loud":      noisy(5, quadratic.Options{Seed: 62}),
		"quiet":     noisy(1e-3, quadratic.Options{Seed: 63}),
		"saddle":    noisy(0.5, quadratic.Options{Seed: 64, Saddle: true, CrossNorm: 0.5}),
		"g of 1e6":  noisy(0.5, quadratic.Options{Seed: 65, LG: 1e6}),
		"rank one":  {Seed: 66, CrossNorm: 3, RankOneG: true, SigmaFx: 0.5, SigmaFy: 0.5, SigmaGy: 0.5},
		"few knobs": noisy(0.5, quadratic.Options{Seed: 67, Dx: 2, Dy: 12})} {
		p := bileveltest.Must(quadratic.New(o))
		x, best := p.Optimum()
		limit := bileveltest.Must(observe.LocalLimit(p, x, observe.LimitOptions{Seed: 1, Draws: 4000}))
		ratio := make([]float64, len(marks))
		for seed := range uint64(runs) {
			s := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{X0: start(x, seed), Seed: seed}))
			for i, n := range marks {
				r := bileveltest.Must(s.Run(t.Context(), bilevel.Run{Xi: n}))
				require.Equal(t, n, r.Counts.Xi)
				ratio[i] += (bileveltest.Must(p.Objective(nil, r.X)) - best) / limit.At(float64(n), float64(n)) / runs
			}
			assert.Less(t, s.Counts().Evaluations(), 60*s.Counts().Phi, name)
		}
		for i, r := range ratio {
			assert.InDelta(t, 0, math.Log(r), 0.7, "%s after %d samples: %.2f times the limit", name, marks[i], r)
		}
	}
}

type plain struct{ bilevel.Set }

func TestSumsArrive(t *testing.T) {
	for name, set := range map[string]bilevel.Set{
		"space": bilevel.Space{}, "box": bilevel.UniformBox(10, -0.3, 0.3), "ball": bilevel.Ball{Radius: 0.5},
		"simplex": bilevel.Simplex{}, "half-space": bilevel.HalfSpace{A: slices.Repeat([]float64{1}, 10), B: -1},
		"nonnegative": bilevel.NonNegative{}, "other": plain{bilevel.Ball{Radius: 0.5}}} {
		for _, o := range []quadratic.Options{
			noisy(1, quadratic.Options{Seed: 71, Terms: 200}), noisy(1, quadratic.Options{Seed: 72, Terms: 200, Nonconvex: 1}),
		} {
			p := bileveltest.Must(quadratic.New(o))
			_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: 1, Set: set}, bilevel.Run{Phi: 200 * 60})
			exact := 1e-7 // differences of a projection tell the face of another set
			if _, bounds := set.(bilevel.BoundedSet); bounds {
				exact = 1e-8
				assert.Equal(t, bilevel.Arrived, r.Reason, name)
			}
			stationary(t, p, set, r.X, exact)
		}
	}
}

type unexact struct{ *quadratic.Problem }

func (p unexact) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if len(xi) == 0 {
		return bilevel.ErrNoExact
	}
	return p.Problem.GradF(fx, fy, x, y, xi)
}

func TestSumWithoutExactOracles(t *testing.T) {
	p := bileveltest.Must(quadratic.New(noisy(1, quadratic.Options{Seed: 73, Terms: 100})))
	_, r := solved(t, unexact{p}, saa.Newton{}, bilevel.Options{Seed: 1}, bilevel.Run{Phi: 100 * 20})
	x, _ := p.Optimum()
	assert.InDeltaSlice(t, x, r.X, 1e-9)
	_, want := solved(t, uneven{unexact{p}}, saa.Newton{}, bilevel.Options{}, bilevel.Run{Steps: 200})
	s, _ := solved(t, uneven{unexact{p}}, saa.Newton{}, bilevel.Options{}, bilevel.Run{Steps: 90})
	file := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.SaveFile(file))
	s, err := bilevel.New(uneven{unexact{p}}, saa.Newton{}, bilevel.Options{})
	require.NoError(t, errors.Join(err, s.LoadFile(file)))
	got := bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 110}))
	assert.Equal(t, want.Counts, got.Counts)
}

type uneven struct{ unexact }

func (uneven) Streams() (xi, phi uint64) { return 60, 100 }

// Scaling every entry of x, y, f and g by powers of two scales every iterate alike, bit for bit.
func TestUnits(t *testing.T) {
	for _, terms := range []uint64{0, 60} {
		p := bileveltest.Must(quadratic.New(noisy(1, quadratic.Options{Seed: 74, Dx: 4, Dy: 5, Terms: terms, Blind: 1})))
		u := units.Units{X: []float64{0x1p-20, 4, 1, 0x1p30}, Y: []float64{0x1p20, 2, 1, 0x1p-9, 8}, F: 8, G: 0x1p-6}
		q := bileveltest.Must(units.In(p, u))
		lo, hi := []float64{-1, -9, -1, -1}, []float64{1, 9, 0.2, 9}
		x, y := make([]float64, 4), make([]float64, 5)
		scaled := bilevel.Box{Lo: make([]float64, 4), Hi: make([]float64, 4)}
		q.X(scaled.Lo, lo)
		q.X(scaled.Hi, hi)
		one := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{Set: bilevel.Box{Lo: lo, Hi: hi}}))
		two := bileveltest.Must(bilevel.New(q, saa.Newton{}, bilevel.Options{Set: scaled}))
		for range 600 {
			require.NoError(t, one.Step())
			require.NoError(t, two.Step())
			q.X(x, one.X())
			require.Equal(t, x, two.X(), "%d terms, step %d", terms, one.K())
			for j, v := range one.Y() {
				y[j] = v * u.Y[j]
			}
			require.Equal(t, y, two.Y(), "%d terms, step %d", terms, one.K())
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, terms := range []uint64{0, 40} {
		p := bileveltest.Must(quadratic.New(noisy(1, quadratic.Options{Seed: 75, Terms: terms})))
		s := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(10, -1, 1)}))
		for range 4000 {
			require.NoError(t, s.Step())
		}
		assert.Zero(t, testing.AllocsPerRun(3000, func() { _ = s.Step() }), "%d terms", terms)
	}
}

// interrupting hides products, and calls cancel at a call of GradG.
func interrupting(p bilevel.Problem, at int, cancel func()) bilevel.Problem {
	return &bileveltest.Faulty[bilevel.Sample]{Problem: p, Quantity: "g_y", After: at - 1, Fault: func([]float64) error {
		cancel()
		return nil
	}}
}

// A run that is interrupted inside a long step, saved there and loaded, ends with the same bits.
func TestInterruptedInAStep(t *testing.T) {
	var each, at []int
	for k := 0; k < 100; k += int(reps(1, 3)) {
		each, at = append(each, max(1+k, 9*k-300)), append(at, 10+40*k)
	}
	for _, o := range []quadratic.Options{{Seed: 76, Nonconvex: 1}, {Dx: 4, Dy: 5, Seed: 3}, {Dx: 3, Dy: 2, Seed: 5, Nonconvex: 1}} {
		o.CrossNorm = 1
		p := bileveltest.Must(quadratic.New(noisy(1, o)))
		resumes(t, p, saa.Newton{}, bilevel.Options{Seed: 9, Set: bilevel.NonNegative{}}, bilevel.Run{Phi: 700}, each, int(reps(20, 6)))
		resumes(t, p, saa.Newton{}, bilevel.Options{Seed: 9}, bilevel.Run{Phi: 15}, each, 3) // in its last step
	}
	p := bileveltest.Must(quadratic.New(noisy(1, quadratic.Options{Seed: 85, Nonconvex: 9, Dx: 3, Dy: 2})))
	s := resumes(t, p, saa.ByProducts{Newton: saa.Newton{Calls: 8}}, bilevel.Options{Seed: 3, Set: bilevel.UniformBox(3, -9, 9)},
		bilevel.Run{Xi: 3000}, at, int(reps(20, 6)))
	assert.Zero(t, testing.AllocsPerRun(1500, func() { _ = s.Step() }))
}

// resumes interrupts runs at calls of GradG, at least so many of them inside; it returns a whole run.
func resumes(t *testing.T, q bilevel.Problem, m bilevel.Method, o bilevel.Options, run bilevel.Run, calls []int,
	least int) *bilevel.Solver {
	p := interrupting(q, 0, func() {})
	whole, want := solved(t, p, m, o, run)
	one, steps := run, bileveltest.Must(bilevel.New(p, m, o))
	for _, at := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		s := bileveltest.Must(bilevel.New(interrupting(q, at, cancel), m, o))
		r, err := s.Run(ctx, run)
		if cancel(); err == nil {
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, bilevel.Canceled, r.Reason)
		file := filepath.Join(t.TempDir(), "run")
		require.NoError(t, s.SaveFile(file))
		r = bileveltest.Must(s.Run(t.Context(), run))
		assert.Equal(t, want.X, r.X, "at call %d", at)
		s = bileveltest.Must(bilevel.New(p, m, o))
		require.NoError(t, s.LoadFile(file))
		again := bileveltest.Must(bilevel.New(p, m, o))
		require.NoError(t, again.LoadFile(file))
		assert.Equal(t, health(s).Gap, health(again).Gap, "Run.Gap must not stop on what a checkpoint left out")
		for one.Steps = 1; steps.K() <= s.K(); {
			bileveltest.Must(steps.Run(t.Context(), one))
		}
		bileveltest.Must(again.Run(t.Context(), one))
		size, _ := steps.StepSizes()
		alpha, _ := again.StepSizes()
		assert.Equal(t, size, alpha, "at call %d", at)
		before, loaded := health(steps), health(again)
		assert.Equal(t, []float64{before.StdErr, before.Gap}, []float64{loaded.StdErr, loaded.Gap}, "at call %d", at)
		got := bileveltest.Must(again.Run(t.Context(), run))
		assert.Equal(t, want.X, got.X, "at call %d", at)
		assert.Equal(t, want.Y, got.Y, "at call %d", at)
		least--
	}
	assert.LessOrEqual(t, least, 0)
	return whole
}

// Run.Gap stops where it says: of 30 runs 28 have at most three times the gap left.
func TestGapStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o   quadratic.Options
		gap float64
	}{
		{noisy(0.5, quadratic.Options{Seed: 77}), 1e-3},
		{noisy(0.5, quadratic.Options{Seed: 78, Nonconvex: 1}), 1e-3},
		{noisy(10, quadratic.Options{Seed: 52, CrossNorm: 3}), 0.1},
		{noisy(1e-3, quadratic.Options{Seed: 53, CrossNorm: 3}), 1e-9},
		{noisy(0.5, quadratic.Options{Seed: 55, CrossNorm: 3, LP: 1e4}), 1e-4},
		{noisy(0.5, quadratic.Options{Seed: 56, CrossNorm: 3, Terms: 200}), 1e-4},
		{quadratic.Options{Seed: 57, LG: 100, LP: 100}, 1e-12}}[:reps(7, 2)] {
		p := bileveltest.Must(quadratic.New(c.o))
		x, best := p.Optimum()
		var left []float64
		for seed := range uint64(30) {
			_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed, X0: start(x, seed)}, bilevel.Run{Gap: c.gap, Steps: 20000})
			require.Contains(t, []bilevel.Reason{bilevel.GapReached, bilevel.Arrived}, r.Reason, "%+v: seed %d", c.o, seed)
			left = append(left, (bileveltest.Must(p.Objective(nil, r.X))-best)/c.gap)
		}
		slices.Sort(left)
		assert.Less(t, left[27], 3., "%+v", c.o)
		assert.Less(t, left[15], 1.2, "%+v", c.o)
	}
}

// The health of a start that is a saddle, of a singular g_yy, and how far y is from y*(x).
func TestHealth(t *testing.T) {
	t.Parallel()
	p := bileveltest.Must(quadratic.New(noisy(0.5, quadratic.Options{Seed: 79})))
	x, _ := p.Optimum()
	within := 0
	for seed := range uint64(40) {
		s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed, X0: start(x, seed)}, bilevel.Run{Xi: 1000})
		y := make([]float64, 10)
		require.NoError(t, p.Solution(y, s.X()))
		mat.Axpy(y, -1, s.Y())
		if off := mat.Norm(y) / health(s).Lower; off > 1./3 && off < 3 {
			within++
		}
	}
	assert.GreaterOrEqual(t, within, 38)
}

func saddle(c float64, terms uint64) *auto.Problem {
	return bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: terms, Lower: terms,
		F: func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.WeightedSquares(vec(0.5, -0.5)) },
		G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.WeightedSquares(vec(c/2, 0.5)) }}))
}

// A saddle is told, or left where the set consists of bounds, and a singular g_yy is told; Run.Gap stops at none.
func TestSilentStarts(t *testing.T) {
	box := bilevel.UniformBox(2, -1, 1)
	for want, p := range map[string]*auto.Problem{"strongly convex": saddle(0, 20),
		"F does not change with 2 of the entries of x where the run is, such as x[0]": saddle(1, 0)} {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: box}, bilevel.Run{Gap: 1e-3, Steps: 200})
		assert.NotEqual(t, bilevel.GapReached, r.Reason)
		assert.Contains(t, strings.Join(r.Warnings, "; "), want)
	}
	for k, set := range []bilevel.Set{bilevel.Ball{Radius: 1}, box, box} {
		m := []bilevel.Method{saa.Newton{}, saa.Newton{}, saa.ByProducts{}}[k]
		_, r := solved(t, saddle(1, 20), m, bilevel.Options{Set: set}, bilevel.Run{Gap: 1e-3, Steps: 200})
		assert.Equal(t, k < 1, r.Reason != bilevel.GapReached && strings.Contains(strings.Join(r.Warnings, "; "), "saddle"))
		assert.Equal(t, k < 1, r.X[1] == 0)
	}
	tracks := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(x.Slice(0, y.Len())).SquaredNorm() }
	for seed := range uint64(20) {
		a, b, x0 := make([]float64, 4), make([]float64, 4), make([]float64, 5)
		rng := rand.New(rand.NewPCG(seed, 'b'))
		for i := range a {
			a[i], b[i], x0[i] = -rng.ExpFloat64(), 2*rng.NormFloat64(), rng.NormFloat64()/4
			if seed < 9 { // on the sphere F does not change
				a[i], b[i] = -1, 0
			}
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 5, Dy: 4, Upper: 9, Lower: 9, G: tracks,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num {
				return y.WeightedSquares(auto.Data(a)).Add(y.Dot(auto.Data(b)))
			}}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.Ball{Radius: 1}, X0: x0}, bilevel.Run{Steps: 200})
		assert.Empty(t, r.Warnings)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, G: tracks,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm().Neg() }}))
	for k, set := range []bilevel.Set{nil, bilevel.Simplex{}} { // h presses x against the simplex
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set}, bilevel.Run{Gap: 1e-3, Steps: 200})
		assert.Equal(t, bilevel.StepLimit, r.Reason)
		assert.Equal(t, k == 0, strings.Contains(strings.Join(r.Warnings, "; "), "F does not change with 3"))
	}
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-3).SquaredNorm() },
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return y.Sub(x).Sub(vec(noise(i, 0), 0)).SquaredNorm() }}))
	_, r := solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Steps: 5000})
	assert.Empty(t, r.Warnings)
	for _, n := range []uint64{0, 64} { // y* is 1 + x², so that x is still where F is least
		p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: n, Lower: n,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() },
			G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
				return y.Sub(x.Mul(x)).Shift(noise(i, 0)/3 - 1).SquaredNorm()
			}}))
		_, r = solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{1}}, bilevel.Run{Steps: 3000})
		assert.Empty(t, r.Warnings)
	}
	_, r = solved(t, saddle(-1, 0), saa.ByProducts{}, bilevel.Options{}, bilevel.Run{Gap: 1e-3, Steps: 200})
	assert.Equal(t, bilevel.StepLimit, r.Reason)
}

// y* at the start is rounding.
func TestCentred(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		b, sum := make([]float64, 3+rng.IntN(40)), 0.0
		for i := range b {
			b[i] = rng.NormFloat64() * []float64{1, 7777.7}[seed%2]
			sum += b[i]
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 1, Lower: uint64(len(b)),
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Softplus().Sub(y.At(0).Scale(0.7)) },
			G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
				return y.Sub(x).At(0).Shift(sum/float64(len(b)) - b[i]).Square()
			}}))
		n := []int{1, bilevel.Full}[seed/2%2]
		ctx, cancel := context.WithCancel(t.Context()) // while the first samples are read
		s := bileveltest.Must(bilevel.New(interrupting(p, 6, cancel), saa.Newton{}, bilevel.Options{Seed: seed, UpperBatch: n, LowerBatch: n}))
		_, err := s.Run(ctx, bilevel.Run{Steps: 1000})
		require.ErrorIs(t, err, context.Canceled)
		r := bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 1000}))
		assert.InDelta(t, math.Log(7./3), r.X[0], 1e-6, "seed %d", seed)
	}
}

func TestGraded(t *testing.T) {
	for _, set := range []bilevel.Set{bilevel.Space{}, bilevel.UniformBox(2, -1e7, 1e7)} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 1, Lower: 1, G: nearX,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Mul(vec(1e-6, 1e4)).Shift(-1).SquaredNorm() }}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set}, bilevel.Run{Steps: 50, Gap: 1e-6})
		assert.InDeltaSlice(t, []float64{1, 1}, []float64{r.X[0] / 1e6, r.X[1] * 1e4}, 1e-5)
	}
}

func TestGapOnABall(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 4, Dy: 1, F: func(x, _ auto.Vec, xi bilevel.Sample) auto.Num {
		rng := rand.New(rand.NewPCG(uint64(xi), 9))
		return x.Dot(vec(1+rng.NormFloat64(), 1+rng.NormFloat64(), 1+rng.NormFloat64(), 1+rng.NormFloat64()))
	}, G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() }}))
	off, told := 0.0, 0.0
	for seed := range uint64(20) {
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.Ball{Radius: 1}, Seed: seed}, bilevel.Run{Xi: 2000})
		off += 2 + r.X[0] + r.X[1] + r.X[2] + r.X[3]
		told += health(s).Gap
	}
	assert.InDelta(t, 0, math.Log(off/told), math.Log(2))
	far := bileveltest.Must(units.In(bileveltest.Must(quadratic.New(noisy(0.3, quadratic.Options{Dx: 4, Dy: 3}))),
		units.Units{ShiftX: []float64{1e6, 1e6, 1e6, 1e6}}))
	for seed := range uint64(5) {
		_, r := solved(t, far, saa.Newton{}, bilevel.Options{Set: bilevel.Ball{Radius: 1e7}, Seed: seed}, bilevel.Run{Xi: 2000, Gap: 1e-7})
		assert.NotEqual(t, bilevel.GapReached, r.Reason)
	}
}

// Nor is Gap 0 where noise may hold x at a bound: 18 of these stopped there.
func TestGapAtABound(t *testing.T) {
	t.Parallel()
	away, bow := 0.0, 1.0
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, F: func(x, _ auto.Vec, i bilevel.Sample) auto.Num {
		return x.Sum().Scale(noise(i, 9) + away - 0.02).Add(x.SquaredNorm().Scale(bow / 2))
	}, G: func(_, y auto.Vec, i bilevel.Sample) auto.Num { return y.Shift(noise(i, 8) - 1).SquaredNorm() }}))
	early := 0
	for seed := range reps(60, 20) {
		set := [...]bilevel.Set{bilevel.UniformBox(1, 0, 1), bilevel.HalfSpace{A: []float64{-1}}}[seed%2]
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set, Seed: seed}, bilevel.Run{Gap: 1e-5, Xi: 9000})
		if r.Reason == bilevel.GapReached {
			early++
		}
	}
	assert.Less(t, early, 5) // 11 of 300 by chance
	for seed := range uint64(9) {
		away, bow = 1, float64(seed/2%2)
		set := [...]bilevel.Set{bilevel.UniformBox(1, 0, 1), bilevel.NonNegative{}}[seed%2]
		s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Set: set, X0: []float64{0.5}, Seed: seed}, bilevel.Run{Xi: 9000})
		assert.Less(t, health(s).Gap, 1e-5)
	}
	away, bow = 0.05, 1 // its row is never asked
	s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(1, 0, 1), X0: []float64{0}}, bilevel.Run{Xi: 9000})
	assert.Less(t, health(s).Gap, 0.01)
	q := bileveltest.Must(quadratic.New(noisy(0.5, quadratic.Options{Dx: 3, Dy: 3})))
	best, _ := q.Optimum()
	for seed := range uint64(6) { // an entry that its bounds fix
		set := bilevel.Box{Lo: []float64{-9, best[1], -9}, Hi: []float64{9, best[1], 9}}
		s, _ := solved(t, q, saa.Newton{}, bilevel.Options{Set: set, Seed: seed}, bilevel.Run{Xi: 500})
		assert.Less(t, health(s).Gap, 1.0, "seed %d", seed)
	}
}

// Nor is it 0 where samples do not tell that y* feels x_0: of 20 runs 9 stopped there.
func TestGapOfWhatIsNotKnown(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 1, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		return x.Shift(-1).At(1).Square().Sub(y.At(0)).Add(x.At(0).Square().Scale(0.01))
	}, G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
		return y.At(0).Sub(x.At(0).Scale(0.02 + noise(i, 5))).Add(x.At(1).Scale(0.1)).Shift(noise(i, 6)).Square()
	}}))
	for seed := range uint64(20) {
		set := [...]bilevel.Set{bilevel.Space{}, bilevel.UniformBox(2, -5, 5)}[seed%2]
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set, Seed: seed}, bilevel.Run{Xi: 2000, Gap: 1e-4})
		assert.NotEqual(t, bilevel.GapReached, r.Reason, "seed %d", seed)
	}
}

// Where f is a sum and g a stream, no passes follow: noise is told from failure, as on streams.
func TestSumBesideAStream(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 400, F: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
		return y.Shift(noise(i, 7) - 2).SquaredNorm().Add(x.At(0).Mul(x.At(1)).Scale(0.1))
	}, G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
		e := math.Exp(noise(i, 8))
		return y.At(0).Sub(x.At(0).Square().Scale(e)).Square().Add(y.At(1).Sub(x.At(1).Neg().Exp().Scale(e)).Square())
	}}))
	evaluations := uint64(0)
	for seed := range uint64(8) {
		s, _ := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{1, 1}, Seed: seed, Set: bilevel.UniformBox(2, 0, 5)}, bilevel.Run{Phi: 2000})
		evaluations += s.Counts().Evaluations()
	}
	assert.Less(t, evaluations, uint64(16000*34), "36 where y settles closer than it is known, 55 where noise fails")
}

// Where y* jumped, y settles though u is small: 2 of 10 stayed at their start.
func TestYElsewhere(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		return y.Shift(1).SquaredNorm().Add(x.Shift(-3).SquaredNorm())
	}, G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		return y.Scale(0.2).Exp().Sum().Add(y.Sub(x).Shift(rng.NormFloat64() / math.Sqrt(rng.ExpFloat64())).SquaredNorm().Scale(0.1))
	}}))
	for seed := range uint64(10) {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: 100 + seed}, bilevel.Run{Xi: 60})
		assert.Greater(t, r.X[0], 0.2, "seed %d", seed)
	}
}

// On a factorisation B is asked of more samples than at first, after an interruption, too.
func TestFactorisationResumes(t *testing.T) {
	t.Parallel()
	const dx, dy = 20, 8
	entry := func(a, b auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		r := rand.New(rand.NewPCG(uint64(s), side))
		i, j := r.IntN(dx), r.IntN(dy)
		want := 0.5*float64((1+i%3)*(1+j%2)) + r.NormFloat64()
		return a.At(i).Mul(b.At(j)).Shift(-want).Square().Scale(dx / 2)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: dy,
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return entry(x, y, s, 0) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return entry(x, y, s, 1).Add(y.SquaredNorm().Scale(0.05))
		}}))
	o := bilevel.Options{X0: slices.Repeat([]float64{1}, dx), Seed: 1}
	resumes(t, p, saa.Newton{}, o, bilevel.Run{Xi: 4000}, []int{5000}, 1)
	o.Seed = 49 // credit ends with what a step to be done again asked of B
	resumes(t, p, saa.Newton{Calls: 8}, o, bilevel.Run{Xi: 800}, []int{2500, 3500, 4300, 4350, 4400, 4450}, 2)
}

func TestCalls(t *testing.T) {
	p := bileveltest.Must(quadratic.New(noisy(0.5, quadratic.Options{Seed: 80, Nonconvex: 1})))
	for _, bad := range []float64{-1, 4, math.NaN(), math.Inf(1)} {
		_, err := bilevel.New(p, saa.Newton{Calls: bad}, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
		require.ErrorContains(t, err, "Newton.Calls")
	}
	for _, m := range []bilevel.Method{saa.Newton{Calls: 8}, saa.ByProducts{Newton: saa.Newton{Calls: 8}}} {
		s, _ := solved(t, p, m, bilevel.Options{}, bilevel.Run{Xi: 20000})
		assert.Less(t, s.Counts().Evaluations(), uint64(16*20000))
		_, r := solved(t, p, m, bilevel.Options{UpperBatch: 1000, LowerBatch: 1000}, bilevel.Run{Steps: 19})
		assert.EqualValues(t, 19000, r.Counts.Xi, "blocks are of whole batches")
	}
	p = bileveltest.Must(quadratic.New(noisy(0, quadratic.Options{Seed: 80, Nonconvex: 1})))
	s, _ := solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Xi: 2000})
	assert.Less(t, s.Counts().Evaluations(), uint64(20*2000), "no sample differs")
	_, err := bilevel.New(many{p}, saa.Newton{}, bilevel.Options{Set: bilevel.Simplex{}})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.False(t, errors.Is(err, bilevel.ErrDiverged))
}

// many has more entries of x than the method keeps a matrix for, and so needs bounds.
type many struct{ *quadratic.Problem }

func (many) Dims() (dx, dy int) { return 5000, 10 }

// TestBudgetEndsABlock: the answer is a mean.
func TestBudgetEndsABlock(t *testing.T) {
	for _, dx := range []int{1, 201} {
		seen := map[bilevel.Sample]float64{}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: dx, G: nearX, F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
			seen[xi] = 3 + noise(xi, 0)
			return y.Shift(-seen[xi]).SquaredNorm()
		}}))
		for _, n := range []uint64{100, 1003} {
			clear(seen)
			_, r := solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Xi: n})
			sum := 0.0
			for _, v := range seen {
				sum += v
			}
			assert.InDelta(t, sum/float64(n), r.X[0], 1e-9, "%d samples, dx %d", n, dx)
		}
	}
}
