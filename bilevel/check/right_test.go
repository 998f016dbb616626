package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/quadratic"
	"stable/mat"
)

func TestRightProblems(t *testing.T) {
	type names = []string
	basic := names{"call GradF", "overwrite HessG", "inputs CrossG", "same draw GradG", "batch mean CrossG",
		"derivative CrossG", "derivative HessG", "convexity HessG", "unbiased GradG"}
	whole := append(names{"derivative GradF", "derivative GradG", "product CrossVecG", "effect CrossG"}, basic...)
	truth := append(names{"truth Solution", "truth Objective"}, whole...)
	noValues := names{"derivative: GradF: no Values", "derivative: GradG: no Values"}
	inexact := noExact("GradF", "HessG")
	// An entry of x may act by f or y*(x) alone, in one term, in few draws, or at one point.
	own := func(x, y auto.Vec, s bilevel.Sample) auto.Num { return x.At(int(s % 50)).Sin() }
	lowerAlone := func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Square() }
	nothing := func(_, _ auto.Vec, _ bilevel.Sample) auto.Num { return auto.Const(0.5) }
	first := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Sin() }
	second := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(1).Sin() }
	both := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Mul(x.At(0)) }
	beyond := losses(auto.Losses{Dx: 1, Upper: 1, Lower: 1}, lowerAlone, func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
		if x.At(0).Value() < 2 {
			return auto.Const(0)
		}
		return x.At(0).Shift(-2).Square().Mul(x.At(0).Shift(-2))
	})
	// Of a squared normal number, few draws count.
	chi := func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		z := rand.New(rand.NewPCG(uint64(s), 1)).NormFloat64()
		return lowerAlone(x, y, s).Add(y.At(0).Scale(z)).Add(x.At(0).Scale(z*z - 1))
	}
	mean := func(x, y auto.Vec) auto.Num { return lowerAlone(x, y, 0) }
	squared := losses(auto.Losses{Dx: 1, Lower: 1, MeanF: mean}, chi, first)
	few := func(n int) auto.Losses { return auto.Losses{Dx: n, Upper: 4, Lower: 4} }
	for _, c := range []struct {
		name   string
		p      bilevel.Problem
		o      Options
		gaps   names // each is part of one
		passed names
	}{
		{"good", newGood(), Options{}, nil, append(names{"derivative GradXG"}, whole...)},
		{"simulator", goodOf(3, 3, 0), Options{Seed: 1}, nil, whole},
		{"wide", goodOf(2, 5, wholeSum), Options{Seed: 2}, nil, whole},
		{"tall", goodOf(5, 1, wholeSum), Options{Seed: 3}, nil, whole},
		{"bare", bare{newGood()}, Options{MuG: 0.5}, noValues, basic},
		{"bare, but g_x", bareGX{newGood(), newGood()}, Options{}, append(names{"GradXG: no Values"}, noValues...),
			append(names{"symmetry GradXG"}, basic...)},
		{"quadratic", made(quadratic.New(quadratic.Options{Dx: 6, Dy: 3, Seed: 3})), Options{}, nil, truth},
		{"one number", made(quadratic.New(quadratic.Options{Dx: 1, Dy: 1, Seed: 3, Nonconvex: 2, Terms: 40})), Options{},
			nil, truth},
		{"noisy", noisy(0), Options{}, nil, truth},
		{"long sum", noisy(1 << 30), Options{}, nil, truth},
		{"tiny", scaled(1e-100, 0), Options{Samples: 500}, nil, whole},
		{"huge", scaled(1e100, 0), Options{Samples: 500}, nil, whole},
		{"no exact values", mutant{oracle: "all", fails: inexact}.of(goodOf(3, 3, 0)), Options{Samples: 500}, nil,
			names{"convexity HessG", "unbiased GradG"}},
		{"a sum without exact values", mutant{oracle: "all", fails: inexact}.of(newGood()), Options{}, nil,
			names{"convexity HessG", "unbiased GradG"}},
		{"sign of f_y that nobody sees", bare{mutant{oracle: "GradF", after: func(c written) { times(-1, c.fy) }}.of(
			losses(few(1), lowerAlone, first))}, Options{}, noValues, nil},
		{"promise kept", promise(2 - 1e-9), Options{}, nil, names{"convexity ConvexityAt"}},
		{"no promise", promise(math.Inf(-1)), Options{}, nil, truth},
		// One term in 10⁸ of a long sum has noise in f_x[0]; the exact value knows it.
		{"rare", mutant{oracle: "GradF", after: func(c written) {
			if len(c.batch) == 0 {
				c.fx[0]++
			}
		}}.of(made(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, Terms: 1 << 40, SigmaFy: 0.5}))), Options{},
			names{"unbiased: GradF: 1 of 7 entries have too few draws that count, the least 0 of 1000, want 100: raise " +
				"Samples, or MaxTerms to 1099511627776"}, nil},
		{"too few draws", squared, Options{}, names{"unbiased: GradF: 1 of 2 entries have too few draws that count, " +
			"the least 84 of 1000, want 100: raise Samples to 1800 or more", "unbiased: ValueF: 1 of 1 entries"}, whole},
		{"enough draws", squared, Options{Samples: 2500}, nil, append(names{"unbiased GradF"}, whole...)},

		{"f alone", losses(auto.Losses{Dx: 50, Upper: 50, Lower: 1}, own, nothing), Options{}, nil, whole},
		{"y alone", losses(auto.Losses{Dx: 50, Upper: 1, Lower: 50}, lowerAlone, own), Options{}, nil, whole},
		{"y alone, draws", losses(auto.Losses{Dx: 50}, lowerAlone, own), Options{}, nil, names{"effect CrossG"}},
		{"y alone, not exact", mutant{oracle: "CrossG", fails: noExact("CrossG")}.of(
			losses(auto.Losses{Dx: 50, Upper: 50, Lower: 50}, lowerAlone, own)), Options{}, nil, names{"effect CrossG"}},
		{"beyond", beyond, Options{}, nil, whole},
		{"not beyond", beyond, Options{ScaleX: 1e-3}, names{"do Options.Center and ScaleX keep away from where"}, basic},
		{"both", losses(few(3), both, second), Options{}, names{"effect: CrossG: without effect at all points: x[2] of 3 " +
			"entries: f_x is 0 there, and so is g_xy, or f_y; is"}, whole},
		{"none", losses(few(2), lowerAlone, nothing), Options{}, names{": x[0], x[1] of 2 entries"}, basic},
		{"f_y is 0", losses(few(2), first, second), Options{}, names{": x[1] of 2 entries"}, whole},
		{"many", losses(few(8), lowerAlone, first), Options{},
			names{": x[1], x[2], x[3], x[4], x[5], 2 more of 8 entries"}, whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.p, c.o)
			require.Empty(t, r.Findings, r)
			assert.Subset(t, passedBy(r), c.passed)
			require.Len(t, r.Gaps(), len(c.gaps), r)
			if len(c.gaps) == 0 {
				assert.NoError(t, r.Err())
			}
			for _, gap := range c.gaps {
				require.ErrorIs(t, r.Err(), ErrIncomplete)
				require.NotErrorIs(t, r.Err(), ErrWrong)
				assert.ErrorContains(t, r.Err(), gap)
			}
		})
	}
}

func TestPointsStayInTheRegion(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for name, set := range map[string]bilevel.Set{
		"half line":  bilevel.NonNegative{},
		"box":        bilevel.UniformBox(3, 0.1, 2),
		"narrow box": bilevel.UniformBox(3, 1e-6, 1e-4),
		"far box":    bilevel.UniformBox(3, 1e4, 2e4),
		"ball":       bilevel.Ball{Center: []float64{2, 2, 2}, Radius: 1},
		"simplex":    bilevel.Simplex{},
	} {
		for _, fussy := range []bool{false, true} {
			for seed := range seeds {
				r := run(t, root(fussy, set), Options{Set: set, Seed: seed, Points: 4})
				require.Empty(t, r.Findings, "%s %s", name, r)
				if name == "box" || name == "ball" {
					assert.Contains(t, passedBy(r), "derivative CrossG")
				}
			}
		}
	}
}

// Rounding in values is no wrong gradient, and does not hide that nothing was judged.
func TestRoughValuesAreReported(t *testing.T) {
	for noise, judged := range map[float64]bool{1e-12: true, 1e-6: false} {
		r := run(t, mutant{oracle: "ValueF", after: func(m written) {
			// Deterministic, like rounding, but rougher.
			rng := rand.New(rand.NewPCG(math.Float64bits(mat.Norm(m.x)), math.Float64bits(mat.Norm(m.y))))
			if len(m.batch) == 1 {
				*m.f += noise * rng.Float64()
			}
		}}.of(newGood()), Options{})
		for _, f := range r.Findings {
			assert.NotEqual(t, "GradF", f.Oracle, r)
		}
		assert.Equal(t, !judged, slices.ContainsFunc(r.Skipped, func(s Skip) bool {
			return s.Oracle == "GradF" && strings.Contains(s.Reason, "too rough")
		}), r)
	}
}

func TestSimulatorsAreRarelyAccused(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		q := quadratic.Options{Dx: 3, Dy: 4, Seed: seed, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 1, SigmaGyy: 1}
		require.NoError(t, run(t, made(quadratic.New(q)), Options{Seed: seed, Points: 1}).Err())
	}
}

func TestReport(t *testing.T) {
	r := run(t, newGood(), Options{})
	assert.Equal(t, r, run(t, newGood(), Options{}))
	assert.True(t, strings.HasPrefix(r.String(), "RIGHT: 0 wrong, 0 could not be checked, "), r)
	r = run(t, bare{newGood()}, Options{})
	assert.True(t, strings.HasPrefix(r.String(), "NOT COMPLETE: 0 wrong, 2 could not be checked, "), r)
	assert.Contains(t, r.String(), "\nNOT CHECKED ")
	assert.NotContains(t, r.String(), "WRONG")
	p := mutant{oracle: "GradF", fails: noExact("GradF")}.of(newGood())
	assert.Equal(t, []Skip{{Unbiased, "GradF", "it returns ErrNoExact", false}}, run(t, p, Options{}).Skipped)

	r = run(t, mutant{oracle: "CrossG", after: func(c written) { mat.Scale(c.gxy, 2, c.gxy) }}.of(goodOf(4, 4, wholeSum)),
		Options{})
	assert.True(t, strings.HasPrefix(r.String(), "WRONG, AND NOT COMPLETE: 5 wrong, 1 could not be checked, "), r)
	f := r.Findings
	require.Len(t, f, 5, "the worst five")
	assert.Contains(t, f[4].Message, "and 11 more entries")
	for i := range 4 {
		assert.GreaterOrEqual(t, math.Abs(f[i].Got-f[i].Want), math.Abs(f[i+1].Got-f[i+1].Want))
	}
	assert.Len(t, f[0].Batch, 1)
	assert.Equal(t, 5, strings.Count(r.Err().Error(), "derivative: CrossG: g_xy["))
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Points": {Points: -1}, "Samples": {Samples: 499}, "Center": {Center: []float64{1}},
		"CenterY": {CenterY: []float64{0, 0, math.NaN()}},
		"ScaleX":  {ScaleX: -1}, "ScaleY": {ScaleY: math.Inf(1)}, "MuG": {MuG: -1}, "Box": {Set: bilevel.UniformBox(2, 0, 1)},
	} {
		r, err := Problem(newGood(), o)
		assert.Nil(t, r)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, name+" ")
	}
	_, err := Problem(noDims{newGood()}, Options{})
	assert.ErrorContains(t, err, "Dims")
}

type noDims struct{ bilevel.Problem }

func (noDims) Dims() (dx, dy int) { return 0, 3 }
