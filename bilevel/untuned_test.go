package bilevel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/bilevel/recast"
	"stable/mat"
)

// noisy are options of a quadratic problem with noise of the given size in every derivative.
func noisy(size float64, o quadratic.Options) quadratic.Options {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = size, size, size, size, size
	return o
}

// With exact oracles it arrives, and stays, whatever the conditions: 100 here.
func TestUntunedExact(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for _, batch := range []int{1, bilevel.Full} {
		for seed := range seeds {
			p, err := quadratic.New(quadratic.Options{Seed: seed, LG: 100, LP: 100})
			require.NoError(t, err)
			xs, best := p.Optimum()
			x0 := make([]float64, len(xs))
			first, err := p.Objective(nil, x0)
			require.NoError(t, err)
			s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{X0: x0, UpperBatch: batch, LowerBatch: batch})
			require.NoError(t, err)
			for k := range 3000 {
				require.NoError(t, s.Step())
				if k >= 1000 {
					f, err := p.Objective(nil, s.X())
					require.NoError(t, err)
					require.Less(t, math.Abs(f-best), 1e-12*(first-best), "seed %d, step %d", seed, k)
				}
			}
		}
	}
}

// A step allocates nothing, with tables and without.
func TestUntunedAllocatesNothing(t *testing.T) {
	for _, terms := range []uint64{0, 50} {
		p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 5, Dy: 6, Terms: terms}))
		require.NoError(t, err)
		s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: 1, UpperBatch: 2, LowerBatch: 3})
		require.NoError(t, err)
		for range 300 {
			require.NoError(t, s.Step())
		}
		assert.Zero(t, testing.AllocsPerRun(100, func() { require.NoError(t, s.Step()) }), "%d terms", terms)
	}
}

// On a stream it is at the local asymptotic limit, and its iterates stay in the set: interior, on
// the boundary, and in the flat of a simplex.
func TestUntunedAtTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, set := range map[string]bilevel.Set{
		"space": bilevel.Space{}, "box": bilevel.UniformBox(5, -0.4, 0.4), "nonnegative": bilevel.NonNegative{},
		"ball": bilevel.Ball{Radius: 0.5}, "simplex": bilevel.Simplex{},
	} {
		p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 5, Dy: 5, Seed: 31}))
		require.NoError(t, err)
		x := bestIn(t, p, set)
		best, err := p.Objective(nil, x)
		require.NoError(t, err)
		limit, err := observe.LocalLimit(p, x, observe.LimitOptions{Set: set})
		require.NoError(t, err)
		const runs, steps = 12, 1500
		mean := 0.0
		for seed := range uint64(runs) {
			s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed, Set: set})
			require.NoError(t, err)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: steps})
			require.NoError(t, err)
			inside := make([]float64, len(x))
			set.Project(inside, s.X())
			assert.InDeltaSlice(t, inside, s.X(), 1e-12)
			f, err := p.Objective(nil, s.X())
			require.NoError(t, err)
			mean += (f - best) / runs
		}
		assert.Less(t, mean, 2*limit.At(steps, steps)+1e-12, name)
	}
}

// Once at the limit it stays there, at every step: where F has a condition of 1e4, so that what is
// known of the stiff directions fades while steps go along the soft ones, and where g does not know
// some of the entries.
func TestUntunedStaysAtTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, o := range map[string]quadratic.Options{
		"F of condition 1e4": noisy(0.5, quadratic.Options{Seed: 8007, CrossNorm: 3, LP: 1e4}),
		"blind":              noisy(0.5, quadratic.Options{Seed: 37007, CrossNorm: 3, Blind: 5}),
	} {
		p, err := quadratic.New(o)
		require.NoError(t, err)
		xs, best := p.Optimum()
		limit, err := observe.LocalLimit(p, xs, observe.LimitOptions{})
		require.NoError(t, err)
		for seed := range uint64(8) {
			rng, x0 := rand.New(rand.NewPCG(seed, 's')), make([]float64, len(xs))
			for i := range x0 {
				x0[i] = xs[i] + rng.NormFloat64()
			}
			s, err := bilevel.New(p, bilevel.Untuned{MuG: 1}, bilevel.Options{Seed: seed, X0: x0})
			require.NoError(t, err)
			for k := 1; k <= 2000; k++ {
				require.NoError(t, s.Step())
				if k >= 1000 {
					f, err := p.Objective(nil, s.X())
					require.NoError(t, err)
					require.Less(t, f-best, 30*limit.At(float64(k), float64(k)), "%s: seed %d, step %d", name, seed, k)
				}
			}
		}
	}
}

// Where the noise has no variance, no single sample throws it. Without clipping the mean errors are
// 0.8 and 6e-3.
func TestUntunedHeavyTails(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for nu, bound := range map[float64]float64{1.1: 0.05, 1.5: 4e-3} {
		p, err := quadratic.New(noisy(0.5, quadratic.Options{Seed: 77, CrossNorm: 3, Tail: nu}))
		require.NoError(t, err)
		xs, best := p.Optimum()
		x0 := make([]float64, len(xs))
		const runs = 12
		mean := 0.0
		for seed := range uint64(runs) {
			s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed, X0: x0})
			require.NoError(t, err)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: 1000})
			require.NoError(t, err)
			f, err := p.Objective(nil, s.X())
			require.NoError(t, err)
			mean += (f - best) / runs
		}
		assert.Less(t, mean, bound, "tail %v", nu)
	}
}

// bestIn minimises F over a set by projected gradient steps.
func bestIn(t *testing.T, p *quadratic.Problem, set bilevel.Set) []float64 {
	dx, _ := p.Dims()
	x, grad := make([]float64, dx), make([]float64, dx)
	set.Project(x, x)
	for range 20000 {
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		mat.Axpy(x, -0.05, grad)
		set.Project(x, x)
	}
	return x
}

// The drift correction takes y along y*(x): with exact oracles and a linear y*, y stays on it from
// there, and without the correction it falls behind at the first step.
func TestUntunedDrift(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Seed: 3})
	require.NoError(t, err)
	dx, dy := p.Dims()
	behind := func(a bilevel.Ablation) float64 {
		x0, y0, want := make([]float64, dx), make([]float64, dy), make([]float64, dy)
		x0[0] = 1
		require.NoError(t, p.Solution(y0, x0))
		s, err := bilevel.New(p, bilevel.Untuned{Ablate: a}, bilevel.Options{X0: x0, Y0: y0})
		require.NoError(t, err)
		require.NoError(t, s.Step())
		require.NotEqual(t, x0, s.X())
		require.NoError(t, p.Solution(want, s.X()))
		for i, v := range s.Y() {
			want[i] -= v
		}
		return mat.Norm(want) / mat.Norm(y0)
	}
	assert.Less(t, behind(0), 1e-13)
	assert.Greater(t, behind(bilevel.AblateDrift), 1e-3)
}

// Every piece that can be left out does something, and what is no piece is refused.
func TestUntunedAblations(t *testing.T) {
	p, err := quadratic.New(noisy(3, quadratic.Options{Dx: 4, Dy: 4, Terms: 60, Seed: 5, Blind: 1}))
	require.NoError(t, err)
	run := func(a bilevel.Ablation) []float64 {
		s, err := bilevel.New(p, bilevel.Untuned{MuG: 1, Ablate: a}, bilevel.Options{Seed: 1})
		require.NoError(t, err)
		r, err := s.Run(t.Context(), bilevel.Run{Steps: 300})
		require.NoError(t, err)
		return r.X
	}
	whole := run(0)
	for a := bilevel.AblateUpper; a < bilevel.AblateRecall; a <<= 1 {
		assert.NotEqual(t, whole, run(a), "%#x", uint(a))
	}
	_, err = bilevel.New(p, bilevel.Untuned{Ablate: bilevel.AblateRecall << 1}, bilevel.Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "Untuned.Ablate")
	for _, m := range []bilevel.Untuned{{MuG: -1}, {MuG: math.NaN()}, {InitBatch: -2}} {
		_, err := bilevel.New(p, m, bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
	}
}

// A wide x is no reason to be slow: from 200 samples of each kind on it is at the limit with more
// entries of x than samples. Steps by the gradient alone are at 80 times the limit by then.
func TestUntunedWide(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 200, Dy: 10, CrossNorm: 3, Seed: 32}))
	require.NoError(t, err)
	xs, best := p.Optimum()
	limit, err := observe.LocalLimit(p, xs, observe.LimitOptions{Draws: 200})
	require.NoError(t, err)
	run := func(a bilevel.Ablation) float64 {
		rng, x0 := rand.New(rand.NewPCG(1, 's')), make([]float64, len(xs))
		for i := range x0 {
			x0[i] = xs[i] + rng.NormFloat64()
		}
		s, err := bilevel.New(p, bilevel.Untuned{Ablate: a}, bilevel.Options{Seed: 1, X0: x0})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 190})
		require.NoError(t, err)
		f, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		return (f - best) / limit.At(200, 200)
	}
	assert.Less(t, run(0), 3.0)
	assert.Greater(t, run(bilevel.AblateCurvature), 50.0)
}

// Entries of x that g does not know are part of the curvature, and at the limit as soon as the
// others. Moved by the gradient alone they are behind.
func TestUntunedBlind(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p, err := quadratic.New(noisy(0.1, quadratic.Options{Dx: 12, Dy: 10, CrossNorm: 3, Blind: 6, Seed: 24}))
	require.NoError(t, err)
	xs, best := p.Optimum()
	limit, err := observe.LocalLimit(p, xs, observe.LimitOptions{})
	require.NoError(t, err)
	const runs, steps = 10, 200
	mean := func(a bilevel.Ablation) (sum float64) {
		for seed := range uint64(runs) {
			rng, x0 := rand.New(rand.NewPCG(seed, 's')), make([]float64, len(xs))
			for i := range x0 {
				x0[i] = xs[i] + rng.NormFloat64()
			}
			s, err := bilevel.New(p, bilevel.Untuned{Ablate: a}, bilevel.Options{Seed: seed, X0: x0})
			require.NoError(t, err)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: steps})
			require.NoError(t, err)
			f, err := p.Objective(nil, s.X())
			require.NoError(t, err)
			sum += (f - best) / runs / limit.At(steps, steps)
		}
		return sum
	}
	whole := mean(0)
	assert.Less(t, whole, 1.6)
	assert.Greater(t, mean(bilevel.AblateBlind), 1.5*whole)
}

// A y of many entries does not hold x and y back: what it costs to measure κ_g does not grow with
// d_y. Where d_y steps had to outweigh its start, it was at 13 times the limit here.
func TestUntunedTall(t *testing.T) {
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Dx: 20, Dy: 60, CrossNorm: 3, Seed: 51}))
	require.NoError(t, err)
	xs, best := p.Optimum()
	limit, err := observe.LocalLimit(p, xs, observe.LimitOptions{Draws: 500})
	require.NoError(t, err)
	const steps = 190
	rng, x0 := rand.New(rand.NewPCG(1, 's')), make([]float64, len(xs))
	for i := range x0 {
		x0[i] = xs[i] + rng.NormFloat64()
	}
	s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: 1, X0: x0})
	require.NoError(t, err)
	_, err = s.Run(t.Context(), bilevel.Run{Steps: steps})
	require.NoError(t, err)
	f, err := p.Objective(nil, s.X())
	require.NoError(t, err)
	assert.Less(t, f-best, 4*limit.At(steps, steps))
}

// Where the noise of moving decides, as on rows of data, past samples take it away. A stream whose
// noise is the same everywhere asks for none.
func TestUntunedPastSamples(t *testing.T) {
	run := func(p bilevel.Problem, m bilevel.Untuned, opt bilevel.Options, steps int) *bilevel.Solver {
		s, err := bilevel.New(p, m, opt)
		require.NoError(t, err)
		for range steps {
			require.NoError(t, s.Step())
		}
		return s
	}
	calm, err := quadratic.New(quadratic.Options{Seed: 1, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1})
	require.NoError(t, err)
	whole := run(calm, bilevel.Untuned{}, bilevel.Options{}, 500)
	without := run(calm.Clone(), bilevel.Untuned{Ablate: bilevel.AblateRecall}, bilevel.Options{}, 500)
	assert.Less(t, float64(whole.Counts().GradF), 1.02*float64(without.Counts().GradF))
	assert.Less(t, float64(whole.Counts().GradG), 1.02*float64(without.Counts().GradG))

	d, err := data.Open("../testdata/breast_cancer.csv", data.ReadOptions{LabelColumn: "diagnosis"})
	require.NoError(t, err)
	d, err = data.Standardise(d).Apply(d)
	require.NoError(t, err)
	parts, err := d.SplitStratified(1, 1, 1)
	require.NoError(t, err)
	p, err := hyperopt.New(parts[0], parts[1], hyperopt.Options{Form: hyperopt.Exp, Lo: math.Log(2e-4), Hi: math.Log(2)})
	require.NoError(t, err)
	best, err := p.Minimise()
	require.NoError(t, err)
	lo, hi := p.Box()
	gap := func(pieces bilevel.Ablation) (sum float64) {
		for seed := range uint64(2) {
			rng := rand.New(rand.NewPCG(seed, 's'))
			x0, y0 := make([]float64, len(lo)), make([]float64, len(lo))
			for i := range x0 {
				x0[i], y0[i] = lo[i]+rng.Float64()*(hi[i]-lo[i]), rng.NormFloat64()
			}
			s := run(recast.Stream(p.Clone()), bilevel.Untuned{MuG: p.StrongConvexity(), Ablate: pieces},
				bilevel.Options{X0: x0, Y0: y0, Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: seed}, 1000)
			v, err := p.Objective(nil, s.X())
			require.NoError(t, err)
			sum += v - best.F
		}
		return sum
	}
	if testing.Short() {
		t.Skip("long")
	}
	assert.Less(t, gap(0), gap(bilevel.AblateRecall)/2)
}
