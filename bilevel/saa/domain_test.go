package saa_test

import (
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
	return expWeights(5, terms, 0.5, func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		r := rand.New(rand.NewPCG(uint64(s), seed<<1|side))
		a, b := make([]float64, 5), 0.3*r.NormFloat64()
		common := r.NormFloat64()
		for i := range a {
			a[i] = math.Exp(float64(i)/2-1) * (0.8*r.NormFloat64() + 0.6*common)
			b += beta[i] * a[i]
		}
		return y.Dot(auto.Data(a)).Shift(-b).Square().Scale(0.5)
	})
}

// expWeights has f = loss of side 0 and g = loss of side 1 + c Σ exp(x_i)y_i².
func expWeights(d int, terms uint64, c float64, loss func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num) *auto.Problem {
	return bileveltest.Must(auto.New(auto.Losses{Dx: d, Dy: d, Upper: terms, Lower: terms,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return loss(y, s, 0) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return loss(y, s, 1).Add(y.WeightedSquares(x.Exp()).Scale(c))
		}}))
}

// Features that stand twice, but for a little noise: small eigenvalues of g_yy that the samples know are no noise.
func TestCollinear(t *testing.T) {
	t.Parallel()
	p := expWeights(6, 0, 0.5, func(y auto.Vec, s bilevel.Sample, side uint64) auto.Num {
		r := rand.New(rand.NewPCG(uint64(s), side))
		a, b := make([]float64, 6), 0.5*r.NormFloat64()
		for i := range 3 {
			a[i] = r.NormFloat64()
			a[i+3] = a[i] + 0.03*r.NormFloat64()
			b += float64(2*i-1) * a[i]
		}
		return y.Dot(auto.Data(a)).Shift(-b).Square().Scale(0.5)
	})
	for seed := range reps(8, 3) {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(6, -14, 4), Seed: seed}, bilevel.Run{Xi: 5000})
		assert.NotContains(t, strings.Join(r.Warnings, ""), "convex", "seed %d", seed)
	}
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
		assert.InDeltaSlice(t, slices.Repeat([]float64{0.8}, dx), r.X, 1e-6, "dx = %d", dx)
		o.X0[0] = 2
		o.Y0 = o.X0
		_, err := bileveltest.Must(bilevel.New(p, saa.Newton{}, o)).Run(t.Context(), bilevel.Run{Xi: 400})
		require.IsType(t, &bilevel.OracleError{}, err)
		assert.True(t, strings.Contains(err.Error(), "auto: f at sample ") && strings.Contains(err.Error(), "Log of -1 is NaN"), err)
	}
	onlyAtOne := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 4, Lower: 4, G: nearX, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		return y.SquaredNorm().Add(x.At(0).Shift(-1).Scale(1e20).Square().Neg().Shift(1).Log())
	}}))
	_, err := bileveltest.Must(bilevel.New(onlyAtOne, saa.Newton{}, bilevel.Options{X0: []float64{1}})).Run(t.Context(), bilevel.Run{Xi: 400})
	require.ErrorContains(t, err, "auto: f at sample ")
	wall := &bileveltest.Faulty[bilevel.Sample]{Problem: bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, Upper: 4, Lower: 4, G: nearX,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-4).SquaredNorm() },
	})), Quantity: "f_y", Fault: func(fy []float64) error { // at y₀ = 2, where F still falls
		if fy[0] <= -4 {
			return nil
		}
		fy[0] = math.NaN()
		return bilevel.ErrDomain
	}}
	o, file := bilevel.Options{X0: []float64{-5, -4}}, filepath.Join(t.TempDir(), "run")
	s, r := solved(t, wall, saa.Newton{}, o, bilevel.Run{Steps: 500})
	assert.NotEqual(t, bilevel.Arrived, r.Reason)
	assert.Contains(t, strings.Join(r.Warnings, "; "), "x hardly moves")
	again := bileveltest.Must(bilevel.New(wall, saa.Newton{}, o))
	require.NoError(t, errors.Join(s.SaveFile(file), again.LoadFile(file)))
	assert.True(t, health(again).Slow)
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
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return nearX(vec(-1, 4), y.Shift(noise(s, 0)), s) },
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

// Sums of many 0 arrive, and at a kink of F; where f alone is a stream, Gap is known.
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
	kink := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 1, Lower: 21, // the 11th hinge turns y* back
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Shift(-9).SquaredNorm() },
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			if hinge := y.Add(x.Scale(2)).Shift(-noise(phi, 3)); hinge.Value()[0] > 0 {
				return hinge.SquaredNorm().Add(nearX(x, y, phi))
			}
			return nearX(x, y, phi)
		}}))
	for seed := range uint64(10) {
		_, r := solved(t, kink, saa.Newton{}, bilevel.Options{Seed: seed, X0: []float64{float64(seed)/2 - 2}}, bilevel.Run{Phi: 21 * 30})
		assert.Equal(t, bilevel.Arrived, r.Reason, "seed %d", seed)
		assert.InDelta(t, 0.0562842639314, r.X[0], 1e-10, "seed %d", seed)
		_, r = solved(t, few, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Steps: 5000})
		assert.Equal(t, bilevel.Arrived, r.Reason)
		stationary(t, implicit.NewTruth(few), bilevel.Space{}, r.X, 1e-10)
		s, _ := solved(t, noisy, saa.Newton{}, bilevel.Options{Seed: seed, X0: []float64{-2, 1, 2}}, bilevel.Run{Xi: 500})
		assert.Less(t, health(s).Gap, 10., "seed %d", seed)
	}
}

type narrow struct{ bilevel.Box }

func (narrow) Bounds(int) (lo, hi float64) { return 5, 6 }

func TestOutsideOfItsBounds(t *testing.T) {
	_, err := bileveltest.Must(bilevel.New(bileveltest.Must(quadratic.New(quadratic.Options{Dx: 2, Dy: 2})), saa.Newton{},
		bilevel.Options{Set: narrow{bilevel.UniformBox(2, 0, 1)}})).Run(t.Context(), bilevel.Run{Steps: 40})
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
	behind := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Sub(x).Shift(-1).SquaredNorm() }
	first := func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0) }
	for name, l := range map[string]auto.Losses{
		"y":     {F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Scale(1e-30) }, G: behind},
		"x":     {F: first, G: behind},
		"alone": {F: first, G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() }}, // far beyond ℓ = 1
	} {
		l.Dx, l.Dy, l.Upper, l.Lower = 1, 1, 3, 18
		p := bileveltest.Must(auto.New(l))
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

// An idle entry makes room in a ball.
func TestMakesRoom(t *testing.T) {
	for _, terms := range []uint64{0, 20} {
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 1, Upper: terms, Lower: terms,
			F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return y.Shift(-3 - 0.1*noise(s, 0)).SquaredNorm() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Sub(x.At(1)).Square() }}))
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{X0: []float64{-0.6, -0.8}, Set: bilevel.Ball{Radius: 1}}, bilevel.Run{Xi: 400})
		assert.InDelta(t, 1, r.X[1], 1e-9)
	}
}

// StdErr is a number where no sample differs, Gap in a half-space that of its face; what was not asked is not flat.
func TestHealthOnAFace(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 2, Dy: 2, G: nearX,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Shift(-1.9).SquaredNorm().Scale(0.5).Add(x.At(1).Neg().Exp())
		}}))
	for left, want := range map[int]error{math.MaxInt: nil, 8: errors.New("gone")} {
		q := &bileveltest.Faulty[bilevel.Sample]{Problem: p, Quantity: "H_xy", After: left,
			Fault: func([]float64) error { return want }}
		s := bileveltest.Must(bilevel.New(q, saa.Newton{}, bilevel.Options{Set: bilevel.HalfSpace{A: []float64{1, 1}, B: 1}}))
		r, err := s.Run(t.Context(), bilevel.Run{Xi: 8000, Progress: func(s *bilevel.Solver) bool {
			h, _ := s.Health()
			return assert.False(t, math.IsNaN(h.StdErr)) && assert.True(t, s.K() < 100 || h.Gap < 1e-6, h.Gap) // ½‖h‖² is above 2
		}})
		assert.NotRegexp(t, "F |hardly", strings.Join(r.Warnings, "; "))
		require.ErrorIs(t, err, want)
	}
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
		"flat": {auto.Losses{F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.At(0).Shift(0.1*noise(s, 77) - 0.3).Square().Add(x.At(0).Square().Scale(0.01))
		}, G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.At(0).Sub(x.At(0).Scale(1000).Tanh()).Shift(0.1 * noise(s, 77)).Square()
		}}, bilevel.Options{X0: []float64{-0.5}, Set: bilevel.UniformBox(1, -1, 1)}, 3000, 3.1e-4, 1e-4},
		"one event": {auto.Losses{G: follow, F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			return half(y.At(0).Shift(-1000 * float64(1-min(s%1000, 1))))
		}}, bilevel.Options{}, 16000, 1, 0.35},
		"one of a kind": {auto.Losses{Upper: 100, Lower: 100, G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Sub(x).At(0).Scale(1 - 2*float64(s/99)).Softplus()
		}, F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return half(y.At(0).Shift(1)) }}, bilevel.Options{}, 6000, math.Log(99) - 1, 1e-6},
		"no curvature": {auto.Losses{G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return x.At(0).Mul(half(y.At(0))).Sub(y.At(0).Scale(1 + noise(s, 77)))
		}, F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return half(y.At(0).Scale(1e-3).Shift(-1)) }}, bilevel.Options{X0: []float64{0.5}, Set: bilevel.UniformBox(1, 0, 1)}, 3000, 1e-3, 1e-4},
		"plateau": {auto.Losses{Upper: 10, // to which few samples lead
			F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Mul(y).At(0).Neg().Exp().Mul(x.At(0).Neg()) },
			G: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return half(y.At(0).Shift(-1 - 2*noise(s, 0))) },
		}, bilevel.Options{X0: []float64{0.5}, Set: bilevel.UniformBox(1, 0, 20), Seed: 4}, 6000, 1, 0.1},
		"demand": {auto.Losses{Upper: 20, Lower: 20, // exp(−x): y leaves its domain, not x
			F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Shift(-1).Dot(y).Neg() },
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.Log().Shift(-1).Add(x).Dot(y) },
		}, bilevel.Options{X0: []float64{20}, Y0: []float64{0.2}, Set: bilevel.NonNegative{}}, 6000, 2, 1e-6},
		"rounded": {auto.Losses{G: nearX, F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return nearX(vec(0.7+noise(s, 0), 0, 0.3), y, s).Add(x.SquaredNorm())
		}}, bilevel.Options{X0: []float64{0.2, 0.8, 0x1p-53}, Set: plain{bilevel.Simplex{}}}, 1000, 0.35 + 1./6, 0.05},
		"back": {auto.Losses{Upper: 1, G: nearX,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm().Neg() },
		}, bilevel.Options{X0: []float64{1e-9}, Set: plain{bilevel.Ball{Radius: 1e30}}}, 50, 0, 1e-3},
		"rank one": {auto.Losses{F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return nearX(vec(1, 2), y, s) }, G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return half(y.At(0).Add(y.At(1).Scale(0.003)).Sub(x.At(0)).Shift(-1)).Add(half(y.At(1).Sub(x.At(0)).Shift(-2)).Scale(float64(s % 4 / 3)))
		}}, bilevel.Options{X0: []float64{-0.5, 0}}, 150, 0, 0.2},
		"few bend": {auto.Losses{Upper: 1, F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return half(y.At(0).Shift(-1)) },
			G: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return follow(x, y, s).Scale(float64(s % 16 / 15)) },
		}, bilevel.Options{UpperBatch: bilevel.Full}, 1000, 1, 1e-6},
		"edge": {auto.Losses{Upper: 50, Lower: 50, G: follow, F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			if v := x.At(0).Value(); v > 1 && v < 2 {
				return auto.Const(-1).Log()
			}
			return half(y.At(0).Shift(-1.5))
		}}, bilevel.Options{X0: []float64{1}, Set: bilevel.UniformBox(1, -10, 10)}, 3000, 1, 1e-6}} {
		c.losses.Dx = max(1, len(c.o.X0))
		c.losses.Dy = c.losses.Dx
		p := bileveltest.Must(auto.New(c.losses))
		_, r := solved(t, p, saa.Newton{}, c.o, bilevel.Run{Xi: c.steps})
		assert.InDelta(t, c.x, r.X[0], c.near, name)
	}
}
