package bilevel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// What the method says is left of F − F*, and its standard error of the hypergradient, are what
// they are in the mean over runs, within 30 %.
func TestUntunedHealthIsHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, o := range map[string]quadratic.Options{
		"base":     noisy(0.5, quadratic.Options{Seed: 21}),
		"g of 100": noisy(0.5, quadratic.Options{Seed: 23, LG: 100, CrossNorm: 5}),
		"f_x":      {Seed: 25, SigmaFx: 0.5},
		"f_x, f_y": {Seed: 27, SigmaFx: 0.5, SigmaFy: 0.1},
		"g_xy":     {Seed: 29, SigmaGxy: 0.5},
	} {
		p, err := quadratic.New(o)
		require.NoError(t, err)
		xs, best := p.Optimum()
		var said, gap, stdErr, slope float64
		const runs = 30
		for seed := range uint64(runs) {
			s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed})
			require.NoError(t, err)
			_, ok := s.Health()
			require.False(t, ok)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: 1000})
			require.NoError(t, err)
			h, ok := s.Health()
			require.True(t, ok)
			grad := make([]float64, len(xs))
			f, err := p.Objective(grad, s.X())
			require.NoError(t, err)
			said, gap = said+h.Gap/runs, gap+(f-best)/runs
			stdErr, slope = stdErr+h.StdErr*h.StdErr/runs, slope+mat.Dot(grad, grad)/runs
			assert.False(t, h.LargeMuG)
			assert.True(t, math.IsNaN(h.LowerBound))
			assert.Less(t, h.Gradient, h.StdErr, "seed %d: x does not follow the root", seed)
		}
		assert.InDelta(t, 1, said/gap, 0.3, "%s: gap", name)
		assert.InDelta(t, 1, stdErr/slope, 0.3, "%s: standard error", name)
	}
}

// A μ_g five times too large is told, and does no harm; the right one is not told.
func TestUntunedLargeMuG(t *testing.T) {
	p, err := quadratic.New(noisy(0.5, quadratic.Options{Seed: 4}))
	require.NoError(t, err)
	_, best := p.Optimum()
	for _, c := range []struct {
		mu   float64
		told bool
	}{{1, false}, {5, true}} {
		s, err := bilevel.New(p, bilevel.Untuned{MuG: c.mu}, bilevel.Options{Seed: 2})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 3000})
		require.NoError(t, err)
		h, ok := s.Health()
		require.True(t, ok)
		assert.Equal(t, c.told, h.LargeMuG)
		assert.Less(t, h.Clipped, 0.1)
		f, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		assert.Less(t, f-best, 3e-4)
		assert.Positive(t, h.LowerBound)
	}
}

// A warning says what was seen, and nothing of eigenvalues raised where none were.
func TestWarningsSayWhatWasSeen(t *testing.T) {
	h := bilevel.Health{MuG: 1e6, LargeMuG: true, Least: 2, LeastErr: 0.1}
	assert.Equal(t, []string{"μ_g = 1e+06 looks too large: the least eigenvalue of g_yy is 2 ± 0.1"}, h.Warnings())
	h.Clipped = 0.9
	assert.Contains(t, h.Warnings()[0], ", and H_yy was raised in 90 % of the late steps")
}

// factorisation is R ≈ XYᵀ of rank 2 for 9 items, x, and 5 users, y: a third of the ratings is for
// f, which is not convex.
func factorisation(t *testing.T) (p bilevel.Problem, x0 []float64) {
	const users, items = 5, 9
	rng := rand.New(rand.NewPCG(11, 4))
	draw := func(n int, size float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = size * rng.NormFloat64()
		}
		return v
	}
	ofUsers, ofItems, noise := draw(2*users, 1), draw(2*items, 1), draw(users*items, 0.1)
	type rating struct {
		user, item int
		r          float64
	}
	var lists [2][]rating // of g and f
	for u := range users {
		for i := range items {
			r := ofUsers[2*u]*ofItems[2*i] + ofUsers[2*u+1]*ofItems[2*i+1] + noise[u*items+i]
			which := 0
			if (u+i)%3 == 0 {
				which = 1
			}
			lists[which] = append(lists[which], rating{u, i, r})
		}
	}
	loss := func(x, y auto.Vec, r rating) auto.Num {
		told := x.Slice(2*r.item, 2*r.item+2).Dot(y.Slice(2*r.user, 2*r.user+2))
		return told.Shift(-r.r).Square().Scale(0.5)
	}
	p, err := auto.New(auto.Losses{
		Dx: 2 * items, Dy: 2 * users, Lower: uint64(len(lists[0])), Upper: uint64(len(lists[1])),
		F: func(x, y auto.Vec, xi bilevel.Sample) auto.Num {
			return loss(x, y, lists[1][xi]).Add(x.SquaredNorm().Scale(0.005))
		},
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			return loss(x, y, lists[0][phi]).Add(y.SquaredNorm().Scale(0.05))
		},
	})
	require.NoError(t, err)
	return p, draw(2*items, 0.5)
}

// A run whose x hardly moves, while its samples tell that ∇F is not 0, says so; one that arrives does
// not. With more samples in step 0, or in a box, all arrive.
func TestSlowIsTold(t *testing.T) {
	p, x0 := factorisation(t)
	seeds := uint64(20)
	if testing.Short() {
		seeds = 8
	}
	told, far, diverged := 0, 0, 0
	for seed := range seeds {
		s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Seed: seed, X0: x0})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 500})
		require.NoError(t, err)
		h, _ := s.Health()
		assert.False(t, h.Slow, "seed %d after 500 steps", seed)
		r, err := s.Run(t.Context(), bilevel.Run{Steps: 5500})
		if err != nil {
			diverged++
			continue
		}
		h, _ = s.Health()
		if h.Gradient > 1e-3 {
			far++
		}
		if h.Slow {
			told++
			require.NotEmpty(t, r.Warnings)
			assert.Contains(t, r.Warnings[len(r.Warnings)-1], "x is slow: the hypergradient is ")
			assert.Greater(t, 2*h.Gradient, h.Before)
			assert.Greater(t, h.Gradient, max(1e-3, 30*h.StdErr))
		}
	}
	t.Logf("of %d runs %d are far, %d of them told, and %d diverged", seeds, far, told, diverged)
	assert.Positive(t, told)
	assert.Less(t, far+diverged, int(seeds))

	for seed := range seeds / 4 {
		for _, m := range []bilevel.Untuned{{InitBatch: 100}, {}} {
			o := bilevel.Options{Seed: seed, X0: x0}
			if m.InitBatch == 0 {
				o.Set = bilevel.UniformBox(len(x0), -5, 5)
			}
			s, err := bilevel.New(p, m, o)
			require.NoError(t, err)
			_, err = s.Run(t.Context(), bilevel.Run{Steps: 6000})
			require.NoError(t, err)
			h, _ := s.Health()
			assert.Less(t, h.Gradient, 1e-3, "seed %d, %+v", seed, m)
			assert.False(t, h.Slow, "seed %d, %+v", seed, m)
		}
	}
}
