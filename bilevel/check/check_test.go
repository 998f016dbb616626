package check

import (
	"cmp"
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
	"stable/bilevel/quadratic"
	"stable/mat"
	"stable/mat/mattest"
)

func run(p bilevel.Problem, o Options) *Report { return made(Problem(p, o)) }

func passedBy(r *Report) []string {
	var s []string
	for _, p := range r.Passed {
		s = append(s, p.Check+" "+p.Oracle)
	}
	return s
}

type mistake struct {
	name    string
	p       bilevel.Problem // nil: good
	in      string          // the oracle, if it is not that of the finding
	batch   func(c written) []bilevel.Sample
	after   func(c written)
	fails   func(c written) error
	o       Options
	want    string // how the finding begins
	message string // what it says
	bare    bool   // without Values and Products
	also    bool   // there are findings on other oracles or of other checks as well
}

var mistakes = []mistake{
	{name: "sign of f_x", after: func(c written) { c.fx[1] = -c.fx[1] }, want: "derivative: GradF: f_x[1]:"},
	{name: "factor 2 in all of f", after: func(c written) { times(2, c.fx, c.fy) },
		want: "derivative: GradF: f_y[0]:", message: "2 times"},
	{name: "sign of f_y, without values", after: func(c written) { c.fy[1] = -c.fy[1] },
		want: "symmetry: GradF: ∂(f_x,f_y)/∂(x,y)[4,0]:", bare: true},
	{name: "factor 2 in g_y, without values", after: func(c written) { times(2, c.dst) },
		want: "derivative: GradG: g_y:", message: "both g_xy and g_yy are 0.5 times", bare: true},
	{name: "sign of one entry of g_y, without values", after: func(c written) { c.dst[1] = -c.dst[1] },
		want: "symmetry: GradG: ∂g_y/∂y[1,0]:", bare: true},
	{name: "one entry of g_y misses a constant", after: func(c written) { c.dst[2] += 1e-3 },
		want: "derivative: GradG: g_y[2]:"},
	{name: "transposed g_xy", after: func(c written) {
		d := mat.NewDense(3, 3)
		mat.CopyTrans(d, c.gxy)
		mat.Copy(c.gxy, d)
	}, want: "derivative: CrossG: g_xy[", message: "transpose"},
	{name: "factor 2 in g_yy, without values", after: func(c written) { mat.ScaleSym(c.gyy, 2, c.gyy) },
		want: "derivative: HessG: g_yy[", message: "2 times", bare: true},
	{name: "one wrong entry of g_yy", after: func(c written) { c.gyy.Set(2, 1, c.gyy.At(2, 1)+1e-5) },
		want: "derivative: HessG: g_yy[2,1]:"},
	{name: "fresh draw at each call", batch: func() func(c written) []bilevel.Sample {
		rng := rand.New(rand.NewPCG(5, 5))
		return func(c written) []bilevel.Sample { return redraw(rng, c.batch) }
	}(), want: "same draw: GradG: g_y[0]:", message: "second call"},
	{name: "fresh draw at a new point", batch: func() func(c written) []bilevel.Sample {
		rng, last, draw := rand.New(rand.NewPCG(5, 5)), math.NaN(), []bilevel.Sample(nil)
		return func(c written) []bilevel.Sample {
			if len(c.batch) > 0 && c.x[0] != last {
				last, draw = c.x[0], redraw(rng, c.batch)
			}
			return draw[:min(len(draw), len(c.batch))]
		}
	}(), want: "same draw: HessG: g_yy[0,0]:", message: "after a visit"},
	{name: "draw that depends on the point", batch: func(c written) []bilevel.Sample {
		return redraw(rand.New(rand.NewPCG(math.Float64bits(c.x[0]), 5)), c.batch)
	}, want: "same draw: CrossG: g_xy[0,0]:", message: "all points; or lower ScaleX"},
	{name: "kept as long as x is the same", after: func() func(c written) {
		var x, y []float64
		return func(c written) {
			if !slices.Equal(c.x, x) {
				x, y = slices.Clone(c.x), slices.Clone(c.y)
			}
			_ = newGood().GradF(make([]float64, 3), c.fy, c.x, y, c.batch)
		}
	}(), want: "same draw: GradF: f_y[0]:", message: "x or y alone"},
	{name: "wrong in one term", after: func(c written) {
		for _, s := range c.batch {
			c.fy[1] += map[bool]float64{true: 1}[s == 1] / float64(len(c.batch))
		}
		c.fy[1] += map[bool]float64{true: 1. / wholeSum}[len(c.batch) == 0]
	}, want: "derivative: GradF: f_y[1]:"},
	{name: "half of a projection", o: Options{Set: projects(func(dst, x []float64) { times(0.5, dst) })},
		want: "projection: Options.Set: (z − P(z))ᵀ(w − P(z)):"},
	{name: "not the nearest point", o: Options{Set: projects(func(dst, x []float64) { times(1/max(1, maxAbs(x)), dst) })},
		want: "projection: Options.Set: (z − P(z))ᵀ(w − P(z)):"},
	{name: "other samples in g_xy than in g_y", batch: func(c written) (other []bilevel.Sample) {
		for _, s := range c.batch {
			other = append(other, (s+1)%wholeSum)
		}
		return other
	}, want: "derivative: CrossG: g_xy["},
	{name: "f_y added to what is there", after: func(c written) { mat.Axpy(c.fy, 1, c.was) },
		want: "overwrite: GradF: f_y[0]:", message: "added"},
	{name: "g_xy added to what is there", after: func(c written) { mat.Axpy(c.gxy.Row(2), 1, c.was) },
		want: "overwrite: CrossG: g_xy[2,0]:", message: "added"},
	{name: "an entry is not written", after: func(c written) { c.dst[2] = c.was[2] },
		want: "overwrite: GradG: g_y[2]:", message: "not written", also: true},
	{name: "stride ignored", after: func(c written) {
		d := mat.NewDense(3, 3)
		mat.Copy(d, c.gxy)
		copy(c.gxy.Data, d.Data)
	}, want: "overwrite: CrossG: g_xy:", message: "Stride", also: true},
	{name: "header replaced", after: func(c written) {
		*c.gyy = mat.Sym{N: c.gyy.N, Stride: c.gyy.Stride, Data: slices.Clone(c.gyy.Data)}
	}, want: "inputs: HessG: g_yy:", message: "header"},
	{name: "x modified", after: func(c written) { c.x[2] = 0 }, want: "inputs: GradF: x[2]:"},
	{name: "y modified", after: func(c written) { times(2, c.y[1:2]) }, want: "inputs: GradG: y[1]:"},
	{name: "v modified", after: func(c written) { c.v[0] = 7 }, want: "inputs: HessVecG: v[0]:"},
	{name: "samples modified", after: func(c written) { clear(c.batch) }, want: "inputs: HessG: samples:"},
	{name: "batch summed", after: func(c written) { mat.ScaleSym(c.gyy, float64(max(len(c.batch), 1)), c.gyy) },
		want: "batch mean: HessG: g_yy[0,0]:", message: "70 times"},
	{name: "batch cut in f_y, beside a huge f_x", p: losses(auto.Losses{Dx: 1, Upper: 4, Lower: 1}, func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		return x.At(0).Scale(1e12).Add(y.At(0).Scale(float64(s)))
	}, func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0) }), want: "batch mean: GradF: f_y[0]:",
		batch: func(c written) []bilevel.Sample { return c.batch[:min(8, len(c.batch))] }},
	{name: "biased exact value", after: func(c written) {
		if len(c.batch) == 0 {
			c.dst[1] += 1e-6
		}
	}, want: "unbiased: GradG: g_y[1]:"},
	{name: "exact value of one term", batch: func(c written) []bilevel.Sample {
		return append(c.batch, make([]bilevel.Sample, 1-min(len(c.batch), 1))...)
	}, want: "unbiased: GradF: f_x[0]:"},
	{name: "NaN", after: func(c written) { c.fy[1] = math.Log(-1) }, want: "finite: GradF: f_y[1]:"},
	{name: "Inf", after: func(c written) { c.gyy.Set(1, 0, math.Inf(1)) }, want: "finite: HessG: g_yy[1,0]:"},
	{name: "NaN in a term", after: func(c written) {
		if one := slices.Equal(c.batch, []bilevel.Sample{9}); one || len(c.batch) == 0 {
			c.dst[1] = math.NaN()
		}
	}, want: "finite: GradG: g_y[1]: not finite at sample 9: got NaN"},
	{name: "error of a term", fails: func(c written) error {
		if one := slices.Equal(c.batch, []bilevel.Sample{9}); one || len(c.batch) == 0 {
			return errors.New("a short row")
		}
		return nil
	}, want: "call: GradG: g_y: a short row, at sample 9 alone, too"},
	{name: "wrong Hessian product", after: func(c written) { c.dst[2] += 0.001 * c.v[1] },
		want: "product: HessVecG: g_yy[2,1]:"},
	{name: "product with the transpose", after: func(c written) {
		d := mat.NewDense(3, 3)
		_ = newGood().CrossG(d, c.x, c.y, c.batch)
		mat.MulVecTrans(c.dst, d, c.v)
	}, want: "product: CrossVecG: g_xy[", message: "transpose"},
	{name: "product that is not linear", after: func(c written) { c.dst[0] += c.v[0] * c.v[1] },
		want: "product: CrossVecG: g_xy·v:", message: "linear"},
	{name: "panic", after: func(c written) { c.gxy.Set(3, 0, 1) },
		want: "call: CrossG: g_xy:", message: "panic: mat: Dense.Set: index out of range"},
	{name: "ErrDomain", fails: func(written) error { return bilevel.ErrDomain },
		want: "call: GradG: g_y:", message: "Options.Center, CenterY"},
	{name: "ErrNoExact for a sample", fails: func(written) error { return bilevel.ErrNoExact },
		want: "call: GradF: f_x:", message: "no exact value"},
	{name: "wrong value", in: "ValueF", after: func(c written) { *c.f += c.x[1] },
		want: "derivative: GradF: f_x[1]:", message: "ValueF"},
	{name: "sign of g_x", after: func(c written) { times(-1, c.dst) },
		want: "derivative: GradXG: g_x[0]:", message: "-1 times"},
	{name: "sign of g_x, without values", after: func(c written) { times(-1, c.dst) }, bare: true,
		want: "symmetry: GradXG: ∂g_x/∂y[0,0]:"},
	{name: "small factor in a tiny f_y", p: scaled(1e-100, wholeSum), after: func(c written) { c.fy[1] *= 1 + 1e-5 },
		want: "derivative: GradF: f_y[1]:"},
	{name: "small factor in a huge f_y", p: scaled(1e100, wholeSum), after: func(c written) { c.fy[1] *= 1 + 1e-5 },
		want: "derivative: GradF: f_y[1]:"},
	{name: "biased exact value of a simulator", p: noisy(0), after: exactAlone, bare: true,
		want: "unbiased: GradG: g_y[3]: differs from the mean over draws:"},
	{name: "biased exact value of a long sum", p: noisy(1 << 30), after: exactAlone,
		want: "unbiased: GradG: g_y[3]: differs from the mean over draws:"},
	{name: "outside of the region", p: root(false, bilevel.Space{}), want: "finite: GradG: g_y[0]:", also: true},
	{name: "less convex than said", o: Options{MuG: 5}, want: "convexity: HessG: λ_min(g_yy): g is not as strongly " +
		"convex in y as it should be: got 2.16796, want 5"},
	{name: "less convex than said, without exact values", p: goodOf(3, 3, 0), in: "all", fails: noExact("GradF", "HessG"),
		o: Options{Samples: 500, MuG: 9}, want: "convexity: HessG: λ_min(g_yy):"},
	{name: "not convex", p: flat(-1), bare: true, want: "convexity: HessG: λ_min(g_yy):", message: "must be above 0"},
	{name: "singular", p: flat(1), bare: true, want: "convexity: HessG: λ_min(g_yy):", message: "must be above 0"},
	{name: "zero", p: flat(0), bare: true, want: "convexity: HessG: λ_min(g_yy):", message: "must be above 0"},
	{name: "joint", p: joint{noisy(0)}, want: "product: JointG: g_xy·v[1]:", message: "the entry by itself"},
	{name: "promise a thousandth too high", p: promise(2.002), want: "convexity: ConvexityAt: λ_min(g_yy):"},
	{name: "promise of NaN", p: promise(math.NaN()), want: "finite: ConvexityAt: s: want a number, or −Inf"},
	{name: "solution", p: lying{noisy(0), func(y []float64, _ float64) { y[2] += 1e-4 }, nil},
		want: "truth: Solution: y*[2]: differs from Newton"},
	{name: "solution depends on the start", p: lying{noisy(0), func(y []float64, old float64) { y[1] += 1e-5 * old }, nil},
		want: "truth: Solution: y*[1]: differs from the solution from another start"},
	{name: "solution panics", p: lying{noisy(0), func([]float64, float64) { panic("singular") }, nil},
		want: "call: Solution: y*: panic: singular"},
	{name: "sign in ∇F", p: lying{noisy(0), nil, func(_, grad []float64) { times(-1, grad[min(1, len(grad)):]) }},
		want: "truth: Objective: ∇F[1]:"},
	{name: "F misses a constant", p: lying{noisy(0), nil, func(f, _ []float64) { f[0]++ }},
		want: "truth: Objective: F: differs from f(x, y*(x))"},
	{name: "another F without gradient", p: lying{noisy(0), nil, func(f, grad []float64) {
		if grad == nil {
			f[0]++
		}
	}}, want: "truth: Objective: F:", message: "comes with the gradient"},
}

type projects func(dst, x []float64)

func (projects) Validate(int) error { return nil }

func (p projects) Project(dst, x []float64) {
	copy(dst, x)
	p(dst, slices.Clone(x))
}

func times(s float64, all ...[]float64) {
	for _, x := range all {
		for i := range x {
			x[i] *= s
		}
	}
}

func redraw(rng *rand.Rand, batch []bilevel.Sample) []bilevel.Sample {
	return mattest.List(len(batch), func(int) bilevel.Sample { return bilevel.Sample(rng.Uint64N(wholeSum)) })
}

func exactAlone(c written) {
	if len(c.batch) == 0 {
		c.dst[3]++
	}
}

func (m *mistake) problem() bilevel.Problem {
	p := cmp.Or[bilevel.Problem](m.p, newGood())
	if m.batch != nil || m.after != nil || m.fails != nil {
		wrong := mutant{cmp.Or(m.in, strings.Split(m.want, ": ")[1]), m.batch, m.after, m.fails}
		p = wrong.of(p.(full))
	}
	if m.bare {
		return bareGX{p, p.(full)}
	}
	return p
}

func TestMistakesAreNamed(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r := run(m.problem(), m.o)
			require.ErrorIs(t, r.Err(), ErrWrong)
			in := strings.Join(strings.Split(m.want, ": ")[:2], ": ")
			found := false
			for _, f := range r.Findings {
				if strings.HasPrefix(f.String(), m.want) {
					found = true
					assert.Contains(t, f.Message, m.message)
				}
				assert.True(t, m.also || f.Check+": "+f.Oracle == in, r)
			}
			assert.True(t, found, r)
			assert.Contains(t, r.Err().Error(), in)
			assert.NotContains(t, passedBy(r), strings.Replace(in, ":", "", 1))
		})
	}
}

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
		{"bare", bare{newGood()}, Options{MuG: 0.5}, noValues, basic},
		{"bare, with what it lacks", bilevel.Complete(bare{newGood()}), Options{}, noValues, basic},
		{"narrow", losses(few(1), lowerAlone, func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Shift(-1e5).Scale(1e3) }),
			Options{Set: bilevel.UniformBox(1, 1e5, 1e5+1e-3)}, nil, whole},
		{"rare event", losses(auto.Losses{Dx: 1, Lower: 1, MeanF: mean}, func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.At(0).Square().Scale(map[bool]float64{true: 3000}[rand.New(rand.NewPCG(uint64(s), 1)).Float64() < 1./3000])
		}, first), Options{Seed: 1}, names{"unbiased: GradF: 1 of 2 entries have too few draws", "unbiased: ValueF: 1 of 1 entries"}, nil},
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
			names{"unbiased: GradF: 1 of 7 entries have too few draws that count, the least 0 of 10000, want 100: raise " +
				"Samples, or MaxTerms to 1099511627776"}, nil},
		{"too few draws", squared, Options{}, names{"unbiased: GradF: 1 of 2 entries have too few draws that count, " +
			"the least 84 of 1000, want 100: raise Samples to 1800 or more", "unbiased: ValueF: 1 of 1 entries"}, whole},
		{"enough draws", squared, Options{Samples: 2500}, nil, append(names{"unbiased GradF"}, whole...)},

		{"terms cancel, and errors of the longest step", losses(few(1), func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.At(0).Scale([]float64{1.1e8, -1.1e8, 1.3e8, -1.3e8}[s]).Add(lowerAlone(y, y, s))
		}, func(x, _ auto.Vec, _ bilevel.Sample) auto.Num {
			return x.At(0).Pow(3).Scale(170).Sub(x.At(0).Pow(5).Scale(1.6e6)).Add(x.At(0))
		}), Options{Set: bilevel.UniformBox(1, 0, 0)}, nil, whole},
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
			r := run(c.p, c.o)
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
	for name, set := range map[string]bilevel.Set{
		"half line":  bilevel.NonNegative{},
		"box":        bilevel.UniformBox(3, 0.1, 2),
		"narrow box": bilevel.UniformBox(3, 1e-6, 1e-4),
		"far box":    bilevel.UniformBox(3, 1e4, 2e4),
		"ball":       bilevel.Ball{Center: []float64{2, 2, 2}, Radius: 1},
		"simplex":    bilevel.Simplex{},
	} {
		for _, fussy := range []bool{false, true} {
			for seed := range uint64(mattest.Count(2, 5, 5)) {
				r := run(root(fussy, set), Options{Set: set, Seed: seed, Points: 4})
				require.Empty(t, r.Findings, "%s %s", name, r)
				if name == "box" || name == "ball" {
					assert.Contains(t, passedBy(r), "derivative CrossG")
				}
			}
		}
	}
}

func TestRoughValuesAreReported(t *testing.T) {
	for noise, judged := range map[float64]bool{1e-12: true, 1e-6: false} {
		r := run(mutant{oracle: "ValueF", after: func(m written) {
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
	for seed := range uint64(mattest.Count(6, 20, 20)) {
		q := quadratic.Options{Dx: 3, Dy: 4, Seed: seed, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 1, SigmaGyy: 1}
		require.NoError(t, run(made(quadratic.New(q)), Options{Seed: seed, Points: 1}).Err())
	}
}

func TestReport(t *testing.T) {
	r := run(newGood(), Options{})
	assert.Equal(t, r, run(newGood(), Options{}))
	assert.True(t, strings.HasPrefix(r.String(), "RIGHT: 0 wrong, 0 could not be checked, "), r)
	r = run(bare{newGood()}, Options{})
	assert.True(t, strings.HasPrefix(r.String(), "NOT COMPLETE: 0 wrong, 2 could not be checked, "), r)
	assert.Contains(t, r.String(), "\nNOT CHECKED ")
	assert.NotContains(t, r.String(), "WRONG")
	p := mutant{oracle: "GradF", fails: noExact("GradF")}.of(newGood())
	assert.Equal(t, []Skip{{Unbiased, "GradF", "it returns ErrNoExact", false}}, run(p, Options{}).Skipped)

	r = run(mutant{oracle: "CrossG", after: func(c written) { mat.Scale(c.gxy, 2, c.gxy) }}.of(goodOf(4, 4, wholeSum)),
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
	_, err := Problem(&bileveltest.Wavy[bilevel.Sample]{Dy: 3}, Options{})
	assert.ErrorContains(t, err, "dx = 0, dy = 3")
	_, err = Problem(nil, Options{})
	assert.ErrorIs(t, err, bilevel.ErrOption)
}
