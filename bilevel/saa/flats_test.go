package saa_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/saa"
)

// Down a flat, ℓ may not grow as y* seems to allow, and x_i stays where the samples know it: few runs
// are led astray, those of sums are told, and few entries of x on streams go far.
func TestFlatsMislead(t *testing.T) {
	t.Parallel()
	for _, terms := range []uint64{0, 40} {
		astray, far, saddles := 0, 0, 0
		for seed := range reps(40, 8) {
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

func TestRunsOff(t *testing.T) {
	t.Parallel()
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 3, Lower: 18,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1).SquaredNorm().Add(y.WeightedSquares(x.Exp())).Scale(0.5)
		}}))
	s, _ := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{300}}, bilevel.Run{Steps: 8000})
	assert.Greater(t, s.X()[0], 312.0)
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 1, Upper: 9, Lower: 9, // down to where differences are rounding
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1).SquaredNorm().Add(x.At(0).Scale(0.3))
		},
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			return y.At(0).Sub(x.At(1)).Add(x.At(0)).Shift(noise(i, 51)).Square()
		}}))
	_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: 1}, bilevel.Run{Steps: 1000})
	assert.NotEmpty(t, r.Warnings)
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
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: set, X0: []float64{3, 3}}, bilevel.Run{Steps: 4000})
		assert.Equal(t, bilevel.Arrived, r.Reason, k)
		assert.Equal(t, r.X[1] > 1e6 || set == nil && math.Abs(r.X[1]) > 14, slices.Contains(health(s).Flat, 1), "%d: %v", k, r.X)
	}
	for warnings, link := range []func(auto.Vec) auto.Vec{auto.Vec.Log, auto.Vec.Sigmoid} { // where ∂y*/∂x is 3e-4, log x goes on
		p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1,
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num { return y.Shift(noise(xi, 0) - 8).SquaredNorm() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(link(x)).SquaredNorm() }}))
		s, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.NonNegative{}, X0: []float64{1e-3}}, bilevel.Run{Xi: 2000})
		gap := health(s).Gap
		assert.True(t, len(r.Warnings) == warnings && (warnings > 0 || gap < 0.01), "%v, %v", r.Warnings, gap)
		assert.InDelta(t, []float64{8, 1}[warnings], r.Y[0], 0.2, r.Counts) // 4, for 122 evaluations a sample, where ℓ stood
	}
	for _, k := range []float64{1, 2} { // a few samples say that F falls for ever
		p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, G: nearX,
			F: func(_, y auto.Vec, xi bilevel.Sample) auto.Num {
				u := y.At(0).Shift(-4)
				return u.Scale(2).Softplus().Sub(u).Add(u.Pow(k).Scale(noise(xi, 7) / k))
			}}))
		for seed := range uint64(300) {
			solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Steps: 40})
		}
	}
}

// The length exp(x) of 7 radial features: F is .23 at the start, .002 at −1.5, and .25 above 0.
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
	price := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 2, // of most revenue, 2.9, as demand is estimated; at 10 none buys
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.At(0).Add(y.At(1).Mul(x.At(0))).Sigmoid().Mul(x.At(0).Shift(-1)).Neg()
		},
		G: func(_, y auto.Vec, phi bilevel.Sample) auto.Num {
			rng := rand.New(rand.NewPCG(uint64(phi), 5))
			p := 1 + 4*rng.Float64()
			buys := math.Copysign(1, 1/(1+math.Exp(p-2))-rng.Float64())
			return y.At(0).Add(y.At(1).Scale(p)).Scale(-buys).Softplus().Add(y.SquaredNorm().Scale(1e-3))
		}}))
	for seed := range uint64(40) {
		_, r := solved(t, price, saa.Newton{}, bilevel.Options{Seed: seed, X0: []float64{10}, Set: bilevel.UniformBox(1, 0, 20)}, bilevel.Run{Xi: 2000})
		assert.Less(t, r.X[0], 4., "seed %d", seed) // 20 where rows were those of x = 10
	}
	hardly := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, G: nearX,
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Shift(noise(s, 1) - 2).SquaredNorm().Add(x.SquaredNorm().Scale(1e-6))
		}}))
	for seed := range uint64(20) {
		s, _ := solved(t, hardly, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Xi: 2000})
		assert.InDelta(t, 2/math.Sqrt(2000), health(s).StdErr, 0.007, "seed %d", seed)
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 1, Upper: 1, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		return y.Shift(-1).SquaredNorm().Add(x.Shift(-3).SquaredNorm())
	}, G: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return nearX(x.Slice(0, 1), y.Shift(noise(s, 1)), s) }}))
	for _, at := range []float64{0, 5.6e-17} {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{at, at, at}}, bilevel.Run{Xi: 4000})
		assert.InDeltaSlice(t, []float64{2, 3, 3}, r.X, 0.1)
	}
	for _, unit := range []float64{0x1p-20, 1, 0x1p20} { // of x, which f alone knows
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return x.Scale(1 / unit).Sub(y).Shift(-noise(s, 1)).SquaredNorm()
		}, G: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.Shift(noise(s, 1) - 2).SquaredNorm() }}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{}, bilevel.Run{Xi: 1000})
		assert.InDelta(t, 2, r.X[0]/unit, 0.2)
		assert.Less(t, r.Counts.Evaluations(), uint64(1000*16))
	}
	demand := func(s bilevel.Sample) auto.Vec { return vec(noise(s, 1)/2, 1+noise(s, 2)/2, 2+noise(s, 3)/2).Exp() }
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

// A sum, also with a long x, leaves a corner from where F curves down, and arrives on a valley of minima.
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
		assert.Less(t, health(s).Gap, 1e-18, "%d", dx)
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
		0: func(y auto.Vec) auto.Num { return y.Shift(-1).WeightedSquares(vec(1, 1e-10)) }} {
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

// Where F does not change, x does not go: shares by softmax, one to 0.
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

// Until samples have a feature, y_j is rounding, and tells nothing of x_j.
func TestRareFeature(t *testing.T) {
	t.Parallel()
	p := expWeights(2, 0, 0.003, func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		row := vec(float64(s%32/31)*noise(s, 4*side+1), noise(s, 4*side+2))
		return y.Dot(row).Shift(-noise(s, 4*side+3)).Square().Shift(1).Sqrt()
	})
	for seed := range uint64(50) {
		solved(t, p, saa.Newton{}, bilevel.Options{Y0: []float64{100, 100}, Seed: seed}, bilevel.Run{Xi: 60})
	}
}

// At a condition of 1e10, rounding of h is far above h's terms where f_y is next to 0.
func TestArrivesAtRounding(t *testing.T) {
	for k := range uint64(25) {
		p := expWeights(2, 50, 1, func(y auto.Vec, i bilevel.Sample, side uint64) auto.Num {
			r := rand.New(rand.NewPCG(uint64(i), side+2*k))
			a := r.NormFloat64()
			return y.Dot(vec(a, a+3e-5*r.NormFloat64())).Shift(0.3 * r.NormFloat64()).Square()
		})
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{-15, -15}}, bilevel.Run{Steps: 8000})
		assert.Equal(t, bilevel.Arrived, r.Reason, "seed %d", k)
	}
}
