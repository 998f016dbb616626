package check

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
	}
	for _, w := range []float64{0, 2} {
		for _, terms := range []uint64{0, 40} {
			for _, sigma := range []float64{0, 0.5} {
				for _, d := range [][2]int{{1, 1}, {4, 4}, {6, 3}, {3, 8}} {
					q, err := quadratic.New(quadratic.Options{Dx: d[0], Dy: d[1], Seed: 3, Nonconvex: w, Terms: terms,
						SigmaFx: sigma, SigmaFy: sigma, SigmaGy: sigma, SigmaGxy: sigma, SigmaGyy: sigma})
					require.NoError(t, err)
					problems[fmt.Sprintf("quadratic/w=%v/terms=%d/sigma=%v/%v", w, terms, sigma, d)] = q
				}
			}
		}
	}
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				r := run(t, p, Options{Seed: seed})
				require.Empty(t, r.Findings, r)
				for _, c := range []struct{ check, oracle string }{{Call, "GradF"}, {Overwrite, "HessG"},
					{Inputs, "CrossG"}, {SameDraw, "GradG"},
					{BatchMean, "CrossG"}, {Derivative, "CrossG"}, {Derivative, "HessG"}, {Convexity,
						"HessG"}, {Unbiased, "GradG"}} {
					assert.Contains(t, passedBy(r), c.check+" "+c.oracle)
				}
				if _, ok := p.(bilevel.Values); ok {
					require.NoError(t, r.Err(), r)
					assert.Contains(t, passedBy(r), "derivative GradF")
					assert.Contains(t, passedBy(r), "derivative GradG")
					assert.Contains(t, passedBy(r), "product CrossVecG")
					assert.Empty(t, r.Skipped)
				}
				if _, ok := p.(bilevel.Truth); ok {
					assert.Contains(t, passedBy(r), "truth Solution")
					assert.Contains(t, passedBy(r), "truth Objective")
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
	name          string
	mutate        func(m *mutant, q *good)
	after         func(c call) // changes what the oracle has written
	check, oracle string
	quantity      string
	i, j          int
	message       string
	hideValues    bool
	also          bool // there are findings on other oracles or of other checks as well
}

// anywhere stands for the index of the entry where all of them are wrong.
const anywhere = -2

var mistakes = []mistake{
	{name: "sign of f_x", after: func(c call) { c.fx[1] = -c.fx[1] },
		check: Derivative, oracle: "GradF", quantity: "f_x", i: 1, j: -1},
	{name: "factor 2 in f_y", after: func(c call) { c.fy[2] *= 2 },
		check: Derivative, oracle: "GradF", quantity: "f_y", i: 2, j: -1},
	{name: "factor 2 in all of f", after: func(c call) {
		times(2, c.fx)
		times(2, c.fy)
	}, check: Derivative, oracle: "GradF", quantity: "f_y", i: 0, j: -1, message: "2 times"},
	{name: "sign of f_y, without values", after: func(c call) { c.fy[1] = -c.fy[1] },
		check: Symmetry, oracle: "GradF", quantity: "∂(f_x,f_y)/∂(x,y)", i: 4, j: 0, hideValues: true},
	{name: "sign of g_y", after: func(c call) { times(-1, c.gy) },
		check: Derivative, oracle: "GradG", quantity: "g_y", i: 0, j: -1, message: "-1 times"},
	{name: "factor 2 in g_y, without values", after: func(c call) { times(2, c.gy) },
		check: Derivative, oracle: "GradG", quantity: "g_y", i: -1, j: -1, message: "both g_xy and g_yy are 0.5 times", hideValues: true},
	{name: "sign of one entry of g_y, without values", after: func(c call) { c.gy[1] = -c.gy[1] },
		check: Symmetry, oracle: "GradG", quantity: "∂g_y/∂y", i: 1, j: 0, hideValues: true},
	{name: "one entry of g_y misses a constant", after: func(c call) { c.gy[2] += 1e-3 },
		check: Derivative, oracle: "GradG", quantity: "g_y", i: 2, j: -1},
	{name: "transposed g_xy", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			d := mat.NewDense(q.dx, q.dy)
			_ = q.CrossG(d, x, y, phi)
			for i := range q.dx {
				for j := range q.dy {
					gxy.Set(i, j, d.At(j, i))
				}
			}
			return nil
		}
	}, check: Derivative, oracle: "CrossG", quantity: "g_xy", i: anywhere, message: "transpose"},
	{name: "sign of g_xy", after: func(c call) { mat.Scale(c.gxy, -1, c.gxy) },
		check: Derivative, oracle: "CrossG", quantity: "g_xy", i: 0, j: 0, message: "-1 times"},
	{name: "factor 2 in g_yy, without values", after: func(c call) { mat.ScaleSym(c.gyy, 2, c.gyy) },
		check: Derivative, oracle: "HessG", quantity: "g_yy", i: anywhere, message: "2 times", hideValues: true},
	{name: "one wrong entry of g_yy", after: func(c call) { c.gyy.Set(2, 1, c.gyy.At(2, 1)+1e-5) },
		check: Derivative, oracle: "HessG", quantity: "g_yy", i: 2, j: 1},
	{name: "g_y with a non-symmetric Jacobian", after: func(c call) { c.gy[2] += 0.01 * c.y[0] },
		check: Symmetry, oracle: "GradG", quantity: "∂g_y/∂y", i: 2, j: 0, hideValues: true},
	{name: "fresh draw at each call", mutate: func(m *mutant, q *good) {
		rng := rand.New(rand.NewPCG(5, 5))
		m.gradG = func(gy, x, y []float64, phi []bilevel.Sample) error {
			return q.GradG(gy, x, y, redraw(rng, phi))
		}
	}, check: SameDraw, oracle: "GradG", quantity: "g_y", i: 0, j: -1, message: "second call"},
	{name: "fresh draw at a new point", mutate: func(m *mutant, q *good) {
		rng, last, draw := rand.New(rand.NewPCG(5, 5)), math.NaN(), []bilevel.Sample(nil)
		m.hessG = func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
			if len(phi) == 0 {
				return q.HessG(gyy, x, y, phi)
			}
			if x[0] != last {
				last, draw = x[0], redraw(rng, phi)
			}
			return q.HessG(gyy, x, y, draw)
		}
	}, check: SameDraw, oracle: "HessG", quantity: "g_yy", i: 0, j: 0, message: "after a visit"},
	{name: "draw that depends on the point", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			rng := rand.New(rand.NewPCG(math.Float64bits(x[0]), 5))
			return q.CrossG(gxy, x, y, redraw(rng, phi))
		}
	}, check: SameDraw, oracle: "CrossG", quantity: "g_xy", i: 0, j: 0, message: "jumps"},
	{name: "other samples in g_xy than in g_y", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			other := make([]bilevel.Sample, len(phi))
			for i, s := range phi {
				other[i] = (s + 1) % wholeSum
			}
			return q.CrossG(gxy, x, y, other)
		}
	}, check: Derivative, oracle: "CrossG", quantity: "g_xy", i: anywhere},
	{name: "f_y added to what is there", mutate: func(m *mutant, q *good) {
		m.gradF = func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
			f := make([]float64, q.dy)
			_ = q.GradF(fx, f, x, y, xi)
			mat.Axpy(fy, 1, f)
			return nil
		}
	}, check: Overwrite, oracle: "GradF", quantity: "f_y", i: 0, j: -1, message: "added"},
	{name: "g_xy added to what is there", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			d := mat.NewDense(q.dx, q.dy)
			_ = q.CrossG(d, x, y, phi)
			mat.AddScaled(gxy, gxy, 1, d)
			return nil
		}
	}, check: Overwrite, oracle: "CrossG", quantity: "g_xy", i: 0, j: 0, message: "added"},
	{name: "an entry is not written", mutate: func(m *mutant, q *good) {
		m.gradG = func(gy, x, y []float64, phi []bilevel.Sample) error {
			g := make([]float64, q.dy)
			_ = q.GradG(g, x, y, phi)
			copy(gy[:2], g)
			return nil
		}
	}, check: Overwrite, oracle: "GradG", quantity: "g_y", i: 2, j: -1, message: "not written", also: true},
	{name: "stride ignored", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			d := mat.NewDense(q.dx, q.dy)
			_ = q.CrossG(d, x, y, phi)
			mat.Copy(gxy, d)
			copy(gxy.Data, d.Data)
			return nil
		}
	}, check: Overwrite, oracle: "CrossG", quantity: "g_xy", i: -1, j: -1, message: "Stride", also: true},
	{name: "header replaced", after: func(c call) {
		*c.gyy = mat.Sym{N: c.gyy.N, Stride: c.gyy.Stride, Data: append([]float64(nil), c.gyy.Data...)}
	}, check: Inputs, oracle: "HessG", quantity: "g_yy", i: -1, j: -1, message: "header"},
	{name: "x modified", after: func(c call) { c.x[2] = 0 },
		check: Inputs, oracle: "GradF", quantity: "x", i: 2, j: -1},
	{name: "y modified", after: func(c call) { times(2, c.y[1:2]) },
		check: Inputs, oracle: "GradG", quantity: "y", i: 1, j: -1},
	{name: "v modified", after: func(c call) { c.v[0] = 7 },
		check: Inputs, oracle: "HessVecG", quantity: "v", i: 0, j: -1},
	{name: "samples modified", after: func(c call) {
		for i := range c.batch {
			c.batch[i] = 99
		}
	}, check: Inputs, oracle: "HessG", quantity: "samples", i: -1, j: -1},
	{name: "batch summed", after: func(c call) { mat.ScaleSym(c.gyy, float64(max(len(c.batch), 1)), c.gyy) },
		check: BatchMean, oracle: "HessG", quantity: "g_yy", i: 0, j: 0, message: "3 times"},
	{name: "first of the batch only", mutate: func(m *mutant, q *good) {
		m.gradF = func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
			return q.GradF(fx, fy, x, y, xi[:min(len(xi), 1)])
		}
	}, check: BatchMean, oracle: "GradF", quantity: "f_x", i: 0, j: -1},
	{name: "biased exact value", after: func(c call) {
		if len(c.batch) == 0 {
			c.gy[1] += 1e-6
		}
	}, check: Unbiased, oracle: "GradG", quantity: "g_y", i: 1, j: -1},
	{name: "exact value of half the sum", mutate: func(m *mutant, q *good) {
		m.gradF = func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
			if len(xi) == 0 {
				xi = []bilevel.Sample{0, 1, 2, 3, 4, 5}
			}
			return q.GradF(fx, fy, x, y, xi)
		}
	}, check: Unbiased, oracle: "GradF", quantity: "f_x", i: 0, j: -1},
	{name: "NaN", after: func(c call) { c.fy[1] = math.Log(-1) },
		check: Finite, oracle: "GradF", quantity: "f_y", i: 1, j: -1},
	{name: "Inf", after: func(c call) { c.gyy.Set(1, 0, math.Inf(1)) },
		check: Finite, oracle: "HessG", quantity: "g_yy", i: 1, j: 0},
	{name: "wrong Hessian product", after: func(c call) { c.dst[2] += 0.001 * c.v[1] },
		check: Product, oracle: "HessVecG", quantity: "g_yy", i: 2, j: 1},
	{name: "wrong cross product", after: func(c call) { c.dst[0] = -c.dst[0] },
		check: Product, oracle: "CrossVecG", quantity: "g_xy", i: 0, j: 0},
	{name: "product that is not linear", after: func(c call) { c.dst[0] += c.v[0] * c.v[1] },
		check: Product, oracle: "CrossVecG", quantity: "g_xy·v", i: -1, j: -1, message: "linear"},
	{name: "panic", mutate: func(m *mutant, q *good) {
		m.crossG = func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
			gxy.Set(q.dx, 0, 1)
			return nil
		}
	}, check: Call, oracle: "CrossG", quantity: "g_xy", i: -1, j: -1, message: "panic: mat: Dense.Set: index out of range"},
	{name: "error", mutate: func(m *mutant, q *good) {
		m.gradG = func(gy, x, y []float64, phi []bilevel.Sample) error { return errors.New("no licence") }
	}, check: Call, oracle: "GradG", quantity: "g_y", i: -1, j: -1, message: "no licence"},
	{name: "ErrNoExact for a sample", mutate: func(m *mutant, q *good) {
		m.gradF = func(fx, fy, x, y []float64, xi []bilevel.Sample) error { return bilevel.ErrNoExact }
	}, check: Call, oracle: "GradF", quantity: "f_x", i: -1, j: -1, message: "no exact oracle"},
	{name: "wrong value", mutate: func(m *mutant, q *good) {
		m.valueF = func(x, y []float64, xi []bilevel.Sample) (float64, error) {
			f, err := q.ValueF(x, y, xi)
			return f + x[1], err
		}
	}, check: Derivative, oracle: "GradF", quantity: "f_x", i: 1, j: -1, message: "ValueF"},
}

func times(s float64, x []float64) {
	for i := range x {
		x[i] *= s
	}
}

func redraw(rng *rand.Rand, batch []bilevel.Sample) []bilevel.Sample {
	other := make([]bilevel.Sample, len(batch))
	for i := range other {
		other[i] = bilevel.Sample(rng.Uint64N(wholeSum))
	}
	return other
}

func TestMistakesAreNamed(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			q := newGood()
			broken := &mutant{full: q, oracle: m.oracle, after: m.after}
			if m.mutate != nil {
				m.mutate(broken, q)
			}
			var p bilevel.Problem = broken
			if m.hideValues {
				p = bare{broken}
			}
			r := run(t, p, Options{})
			require.ErrorIs(t, r.Err(), ErrWrong)
			found := false
			for _, f := range r.Findings {
				if f.Check == m.check && f.Oracle == m.oracle && f.Quantity == m.quantity &&
					(m.i == anywhere || f.I == m.i && f.J == m.j) {
					found = true
					assert.Contains(t, f.Message, m.message)
				}
				if !m.also {
					assert.Equal(t, m.check+" "+m.oracle, f.Check+" "+f.Oracle, r)
				}
			}
			assert.True(t, found, r)
			assert.Contains(t, r.Err().Error(), m.check+": "+m.oracle)
			assert.NotContains(t, passedBy(r), m.check+" "+m.oracle)
		})
	}
}
