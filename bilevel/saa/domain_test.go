package saa_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/mat"
)

func noise(s bilevel.Sample, side uint64) float64 {
	return rand.New(rand.NewPCG(uint64(s), side)).NormFloat64()
}

// ridge has a weight exp(x_i) for each of five features, of which some do not matter, and no bounds.
func ridge(t *testing.T, seed, terms uint64) *auto.Problem {
	rng := rand.New(rand.NewPCG(seed, 1))
	beta := []float64{rng.NormFloat64(), 0, rng.NormFloat64() / 5, 0, 1}
	loss := func(y auto.Vec, s, side uint64) auto.Num {
		r := rand.New(rand.NewPCG(s, seed<<1|side))
		a, b := make([]float64, 5), 0.3*r.NormFloat64()
		common := r.NormFloat64()
		for i := range a {
			a[i] = math.Exp(float64(i)/2-1) * (0.8*r.NormFloat64() + 0.6*common)
			b += beta[i] * a[i]
		}
		return y.Dot(auto.Data(a)).Shift(-b).Square().Scale(0.5)
	}
	return bileveltest.Must(auto.New(auto.Losses{Dx: 5, Dy: 5, Upper: terms, Lower: terms,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return loss(y, uint64(s), 0) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return loss(y, uint64(s), 1).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
		},
	}))
}

// Features that stand twice, but for a little noise: small eigenvalues of g_yy that the samples know are no noise.
func TestCollinear(t *testing.T) {
	t.Parallel()
	loss := func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		r := rand.New(rand.NewPCG(uint64(s), side))
		a, b := make([]float64, 6), 0.5*r.NormFloat64()
		for i := range 3 {
			a[i] = r.NormFloat64()
			a[i+3] = a[i] + 0.03*r.NormFloat64()
			b += float64(2*i-1) * a[i]
		}
		return y.Dot(auto.Data(a)).Shift(-b).Square().Scale(0.5)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 6, Dy: 6, F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return loss(y, s, 0) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return loss(y, s, 1).Add(y.WeightedSquares(x.Exp()).Scale(0.5))
		}}))
	for seed := range reps(8, 3) {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(6, -14, 4), Seed: seed}, bilevel.Run{Xi: 5000})
		assert.NotContains(t, strings.Join(r.Warnings, ""), "convex", "seed %d", seed)
	}
}

// Down the flats of exp(x) no run ends by overflow, or away from a stationary point without a word.
func TestNoBounds(t *testing.T) {
	t.Parallel()
	left := 0
	for seed := range reps(10, 2) {
		for _, terms := range []uint64{0, 40} {
			p := ridge(t, seed, terms)
			for _, m := range []bilevel.Method{saa.Newton{}, saa.ByProducts{}} {
				_, r := solved(t, p, m, bilevel.Options{Seed: seed}, bilevel.Run{Xi: 2000})
				if terms > 0 && len(r.Warnings) == 0 {
					stationary(t, implicit.NewTruth(p), bilevel.Space{}, r.X, 1e-6)
				}
			}
			if terms > 0 { // a set couples flats to other entries
				_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed, Set: bilevel.HalfSpace{A: vec(1, 2, 3, 4, 5).Value(), B: -40}}, bilevel.Run{Xi: 2000})
				if r.Reason != bilevel.Arrived {
					left++
				}
			}
		}
	}
	assert.LessOrEqual(t, left, 1) // 3 where an entry was held by its own h
}

// Down a flat, ℓ may not grow as y* seems to allow, and x_i stays where the samples know it: few runs
// are led astray, those of sums are told, and few entries of x on streams go far.
func TestFlatsMislead(t *testing.T) {
	t.Parallel()
	runs := reps(40, 8)
	for _, terms := range []uint64{0, 40} {
		astray, far, saddles := 0, 0, 0
		for seed := range runs {
			s, r := solved(t, ridge(t, seed, terms), saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Xi: 2000})
			saddles += strings.Count(strings.Join(r.Warnings, ""), "saddle")
			for _, x := range r.X {
				if math.Abs(x) > 50 {
					far++
				}
			}
			if math.Abs(s.Y()[0]) < 0.1 || math.Abs(s.Y()[4]-1) > 0.06 {
				astray++
				assert.True(t, terms == 0 || len(r.Warnings) > 0, "seed %d", seed)
			}
		}
		assert.Less(t, astray, 5, "%d terms", terms) // 2 and 3
		if terms == 0 {
			assert.Less(t, saddles, 9) // 7; 24 where each negative eigenvalue counted
			assert.Less(t, far, 7)     // 0; 18 without off, 7 without near, 10 without crossed
		}
	}
}

func TestFlatStart(t *testing.T) {
	_, r := solved(t, ridge(t, 1, 40), saa.Newton{}, bilevel.Options{X0: slices.Repeat([]float64{-800}, 5)}, bilevel.Run{Xi: 400})
	assert.Contains(t, strings.Join(r.Warnings, "; "), "F does not change with 5 of the entries of x")
}

// A step to where f has no value is taken back, in memory of dx² and without; a start there ends the run.
func TestOutsideOfTheDomain(t *testing.T) {
	for _, dx := range []int{1, 201} {
		barrier := func(_, y auto.Vec, _ bilevel.Sample) auto.Num { // least at 0.8
			return y.Neg().Shift(1).Log().Sum().Neg().Sub(y.Sum().Scale(5))
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: dx, Upper: 4, Lower: 4, F: barrier, G: nearX}))
		o := bilevel.Options{Set: bilevel.UniformBox(dx, -4, 40), X0: make([]float64, dx)}
		_, r := solved(t, p, saa.Newton{}, o, bilevel.Run{Xi: 400})
		for _, x := range r.X {
			assert.InDelta(t, 0.8, x, 1e-6, "dx = %d", dx)
		}
		o.X0[0] = 2
		o.Y0 = o.X0
		s := bileveltest.Must(bilevel.New(p, saa.Newton{}, o))
		_, err := s.Run(t.Context(), bilevel.Run{Xi: 400})
		require.ErrorIs(t, err, bilevel.ErrDomain)
		assert.True(t, strings.Contains(err.Error(), "auto: f at sample ") && strings.Contains(err.Error(), "Log of -1 is NaN"), err)
	}
	wall := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 4, Lower: 4, G: nearX, // at y₀ = 2, where F still falls
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-4).SquaredNorm().Add(y.At(0).Neg().Shift(2).Sqrt().Scale(0))
		}}))
	_, r := solved(t, wall, saa.Newton{}, bilevel.Options{X0: []float64{-5, -4}}, bilevel.Run{Steps: 500})
	assert.NotEqual(t, bilevel.Arrived, r.Reason)
	assert.Contains(t, strings.Join(r.Warnings, "; "), "x hardly moves")
}

// Where y* is 1/x, no step goes unread to where it explodes; x_0 next to 0 does not stop x_1 in a set that only projects; a
// start at a maximum is left; and a sum with a g_yy of condition 1e9 ends.
func TestWeightsThatAreNotExponents(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.At(0).Shift(-0.1 - noise(s, 0)).Square() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.WeightedSquares(x).Scale(0.5).Sub(y.Sum().Scale(1 + noise(s, 1)))
		}}))
	for seed := range uint64(40) {
		_, r := solved(t, p, saa.Newton{Calls: 8 + 72*float64(seed%2)}, bilevel.Options{X0: []float64{1}, Set: bilevel.UniformBox(1, 1e-6, 1e6), Seed: seed},
			bilevel.Run{Xi: 300})
		assert.Greater(t, r.X[0], 1., "seed %d", seed)
	}
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Sub(vec(-1, 4)).Shift(noise(s, 0)).SquaredNorm()
		},
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Square().Div(x).Sub(y.Scale(2 + noise(s, 1))).Sum()
		}}))
	_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: plain{bilevel.UniformBox(2, 1e-6, 50)}, X0: []float64{1, 1}}, bilevel.Run{Xi: 800})
	assert.InDelta(t, 4, r.X[1], 0.5)
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 20, Lower: 20,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.Shift(0.3 * noise(s, 0)).SquaredNorm() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Shift(-1 - 0.3*noise(s, 1)).SquaredNorm().Add(y.WeightedSquares(x.Square()))
		}}))
	_, r = solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Steps: 400})
	assert.Less(t, bileveltest.Must(implicit.NewTruth(p).Objective(nil, r.X)), 0.1884) // 2.6 at the start, 0.1883 at infinity
	assert.NotEmpty(t, r.Warnings, "%v", r.X)
	fit := func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		return y.At(0).Add(y.At(1).Scale(1 + 1e-4*noise(s, side))).Shift(-noise(s, side+1)).Square()
	}
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 2, Upper: 50, Lower: 50,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return fit(y, s, 2) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return fit(y, s, 4).Add(y.SquaredNorm().Mul(x.Sum().Exp()).Scale(1e-9))
		}}))
	_, r = solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(1, -3, 12)}, bilevel.Run{Steps: 4000})
	assert.Equal(t, bilevel.Arrived, r.Reason)
}

func TestRunsOff(t *testing.T) {
	t.Parallel()
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 18,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1).SquaredNorm().Add(y.WeightedSquares(x.Exp())).Scale(0.5)
		}}))
	s, _ := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{300}}, bilevel.Run{Steps: 8000})
	assert.Greater(t, s.X()[0], 350.0)
	fit := func(y auto.Vec, i bilevel.Sample, side uint64) auto.Num { // the second feature is noise
		r := rand.New(rand.NewPCG(uint64(i), side))
		a, b := r.NormFloat64(), r.NormFloat64()
		return y.Dot(vec(a, b)).Shift(-2*a - 2*r.NormFloat64()).Square()
	}
	for k := range 20 * uint64(2) { // F falls as its weight x, or exp(x), goes to infinity on half of these
		set := []bilevel.Set{nil, bilevel.NonNegative{}}[k%2]
		p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 50, Lower: 50,
			F: func(_, y auto.Vec, i bilevel.Sample) auto.Num { return fit(y, i, k) },
			G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
				if set == nil {
					x = x.Exp()
				}
				return fit(y, i, k+99).Add(y.WeightedSquares(x))
			}}))
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set}, bilevel.Run{Steps: 4000})
		h, _ := s.Health()
		assert.Equal(t, bilevel.Arrived, r.Reason, k)
		assert.Equal(t, r.X[1] > 1e6 || set == nil && math.Abs(r.X[1]) > 14, slices.Contains(h.Flat, 1), "%d: %v", k, r.X)
	}
	for warnings, link := range []func(auto.Vec) auto.Vec{auto.Vec.Log, auto.Vec.Sigmoid} { // where ∂y*/∂x is 3e-4, log x goes on
		p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Shift(noise(xi, 0) - 8).SquaredNorm() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(link(x)).SquaredNorm() }}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.NonNegative{}, X0: []float64{1}}, bilevel.Run{Xi: 2000})
		assert.Len(t, r.Warnings, warnings)
		assert.Less(t, r.Counts.Evaluations(), uint64(2000*40)) // 118 a sample where steps had no end
	}
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, G: nearX, // F is log cosh(y − 4), and a few samples say that it falls for ever
		F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
			slope := noise(xi, 7) - 1
			return y.At(0).Shift(-4).Scale(2).Softplus().Add(y.At(0).Scale(slope))
		}}))
	for seed := range uint64(300) {
		solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Steps: 20})
	}
}

// The length exp(x) of 7 radial features: F is .23 at the start, .002 at −1.5, and .25 above 0, where 20 of 160 ended
// without middles, and 4 with.
func TestValley(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs ten seconds")
	}
	loss := func(x, y auto.Vec, s bilevel.Sample, side uint64) (fit auto.Num) {
		r := rand.New(rand.NewPCG(uint64(s), side))
		a, w := 2*r.Float64()-1, x.At(0).Scale(-2).Exp()
		for j := range 7 {
			d := a + 1 - float64(j)/3
			fit = fit.Add(w.Scale(-d * d / 2).Exp().Mul(y.At(j)))
		}
		return fit.Shift(-math.Sin(5*a) - 0.3*r.NormFloat64()).Square()
	}
	p, far := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 7,
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return loss(x, y, s, 1) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return loss(x, y, s, 2).Add(y.SquaredNorm().Scale(0.01))
		}})), 0
	for seed := range uint64(80) {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{-4}, Set: bilevel.UniformBox(1, -6, 4), Seed: seed}, bilevel.Run{Xi: 150})
		far += map[bool]int{true: 1}[r.X[0] > 0]
	}
	assert.LessOrEqual(t, far, 5)
	shift := func(s bilevel.Sample) auto.Vec { return vec(noise(s, 3), noise(s, 4), noise(s, 5)).Scale(0.3) }
	p, far = bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, // F has a period of a quarter of y's length at the start
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.SquaredNorm().Scale(0.1).Add(y.Scale(5).Cos().Sum()).Add(y.Dot(shift(s)))
		},
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return y.Sub(x).Sub(shift(s)).SquaredNorm().Scale(0.5) }})), 0
	value := func(x []float64) (f float64) {
		for _, v := range x {
			f += 0.1*v*v + math.Exp(-25*0.09/2)*math.Cos(5*v)
		}
		return f
	}
	for o := (bilevel.Options{X0: []float64{4, -3, 2}}); o.Seed < 60; o.Seed++ {
		_, r := solved(t, p, saa.Newton{}, o, bilevel.Run{Xi: 1000})
		far += map[bool]int{true: 1}[value(r.X) > value(o.X0)]
	}
	assert.LessOrEqual(t, far, 5, "17 with middles from .4 on")
}

func TestFAlone(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 1, Upper: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1).SquaredNorm().Add(x.Shift(-3).SquaredNorm())
		},
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			return y.Sub(x.Slice(0, 1)).Shift(noise(phi, 1)).SquaredNorm()
		}}))
	for _, at := range []float64{0, 5.6e-17} {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{at, at, at}}, bilevel.Run{Xi: 4000})
		assert.InDeltaSlice(t, []float64{2, 3, 3}, r.X, 0.1)
	}
	for _, unit := range []float64{0x1p-20, 1, 0x1p20} { // of x, which f alone knows
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
			F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
				return x.Scale(1 / unit).Sub(y).Shift(-noise(s, 1)).SquaredNorm()
			},
			G: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.Shift(noise(s, 1) - 2).SquaredNorm() }}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Xi: 1000})
		assert.InDelta(t, 2, r.X[0]/unit, 0.2)
		assert.Less(t, r.Counts.Evaluations(), uint64(1000*16))
	}
	demand := func(s bilevel.Sample) auto.Vec {
		return vec(math.Exp(noise(s, 1)/2), math.Exp(1+noise(s, 2)/2), math.Exp(2+noise(s, 3)/2))
	}
	news := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, // f of a few hardly curves at 0
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return x.Sub(demand(s)).Scale(3).Softplus().Sub(x.Scale(2)).Sum()
		},
		G: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.Sub(demand(s)).SquaredNorm() }}))
	for o := (bilevel.Options{Set: bilevel.NonNegative{}}); o.Seed < reps(60, 20); o.Seed++ {
		_, r := solved(t, news, saa.Newton{}, o, bilevel.Run{Xi: 300})
		assert.Less(t, r.X[2], 30.0, o.Seed)
	}
}

// Sums of many 0 arrive; where f alone is a stream, Gap is known.
func TestFewTerms(t *testing.T) {
	follow := func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
		return y.Sub(x).Shift(-noise(phi, 3)).SquaredNorm().Scale(0.5).Add(y.Exp().Sum().Scale(0.3))
	}
	few := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, Upper: 200, Lower: 200,
		F: func(x, y auto.Vec, xi bilevel.Sample) auto.Num {
			return y.Shift(-1 - noise(xi, 3)).SquaredNorm().Add(x.SquaredNorm().Scale(0.05)).Scale(map[bool]float64{true: 1}[xi%70 == 1])
		},
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			return follow(x, y, phi).Scale(map[bool]float64{true: 1}[phi%40 == 2])
		}}))
	noisy := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, Lower: 1, G: follow,
		F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
			v := y.Shift(-1 - noise(xi, 3))
			return v.SquaredNorm().Add(v.Mul(v).SquaredNorm().Scale(0.1))
		}}))
	for seed := range uint64(10) {
		_, r := solved(t, few, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Steps: 5000})
		assert.Equal(t, bilevel.Arrived, r.Reason)
		stationary(t, implicit.NewTruth(few), bilevel.Space{}, r.X, 1e-10)
		s, _ := solved(t, noisy, saa.Newton{}, bilevel.Options{Seed: seed, X0: []float64{-2, 1, 2}}, bilevel.Run{Xi: 500})
		h, _ := s.Health()
		assert.Less(t, h.Gap, 10., "seed %d", seed)
	}
}

type narrow struct{ bilevel.Box }

func (narrow) Bounds(int) (lo, hi float64) { return 5, 6 }

func TestOutsideOfItsBounds(t *testing.T) {
	s := bileveltest.Must(bilevel.New(bileveltest.Must(quadratic.New(quadratic.Options{Dx: 2, Dy: 2})), saa.Newton{},
		bilevel.Options{Set: narrow{bilevel.UniformBox(2, 0, 1)}}))
	_, err := s.Run(t.Context(), bilevel.Run{Steps: 40})
	require.ErrorIs(t, err, bilevel.ErrDomain)
}

func TestStaysInTheBox(t *testing.T) {
	least := 7.3
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 18, G: nearX,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			least = min(least, x.Value()[0])
			return y.Shift(5).SquaredNorm()
		}}))
	solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(1, 0.1, 9), X0: []float64{7.3}}, bilevel.Run{Steps: 400})
	assert.Equal(t, 0.1, least)
}

// Where F is linear it has no curvature: x goes to the bound, and without one the error says why it went.
func TestLinear(t *testing.T) {
	for name, f := range map[string]func(x, y auto.Vec) auto.Num{
		"y": func(_, y auto.Vec) auto.Num { return y.At(0).Scale(1e-30) },
		"x": func(x, y auto.Vec) auto.Num { return x.At(0) },
	} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 18,
			F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return f(x, y) },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(x).Shift(-1).SquaredNorm() }}))
		set := bilevel.UniformBox(1, -1, 2)
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set}, bilevel.Run{Steps: 400})
		assert.Equal(t, bilevel.Arrived, r.Reason, name)
		assert.Equal(t, []float64{-1}, r.X, name)
		_, r = solved(t, p, saa.ByProducts{}, bilevel.Options{Set: set, X0: r.X}, bilevel.Run{Steps: 400})
		assert.Equal(t, bilevel.Arrived, r.Reason, name)
		s := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{}))
		_, err := s.Run(t.Context(), bilevel.Run{Steps: 4000})
		assert.ErrorContains(t, err, "only a set (Options.Set) holds x", name)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 18, // far beyond ℓ = 1, where only f feels x
		F: func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0) },
		G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() }}))
	s := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{}))
	_, err := s.Run(t.Context(), bilevel.Run{Steps: 4000})
	assert.ErrorContains(t, err, "only a set")
}

// Where y* of the first samples is outside of the domain of f, a run waits for more.
func TestFewSamplesOutsideOfTheDomain(t *testing.T) {
	for seed := range uint64(10) {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 200, Lower: 200,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Sub(y.At(0).Log()) },
			G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
				return y.Sub(x).At(0).Shift(3 - 8*float64(phi%2)).Square()
			}})) // 1 + x
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Y0: []float64{1}, X0: []float64{1}, Seed: seed}, bilevel.Run{Xi: 2000})
		assert.InDelta(t, 0, r.X[0], 1e-9, "seed %d", seed)
		bet := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 200, Lower: 200, // two of them crash, and bound y by 10/9
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
				return y.At(0).Shift(45.25*float64(xi%100/99) - 1.25).Square()
			},
			G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
				return y.WeightedSquares(x.Exp()).Sub(y.At(0).Scale(map[bool]float64{true: -0.9, false: 0.1}[phi%100 == 7]).Shift(1).Log())
			}}))
		s, _ := solved(t, bet, saa.Newton{}, bilevel.Options{X0: []float64{-7}, Seed: seed}, bilevel.Run{Steps: 2000})
		assert.InDelta(t, 0.7975, s.Y()[0], 1e-9, "seed %d", seed)
	}
}

// Where g curves down at the start, y goes on to a minimum of g, in few evaluations.
func TestStartsOnAHump(t *testing.T) {
	for terms, near := range map[uint64]float64{60: 1e-9, 0: 0.02} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 2, Upper: terms, Lower: terms,
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Shift(-1 - float64(xi%60)/100).SquaredNorm() },
			G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
				well := y.At(0).Square().Shift(-float64(phi%60) / 30).Square()
				return well.Add(y.At(1).Sub(y.At(0)).Square()).Sub(x.At(0).Mul(y.At(0)))
			}}))
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{Y0: []float64{0.1, 0}}, bilevel.Run{Steps: 600})
		assert.Equal(t, terms > 0, r.Reason == bilevel.Arrived)
		assert.InDelta(t, 1.295, s.Y()[0], near)
		assert.Less(t, r.Counts.Evaluations(), uint64(60*250))
	}
}

// Few samples whose g curves down, where it does not in the mean, lead y nowhere.
func TestNoiseCurvesDown(t *testing.T) {
	t.Parallel()
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 2,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Shift(-1).Square() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			free := y.At(1).Square().Scale(0.5 + 2*noise(s, 2)).Add(y.Sum().Scale(0.3 * noise(s, 3)))
			return y.At(0).Sub(x.At(0)).Square().Scale(0.5).Add(free)
		}}))
	for seed := range uint64(60) {
		s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Xi: 100})
		assert.Less(t, math.Abs(s.Y()[1]), 5., "seed %d", seed)
	}
}

// rounds has an exact g_xy of rounding in an entry that is 0 in all terms.
type rounds struct{ *auto.Problem }

func (p rounds) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	err := p.Problem.CrossG(gxy, x, y, phi)
	if len(phi) == 0 {
		gxy.Set(1, 1, 1e-17)
	}
	return err
}

func TestRoundingMovesNothing(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 50, Lower: 50,
		F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Shift(-1 - float64(xi)/100).SquaredNorm() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.SquaredNorm().Scale(0.5).Sub(x.At(0).Mul(y.At(0)))
		}}))
	s, r := solved(t, rounds{p}, saa.Newton{}, bilevel.Options{X0: []float64{3, 7}}, bilevel.Run{Steps: 500})
	assert.Equal(t, bilevel.Arrived, r.Reason)
	assert.InDeltaSlice(t, []float64{1.245, 7}, s.X(), 1e-9)
}

// StdErr is a number where no sample differs, Gap in a half-space that of its face; what was not asked is not flat.
func TestHealthOnAFace(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, G: nearX,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1.9).SquaredNorm().Scale(0.5).Add(x.At(1).Neg().Exp())
		}}))
	for left, want := range map[int]error{math.MaxInt: nil, 8: errors.New("gone")} {
		s := bileveltest.Must(bilevel.New(&flaky{p, left, want}, saa.Newton{}, bilevel.Options{Set: bilevel.HalfSpace{A: []float64{1, 1}, B: 1}}))
		r, err := s.Run(t.Context(), bilevel.Run{Xi: 8000, Progress: func(s *bilevel.Solver) bool {
			h, _ := s.Health()
			return assert.False(t, math.IsNaN(h.StdErr)) && assert.True(t, s.K() < 100 || h.Gap < 1e-6, h.Gap) // ½‖h‖² is above 2
		}})
		assert.NotRegexp(t, "F |hardly", strings.Join(r.Warnings, "; "))
		require.ErrorIs(t, err, want)
	}
}

type flaky struct {
	*auto.Problem
	left int
	err  error
}

func (p *flaky) CrossG(c *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	if p.left--; p.left < 0 {
		return p.err
	}
	return p.Problem.CrossG(c, x, y, phi)
}

// At a vertex of a simplex F may curve down, and no point of the simplex is lower.
func TestVertexIsNoSaddle(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 3, Upper: 5, Lower: 5, G: nearX,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm().Scale(-1) }}))
	_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.Simplex{}, X0: []float64{0.2, 0.3, 0.5}}, bilevel.Run{Steps: 1000})
	assert.Equal(t, bilevel.Arrived, r.Reason)
	assert.InDelta(t, 1, r.X[2], 1e-9)
	assert.Empty(t, r.Warnings)
	w := vec(0.2, 1.5)
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 5, Lower: 5, G: nearX, // F curves down, but on the circle up, by 1
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-1).At(0).Mul(y.Dot(w).Shift(-1)) }}))
	_, r = solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.Ball{Radius: 1}, X0: []float64{0.9, -0.1}}, bilevel.Run{Steps: 1000})
	assert.InDelta(t, 1, r.X[0], 1e-9)
	assert.Empty(t, r.Warnings)
}

// Δ lets go where y stays, or weights have changed; steps to g_yy = 0 or out of the domain are taken back.
func TestStepsAreTaken(t *testing.T) {
	half := func(v auto.Num) auto.Num { return v.Square().Scale(0.5) }
	follow := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return half(y.At(0).Sub(x.At(0))) }
	for name, c := range map[string]struct {
		losses  auto.Losses
		o       bilevel.Options
		steps   uint64
		x, near float64
	}{
		"flat": {auto.Losses{
			F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
				return y.At(0).Shift(0.1*noise(s, 77) - 0.3).Square().Add(x.At(0).Square().Scale(0.01))
			},
			G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
				return y.At(0).Sub(x.At(0).Scale(1000).Tanh()).Shift(0.1 * noise(s, 77)).Square()
			},
		}, bilevel.Options{X0: []float64{-0.5}, Set: bilevel.UniformBox(1, -1, 1)}, 3000, 3.1e-4, 1e-4},
		"one event": {auto.Losses{G: follow, F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			if s%1000 > 0 {
				return half(y.At(0))
			}
			return half(y.At(0).Shift(-1000))
		}}, bilevel.Options{}, 16000, 1, 0.35},
		"no curvature": {auto.Losses{
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return half(y.At(0).Scale(1e-3).Shift(-1)) },
			G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
				return x.At(0).Mul(half(y.At(0))).Sub(y.At(0).Scale(1 + noise(s, 77)))
			},
		}, bilevel.Options{X0: []float64{0.5}, Set: bilevel.UniformBox(1, 0, 1)}, 3000, 1e-3, 1e-4},
		"plateau": {auto.Losses{Upper: 10, // to which few samples lead: 12.5 where a step out of turn put off the next reading
			F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Mul(y).At(0).Neg().Exp().Mul(x.At(0).Neg()) },
			G: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return half(y.At(0).Shift(-1 - 2*noise(s, 0))) },
		}, bilevel.Options{X0: []float64{0.5}, Set: bilevel.UniformBox(1, 0, 20), Seed: 4}, 6000, 1, 0.1},
		"demand": {auto.Losses{Upper: 20, Lower: 20, // exp(−x): y leaves its domain, not x
			F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Shift(-1).Dot(y).Neg() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Log().Shift(-1).Add(x).Dot(y) },
		}, bilevel.Options{X0: []float64{20}, Y0: []float64{0.2}, Set: bilevel.NonNegative{}}, 6000, 2, 1e-6},
		"edge": {auto.Losses{Upper: 50, Lower: 50, G: follow, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			if v := x.At(0).Value(); v > 1 && v < 2 {
				return auto.Const(-1).Log()
			}
			return half(y.At(0).Shift(-1.5))
		}}, bilevel.Options{X0: []float64{1}, Set: bilevel.UniformBox(1, -10, 10)}, 3000, 1, 1e-6},
	} {
		c.losses.Dx, c.losses.Dy = 1, 1
		p := bileveltest.Must(auto.New(c.losses))
		_, r := solved(t, p, saa.Newton{}, c.o, bilevel.Run{Xi: c.steps})
		assert.InDelta(t, c.x, r.X[0], c.near, name)
	}
}

// After a step that was wrong, none goes unread: F is flat to fourth order. And x_i goes on where y* is 2/x_i.
func TestFlatBottoms(t *testing.T) {
	t.Parallel()
	wave := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
		F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Sin().Shift(-1 - noise(xi, 1)).SquaredNorm() },
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num { return y.Sub(x).Shift(-noise(phi, 2)).SquaredNorm() }}))
	inverse := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
		F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Shift(-1 - noise(xi, 1)).SquaredNorm() },
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			return y.WeightedSquares(x).Scale(0.5).Sub(y.Sum().Scale(2 + noise(phi, 2)))
		}}))
	mean := 0.0
	for seed := range uint64(10) {
		_, r := solved(t, wave, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(1, -3, 5), X0: []float64{2}, Seed: seed}, bilevel.Run{Xi: 8000})
		mean += math.Pow(math.Sin(r.X[0])-1, 2) / 10
		_, r = solved(t, inverse, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(1, 1e-6, math.Inf(1)), X0: []float64{1e-3}, Seed: seed},
			bilevel.Run{Xi: 4000})
		assert.InDelta(t, 2, r.X[0], 0.5, "seed %d", seed)
	}
	assert.Less(t, mean, 1e-3)
}

// A sum, also with a long x, leaves a corner from where F curves down, and arrives on a valley of minima, along which it is flat.
func TestValleyOfMinima(t *testing.T) {
	for _, dx := range []int{6, 201} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: 6, Upper: 7, Lower: 7,
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
				return y.Slice(0, 3).Mul(y.Slice(3, 6)).Shift(-1 - noise(xi, 9)/10).SquaredNorm()
			},
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(x.Slice(0, 6)).SquaredNorm() }}))
		for _, set := range []bilevel.Set{nil, bilevel.NonNegative{}, bilevel.UniformBox(dx, -3, 3)} {
			for _, from := range [][]float64{nil, {1.5, 0.7, 0.8, 0.1, 1, 2}, {0.1, 1.9, 1, 1, 0.5, 1}} {
				x0 := make([]float64, dx)
				copy(x0, from)
				_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set, X0: x0}, bilevel.Run{Steps: 400})
				assert.True(t, r.Reason == bilevel.Arrived && len(r.Warnings) == 0, "%d, %T from %v: %v", dx, set, from, r.Warnings)
				assert.InDelta(t, 0.0287103, bileveltest.Must(implicit.NewTruth(p).Objective(nil, r.X)), 1e-7)
				assert.Less(t, r.Counts.Evaluations(), uint64(20000))
			}
		}
	}
}

// A sum ends at minima of F or g of fourth order, also of a long x, and where y* turns.
func TestDegenerateMinima(t *testing.T) {
	follow := func(x auto.Vec) auto.Vec { return x.Slice(0, 2).Add(x.Slice(2, 4)) }
	for dx, to := range map[int]func(auto.Vec) auto.Vec{2: func(x auto.Vec) auto.Vec { return x.Sin().Scale(2) }, 4: follow, 201: follow} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: 2, Upper: 7, Lower: 7,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-3).SquaredNorm().Square() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(to(x)).SquaredNorm() }}))
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: slices.Repeat([]float64{0.5}, dx)}, bilevel.Run{Steps: 1000})
		assert.True(t, r.Reason == bilevel.Arrived && len(r.Warnings) == 0, "%d: %v after %d steps", dx, r.Warnings, r.Steps)
		assert.InDelta(t, map[int]float64{2: 4}[dx], bileveltest.Must(implicit.NewTruth(p).Objective(nil, r.X)), 1e-14)
		h, _ := s.Health()
		assert.Less(t, h.Gap, 1e-18, "%d", dx)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 2,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Shift(-1).Square() },
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			return y.Sub(x).SquaredNorm().Square().Add(y.At(0).Scale(0.1 - 0.2*float64(phi)))
		}}))
	_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{-1}}, bilevel.Run{Steps: 1000})
	assert.InDelta(t, 1, r.X[0], 1e-4)
	for x0, f := range map[float64]func(y auto.Vec) auto.Num{ // far starts, and steep valleys of a long x
		300: func(y auto.Vec) auto.Num {
			return y.At(0).Exp().Sub(y.At(0)).Shift(-1).Add(y.At(1).Sub(y.At(0).Square()).Square().Scale(100))
		},
		0: func(y auto.Vec) auto.Num { return y.Shift(-1).WeightedSquares(vec(1, 1e-10)) },
	} {
		dx := map[float64]int{300: 2, 0: 202}[x0]
		p := bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: 2, Upper: 7, Lower: 7,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return f(y) },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
				to := x.Slice(0, 2)
				for b := 2; b < dx; b += 2 {
					to = to.Add(x.Slice(b, b+2).Scale(math.Cos(float64(b / 2))))
				}
				return y.Sub(to).SquaredNorm().Scale(0.5)
			}}))
		from := make([]float64, dx)
		from[0], from[1] = x0, x0/100
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: from}, bilevel.Run{Steps: 1000})
		assert.True(t, r.Reason == bilevel.Arrived && len(r.Warnings) == 0, "%d: %v", dx, r.Warnings)
		assert.InDelta(t, 0, bileveltest.Must(implicit.NewTruth(p).Objective(nil, r.X)), 1e-12)
	}
}

// Where F does not change, x does not go: shares by softmax, one of which goes to 0 in half of the cases.
func TestShares(t *testing.T) {
	for k := range 6 {
		for _, far := range []float64{0, 2} {
			p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 2, Upper: 7, Lower: 7,
				F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
					return y.Shift(-float64(k)/5 - float64(s)/70).SquaredNorm()
				},
				G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
					w := x.Exp().ScaleBy(x.Exp().Sum().Inv())
					return y.Sub(auto.Stack(w.Dot(vec(1, -1, 0.3)), w.Dot(vec(0.5, 1, -2)))).SquaredNorm()
				}}))
			_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{0, far, -far}}, bilevel.Run{Steps: 600})
			assert.Equal(t, bilevel.Arrived, r.Reason)
			assert.Less(t, r.X[0], 30., "from %v, to %d", far, k) // 505, where its oracles overflow
		}
	}
}
