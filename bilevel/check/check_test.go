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
	"stable/bilevel/quadratic"
	"stable/mat"
)

func run(t testing.TB, p bilevel.Problem, o Options) *Report {
	t.Helper()
	r, err := Problem(p, o)
	require.NoError(t, err)
	return r
}

func TestCorrectProblemsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	problems := map[string]bilevel.Problem{
		"good":           newGood(),
		"good/simulator": goodOf(3, 3, 0),
		"good/wide":      goodOf(2, 5, wholeSum),
		"good/tall":      goodOf(5, 1, wholeSum),
		"good/bare":      bare{newGood()},
		"quiet":          newQuadratic(t, quadratic.Options{Dx: 6, Dy: 3, Seed: 3}),
		"quiet/sum":      newQuadratic(t, quadratic.Options{Dx: 1, Dy: 1, Seed: 3, Nonconvex: 2, Terms: 40}),
	}
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				r := run(t, p, Options{Seed: seed})
				require.Empty(t, r.Findings, r)
				assert.Subset(t, passedBy(r), []string{"call GradF", "overwrite HessG", "inputs CrossG", "same draw GradG",
					"batch mean CrossG", "derivative CrossG", "derivative HessG", "convexity HessG", "unbiased GradG"})
				if _, ok := p.(bilevel.Values); ok {
					require.NoError(t, r.Err(), r)
					assert.Subset(t, passedBy(r), []string{"derivative GradF", "derivative GradG", "product CrossVecG"})
					assert.Empty(t, r.Skipped)
				}
				if _, ok := p.(bilevel.Truth); ok {
					assert.Subset(t, passedBy(r), []string{"truth Solution", "truth Objective"})
				}
			}
		})
	}
}

func passedBy(r *Report) []string {
	var s []string
	for _, p := range r.Passed {
		s = append(s, p.Check+" "+p.Oracle)
	}
	return s
}

// mistake is one thing that people get wrong, and the finding that it must lead to.
type mistake struct {
	name       string
	in         string // the oracle, if it is not that of the finding
	batch      func(c call) []bilevel.Sample
	after      func(c call)
	fails      error
	want       string // how the finding begins
	message    string
	hideValues bool
	also       bool // there are findings on other oracles or of other checks as well
}

var mistakes = []mistake{
	{name: "sign of f_x", after: func(c call) { c.fx[1] = -c.fx[1] }, want: "derivative: GradF: f_x[1]:"},
	{name: "factor 2 in f_y", after: func(c call) { c.fy[2] *= 2 }, want: "derivative: GradF: f_y[2]:"},
	{name: "factor 2 in all of f", after: func(c call) { times(2, c.fx, c.fy) },
		want: "derivative: GradF: f_y[0]:", message: "2 times"},
	{name: "sign of f_y, without values", after: func(c call) { c.fy[1] = -c.fy[1] },
		want: "symmetry: GradF: ∂(f_x,f_y)/∂(x,y)[4,0]:", hideValues: true},
	{name: "sign of g_y", after: func(c call) { times(-1, c.gy) }, want: "derivative: GradG: g_y[0]:", message: "-1 times"},
	{name: "factor 2 in g_y, without values", after: func(c call) { times(2, c.gy) },
		want: "derivative: GradG: g_y:", message: "both g_xy and g_yy are 0.5 times", hideValues: true},
	{name: "sign of one entry of g_y, without values", after: func(c call) { c.gy[1] = -c.gy[1] },
		want: "symmetry: GradG: ∂g_y/∂y[1,0]:", hideValues: true},
	{name: "one entry of g_y misses a constant", after: func(c call) { c.gy[2] += 1e-3 },
		want: "derivative: GradG: g_y[2]:"},
	{name: "transposed g_xy", after: func(c call) {
		d := mat.NewDense(3, 3)
		mat.CopyTrans(d, c.gxy)
		mat.Copy(c.gxy, d)
	}, want: "derivative: CrossG: g_xy[", message: "transpose"},
	{name: "sign of g_xy", after: func(c call) { mat.Scale(c.gxy, -1, c.gxy) },
		want: "derivative: CrossG: g_xy[0,0]:", message: "-1 times"},
	{name: "factor 2 in g_yy, without values", after: func(c call) { mat.ScaleSym(c.gyy, 2, c.gyy) },
		want: "derivative: HessG: g_yy[", message: "2 times", hideValues: true},
	{name: "one wrong entry of g_yy", after: func(c call) { c.gyy.Set(2, 1, c.gyy.At(2, 1)+1e-5) },
		want: "derivative: HessG: g_yy[2,1]:"},
	{name: "g_y with a non-symmetric Jacobian", after: func(c call) { c.gy[2] += 0.01 * c.y[0] },
		want: "symmetry: GradG: ∂g_y/∂y[2,0]:", hideValues: true},
	{name: "fresh draw at each call", batch: func() func(c call) []bilevel.Sample {
		rng := rand.New(rand.NewPCG(5, 5))
		return func(c call) []bilevel.Sample { return redraw(rng, c.batch) }
	}(), want: "same draw: GradG: g_y[0]:", message: "second call"},
	{name: "fresh draw at a new point", batch: func() func(c call) []bilevel.Sample {
		rng, last, draw := rand.New(rand.NewPCG(5, 5)), math.NaN(), []bilevel.Sample(nil)
		return func(c call) []bilevel.Sample {
			if len(c.batch) > 0 && c.x[0] != last {
				last, draw = c.x[0], redraw(rng, c.batch)
			}
			return draw[:min(len(draw), len(c.batch))]
		}
	}(), want: "same draw: HessG: g_yy[0,0]:", message: "after a visit"},
	{name: "draw that depends on the point", batch: func(c call) []bilevel.Sample {
		return redraw(rand.New(rand.NewPCG(math.Float64bits(c.x[0]), 5)), c.batch)
	}, want: "same draw: CrossG: g_xy[0,0]:", message: "jumps"},
	{name: "other samples in g_xy than in g_y", batch: func(c call) (other []bilevel.Sample) {
		for _, s := range c.batch {
			other = append(other, (s+1)%wholeSum)
		}
		return other
	}, want: "derivative: CrossG: g_xy["},
	{name: "f_y added to what is there", after: func(c call) { mat.Axpy(c.fy, 1, c.was) },
		want: "overwrite: GradF: f_y[0]:", message: "added"},
	{name: "g_xy added to what is there", after: func(c call) {
		was := *c.gxy
		was.Data = c.was
		mat.AddScaled(c.gxy, c.gxy, 1, &was)
	}, want: "overwrite: CrossG: g_xy[0,0]:", message: "added"},
	{name: "an entry is not written", after: func(c call) { c.gy[2] = c.was[2] },
		want: "overwrite: GradG: g_y[2]:", message: "not written", also: true},
	{name: "stride ignored", after: func(c call) {
		d := mat.NewDense(3, 3)
		mat.Copy(d, c.gxy)
		copy(c.gxy.Data, d.Data)
	}, want: "overwrite: CrossG: g_xy:", message: "Stride", also: true},
	{name: "header replaced", after: func(c call) {
		*c.gyy = mat.Sym{N: c.gyy.N, Stride: c.gyy.Stride, Data: slices.Clone(c.gyy.Data)}
	}, want: "inputs: HessG: g_yy:", message: "header"},
	{name: "x modified", after: func(c call) { c.x[2] = 0 }, want: "inputs: GradF: x[2]:"},
	{name: "y modified", after: func(c call) { times(2, c.y[1:2]) }, want: "inputs: GradG: y[1]:"},
	{name: "v modified", after: func(c call) { c.v[0] = 7 }, want: "inputs: HessVecG: v[0]:"},
	{name: "samples modified", after: func(c call) { clear(c.batch) }, want: "inputs: HessG: samples:"},
	{name: "batch summed", after: func(c call) { mat.ScaleSym(c.gyy, float64(max(len(c.batch), 1)), c.gyy) },
		want: "batch mean: HessG: g_yy[0,0]:", message: "3 times"},
	{name: "first of the batch only", batch: func(c call) []bilevel.Sample { return c.batch[:min(len(c.batch), 1)] },
		want: "batch mean: GradF: f_x[0]:"},
	{name: "biased exact value", after: func(c call) {
		if len(c.batch) == 0 {
			c.gy[1] += 1e-6
		}
	}, want: "unbiased: GradG: g_y[1]:"},
	{name: "exact value of half the sum", batch: func(c call) []bilevel.Sample {
		if len(c.batch) == 0 {
			return []bilevel.Sample{0, 1, 2, 3, 4, 5}
		}
		return c.batch
	}, want: "unbiased: GradF: f_x[0]:"},
	{name: "NaN", after: func(c call) { c.fy[1] = math.Log(-1) }, want: "finite: GradF: f_y[1]:"},
	{name: "Inf", after: func(c call) { c.gyy.Set(1, 0, math.Inf(1)) }, want: "finite: HessG: g_yy[1,0]:"},
	{name: "wrong Hessian product", after: func(c call) { c.dst[2] += 0.001 * c.v[1] },
		want: "product: HessVecG: g_yy[2,1]:"},
	{name: "wrong cross product", after: func(c call) { c.dst[0] = -c.dst[0] }, want: "product: CrossVecG: g_xy[0,0]:"},
	{name: "product that is not linear", after: func(c call) { c.dst[0] += c.v[0] * c.v[1] },
		want: "product: CrossVecG: g_xy·v:", message: "linear"},
	{name: "panic", after: func(c call) { c.gxy.Set(3, 0, 1) },
		want: "call: CrossG: g_xy:", message: "panic: mat: Dense.Set: index out of range"},
	{name: "error", fails: errors.New("no licence"), want: "call: GradG: g_y:", message: "no licence"},
	{name: "ErrNoExact for a sample", fails: bilevel.ErrNoExact, want: "call: GradF: f_x:", message: "no exact oracle"},
	{name: "wrong value", in: "ValueF", after: func(c call) { *c.f += c.x[1] },
		want: "derivative: GradF: f_x[1]:", message: "ValueF"},
}

func times(s float64, all ...[]float64) {
	for _, x := range all {
		for i := range x {
			x[i] *= s
		}
	}
}

func redraw(rng *rand.Rand, batch []bilevel.Sample) []bilevel.Sample {
	other := make([]bilevel.Sample, len(batch))
	for i := range other {
		other[i] = bilevel.Sample(rng.Uint64N(wholeSum))
	}
	return other
}

func (m *mistake) problem() bilevel.Problem {
	p := &mutant{full: newGood(), oracle: cmp.Or(m.in, strings.Split(m.want, ": ")[1]), batch: m.batch, after: m.after}
	if m.fails != nil {
		p.fails = func(call) error { return m.fails }
	}
	if m.hideValues {
		return bare{p}
	}
	return p
}

func TestMistakesAreNamed(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r := run(t, m.problem(), Options{})
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
