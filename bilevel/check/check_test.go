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
	"stable/mat"
)

func run(t testing.TB, p bilevel.Problem, o Options) *Report {
	t.Helper()
	r, err := Problem(p, o)
	require.NoError(t, err)
	return r
}

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
	}, want: "same draw: CrossG: g_xy[0,0]:", message: "jumps"},
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
		want: "batch mean: HessG: g_yy[0,0]:", message: "3 times"},
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
		want: "call: GradF: f_x:", message: "no exact oracle"},
	{name: "wrong value", in: "ValueF", after: func(c written) { *c.f += c.x[1] },
		want: "derivative: GradF: f_x[1]:", message: "ValueF"},
	// On other problems.
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

func exactAlone(c written) {
	if len(c.batch) == 0 {
		c.dst[3]++
	}
}

func (m *mistake) problem() bilevel.Problem {
	p := m.p
	if p == nil {
		p = newGood()
	}
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
			r := run(t, m.problem(), m.o)
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
