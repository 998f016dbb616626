package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/mat"
)

// good is correct, neither quadratic nor separable; each term of the sum has its own parameters:
//
//	f = Σ cos(x_i + a_i) + ½‖y − b‖² + (Σ x_i)·uᵀy
//	g = ½ yᵀA y + Σ e^{x_j/2} y_j²/2 + ½ Σ cos(y_j + p_j) − sin(x)ᵀB y,    A = diag(2, 3, …) + ¼·11ᵀ, j of x_j modulo dx.
func newGood() *auto.Problem { return goodOf(3, 3, wholeSum) }

type loss = func(x, y auto.Vec, s bilevel.Sample) auto.Num

// ofLosses is of two losses without noise.
func ofLosses(t testing.TB, dx, dy int, f, g func(x, y auto.Vec) auto.Num) *auto.Problem {
	p, err := auto.New(auto.Losses{Dx: dx, Dy: dy, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return f(x, y) },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return g(x, y) }})
	require.NoError(t, err)
	return p
}

// wholeSum is the number of terms of a simulator: names are taken modulo it, for an exact value.
const wholeSum = 12

func goodOf(dx, dy int, terms uint64) *auto.Problem {
	vec := func(rng *rand.Rand, n int) auto.Vec {
		v := make([]float64, n)
		for i := range v {
			v[i] = 0.5 + 0.3*rng.NormFloat64()
		}
		return auto.Data(v)
	}
	draw := func(s bilevel.Sample) (a, b, u, p, m auto.Vec) {
		rng := rand.New(rand.NewPCG(uint64(s)%wholeSum, 77))
		a, b, u, p, m = vec(rng, dx), vec(rng, dy), vec(rng, dy), vec(rng, dy), vec(rng, dx*dy)
		for k := range m.Value() {
			m.Value()[k] += math.Cos(float64(2*(k/dy) + 5*(k%dy)))
		}
		return a, b, u, p, m
	}
	f := func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		a, b, u, _, _ := draw(s)
		return x.Add(a).Cos().Sum().Add(y.Sub(b).SquaredNorm().Scale(0.5)).Add(x.Sum().Mul(y.Dot(u)))
	}
	g := func(x, y auto.Vec, s bilevel.Sample) auto.Num {
		_, _, _, p, m := draw(s)
		var exponents []auto.Num
		diagonal := make([]float64, dy)
		for j := range dy {
			exponents = append(exponents, x.At(j%dx).Scale(0.5))
			diagonal[j] = float64(j) + 2
		}
		weights := auto.Stack(exponents...).Exp().Add(auto.Data(diagonal))
		sum := y.WeightedSquares(weights).Add(y.Sum().Square().Scale(0.25)).Add(y.Add(p).Cos().Sum())
		return sum.Scale(0.5).Sub(m.Mat(dx, dy).MulVecTrans(x.Sin()).Dot(y))
	}
	mean := func(l loss) func(x, y auto.Vec) auto.Num {
		return func(x, y auto.Vec) (sum auto.Num) {
			for s := range bilevel.Sample(wholeSum) {
				sum = sum.Add(l(x, y, s).Scale(1. / wholeSum))
			}
			return sum
		}
	}
	p, err := auto.New(auto.Losses{Dx: dx, Dy: dy, Upper: terms, Lower: terms, F: f, G: g, MeanF: mean(f), MeanG: mean(g)})
	if err != nil {
		panic(fmt.Sprint("the tests' own problem: ", err))
	}
	return p
}

type full interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Values
}

// call is a call of an oracle; was is what the destination held before.
type call struct {
	oracle                        string
	fx, fy, gy, dst, x, y, v, was []float64
	f                             *float64
	gxy                           *mat.Dense
	gyy                           *mat.Sym
	batch                         []bilevel.Sample
}

// mutant has one oracle that is wrong, or all where it names none.
type mutant struct {
	full
	oracle string
	batch  func(c call) []bilevel.Sample // what is asked for in place of the batch
	after  func(c call)                  // changes what has been written
	fails  func(c call) error
}

func (m *mutant) ask(oracle string, c call, f func(batch []bilevel.Sample) error) error {
	if m.oracle != "" && m.oracle != oracle {
		return f(c.batch)
	}
	c.oracle, c.was = oracle, slices.Concat(c.fy, c.gy)
	if c.gxy != nil {
		c.was = slices.Clone(c.gxy.Data)
	}
	batch := c.batch
	if m.batch != nil {
		batch = m.batch(c)
	}
	err := f(batch)
	if m.after != nil {
		m.after(c)
	}
	if m.fails != nil {
		return m.fails(c)
	}
	return err
}

// noExact is an error of those oracles for an empty batch.
func noExact(oracles ...string) func(c call) error {
	return func(c call) error {
		if len(c.batch) == 0 && slices.Contains(oracles, c.oracle) {
			return bilevel.ErrNoExact
		}
		return nil
	}
}

func (m *mutant) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return m.ask("GradF", call{fx: fx, fy: fy, x: x, y: y, batch: xi},
		func(xi []bilevel.Sample) error { return m.full.GradF(fx, fy, x, y, xi) })
}

func (m *mutant) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return m.ask("GradG", call{gy: gy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.GradG(gy, x, y, phi) })
}

func (m *mutant) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return m.ask("GradXG", call{dst: gx, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.GradXG(gx, x, y, phi) })
}

func (m *mutant) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return m.ask("CrossG", call{gxy: gxy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.CrossG(gxy, x, y, phi) })
}

func (m *mutant) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return m.ask("HessG", call{gyy: gyy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.HessG(gyy, x, y, phi) })
}

func (m *mutant) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return m.ask("HessVecG", call{dst: dst, x: x, y: y, v: v, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.HessVecG(dst, x, y, v, phi) })
}

func (m *mutant) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return m.ask("CrossVecG", call{dst: dst, x: x, y: y, v: v, batch: phi},
		func(phi []bilevel.Sample) error { return m.full.CrossVecG(dst, x, y, v, phi) })
}

func (m *mutant) ValueF(x, y []float64, xi []bilevel.Sample) (f float64, err error) {
	err = m.ask("ValueF", call{f: &f, x: x, y: y, batch: xi}, func(xi []bilevel.Sample) (err error) {
		f, err = m.full.ValueF(x, y, xi)
		return err
	})
	return f, err
}

// bare hides Products and Values.
type bare struct{ bilevel.Problem }

func biased(t testing.TB, terms uint64) *mutant {
	o := noisy
	o.Terms = terms
	return &mutant{full: newQuadratic(t, o), oracle: "GradG", after: func(c call) {
		if len(c.batch) == 0 {
			c.gy[3]++
		}
	}}
}

func TestBiasOfSimulatorIsSeen(t *testing.T) {
	r := run(t, bare{biased(t, 0)}, Options{})
	f := requireOnly(t, r, Unbiased, "GradG")[0]
	assert.Equal(t, 3, f.I)
	assert.Contains(t, f.Message, "draws")
	assert.Less(t, f.Tol, 0.5)

	long := biased(t, 1<<30)
	requireOnly(t, run(t, long, Options{}), Unbiased, "GradG")
	r = run(t, long.full, Options{})
	require.NoError(t, r.Err())
	assert.Contains(t, passedBy(r), "unbiased GradG")
}

func TestSimulatorsAreRarelyAccused(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		o := noisy
		o.Seed = seed
		require.NoError(t, run(t, newQuadratic(t, o), Options{Seed: seed, Points: 1}).Err())
	}
}

// One term in 10⁸ of a long sum has noise in f_x[0]; the exact value knows it.
func TestRareEntriesAreLeftOut(t *testing.T) {
	o := noisy
	o.SigmaFx, o.Terms = 0, 1<<40
	r := run(t, &mutant{full: newQuadratic(t, o), oracle: "GradF", after: func(c call) {
		if len(c.batch) == 0 {
			c.fx[0]++
		}
	}}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.Len(t, r.Gaps(), 1)
	assert.Contains(t, r.Skipped,
		Skip{Unbiased, "GradF", "1 of 7 entries have too few draws that count, the least 0 of 1000: " +
			"raise Samples, or MaxTerms to 1099511627776", true})
}

// A squared normal number in f_x[0], of which few draws count.
func TestTooFewDraws(t *testing.T) {
	p := &mutant{full: newQuadratic(t, noisy), after: func(c call) {
		noise := 0.0
		for _, name := range c.batch {
			z := rand.New(rand.NewPCG(uint64(name), 1)).NormFloat64()
			noise += (z*z - 1) / float64(len(c.batch))
		}
		if c.fx != nil {
			c.fx[0] += noise
		}
		if c.f != nil {
			*c.f += c.x[0] * noise
		}
	}}
	r := run(t, p, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	_, after, _ := strings.Cut(r.Gaps()[0].Reason, "raise Samples to ")
	var n int
	_, err := fmt.Sscanf(after, "%d or more", &n)
	require.NoError(t, err, r)
	require.NoError(t, run(t, p, Options{Samples: n}).Err(), n)
}

func TestNoExactOracle(t *testing.T) {
	for _, terms := range []uint64{0, 12} {
		p := &mutant{full: goodOf(3, 3, terms), fails: noExact("GradF", "HessG")}
		r := run(t, bare{p}, Options{Samples: 500})
		require.Empty(t, r.Findings)
		assert.Contains(t, r.Skipped, Skip{Unbiased, "GradF", "it returns ErrNoExact", false})
		assert.Contains(t, r.Skipped, Skip{Unbiased, "HessG", "it returns ErrNoExact", false})
		assert.Contains(t, passedBy(r), "convexity HessG")
		assert.Contains(t, passedBy(r), "unbiased GradG")
		requireOnly(t, run(t, bare{p}, Options{Samples: 500, MuG: 9}), Convexity, "HessG")
	}
}
