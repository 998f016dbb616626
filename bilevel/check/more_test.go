package check

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

func newQuadratic(t testing.TB, o quadratic.Options) *quadratic.Problem {
	t.Helper()
	q, err := quadratic.New(o)
	require.NoError(t, err)
	return q
}

var noisy = quadratic.Options{Dx: 3, Dy: 4, Seed: 2, SigmaFx: 0.5, SigmaFy: 0.5, SigmaGy: 0.5, SigmaGxy: 0.5,
	SigmaGyy: 0.5}

// requireOnly wants findings of one check on one oracle, and returns them.
func requireOnly(t testing.TB, r *Report, check, oracle string) []Finding {
	t.Helper()
	require.NotEmpty(t, r.Findings)
	for _, f := range r.Findings {
		require.Equal(t, check+" "+oracle, f.Check+" "+f.Oracle, r)
	}
	return r.Findings
}

// reshaped adds c/2·‖y‖² to g of a good problem.
func reshaped(c float64) *mutant {
	q := newGood()
	return &mutant{full: q,
		gradG: func(gy, x, y []float64, phi []bilevel.Sample) error {
			_ = q.GradG(gy, x, y, phi)
			mat.Axpy(gy, c, y)
			return nil
		},
		hessG: func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
			_ = q.HessG(gyy, x, y, phi)
			mat.AddIdentity(gyy, c)
			return nil
		}}
}

func TestNotStronglyConvex(t *testing.T) {
	r := run(t, bare{reshaped(0)}, Options{MuG: 0.5})
	require.Empty(t, r.Findings)
	r = run(t, bare{reshaped(0)}, Options{MuG: 5})
	f := requireOnly(t, r, Convexity, "HessG")[0]
	assert.Equal(t, "λ_min(g_yy)", f.Quantity)
	assert.Equal(t, 5.0, f.Want)
	assert.Less(t, f.Got, 5.0)
	r = run(t, bare{reshaped(-6)}, Options{})
	f = requireOnly(t, r, Convexity, "HessG")[0]
	assert.Less(t, f.Got, 0.0)
}

// degenerate has the constant g_yy = diag(0, 1, 1): an eigenvalue of 0 is not positive.
func TestSingularIsNotStronglyConvex(t *testing.T) {
	q := newGood()
	m := &mutant{full: q,
		gradG: func(gy, x, y []float64, phi []bilevel.Sample) error {
			copy(gy, y)
			gy[0] = 0
			return nil
		},
		crossG: func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error { gxy.Zero(); return nil },
		hessG: func(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
			gyy.Zero()
			gyy.Set(1, 1, 1)
			gyy.Set(2, 2, 1)
			return nil
		}}
	requireOnly(t, run(t, bare{m}, Options{}), Convexity, "HessG")
}

// lying has wrong truths.
type lying struct {
	*quadratic.Problem
	solution  func(y []float64)
	objective func(f float64, grad []float64) float64
}

func (l *lying) Solution(y, x []float64) error {
	err := l.Problem.Solution(y, x)
	if l.solution != nil {
		l.solution(y)
	}
	return err
}

func (l *lying) Objective(grad, x []float64) (float64, error) {
	f, err := l.Problem.Objective(grad, x)
	if l.objective != nil {
		f = l.objective(f, grad)
	}
	return f, err
}

func TestWrongTruths(t *testing.T) {
	q := newQuadratic(t, noisy)

	f := requireOnly(t, run(t, &lying{Problem: q, solution: func(y []float64) { y[2] += 1e-4 }}, Options{}), Truth, "Solution")
	assert.Contains(t, f[0].Message, "Newton step")
	assert.Equal(t, 2, f[0].I)
	assert.InDelta(t, 1e-4, f[0].Got-f[0].Want, 1e-9)

	n := 0.0
	f = requireOnly(t, run(t, &lying{Problem: q, solution: func(y []float64) { n++; y[1] += 1e-5 * n }}, Options{}), Truth, "Solution")
	assert.Contains(t, f[0].Message, "another start")

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 {
		if grad != nil {
			grad[1] = -grad[1]
		}
		return f
	}}, Options{}), Truth, "Objective")
	assert.Equal(t, "∇F", f[0].Quantity)
	assert.Equal(t, 1, f[0].I)

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 { return f + 1 }}, Options{}), Truth, "Objective")
	assert.Equal(t, "F", f[0].Quantity)
	assert.Contains(t, f[0].Message, "f(x, y*(x))")

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 {
		if grad == nil {
			f++
		}
		return f
	}}, Options{}), Truth, "Objective")
	assert.Contains(t, f[0].Message, "comes with the gradient")

	f = requireOnly(t, run(t, &lying{Problem: q, solution: func([]float64) { panic("singular") }}, Options{}), Call, "Solution")
	assert.Contains(t, f[0].Message, "singular")
}

func TestTruthCanBeLeftAlone(t *testing.T) {
	l := &lying{Problem: newQuadratic(t, noisy), solution: func([]float64) { panic("called") }, objective: func(float64, []float64) float64 { panic("called") }}
	r := run(t, l, Options{NoTruth: true})
	require.NoError(t, r.Err())
	assert.Equal(t, []Skip{{Truth, "Objective", "Options.NoTruth", false}}, r.Skipped)
}

// biased adds a bias to the exact g_y.
type biased struct {
	*quadratic.Problem
	bias float64
}

func (b biased) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := b.Problem.GradG(gy, x, y, phi)
	if len(phi) == 0 {
		gy[3] += b.bias
	}
	return err
}

func TestBiasOfSimulatorIsSeen(t *testing.T) {
	q := newQuadratic(t, noisy)
	r := run(t, bare{biased{q, 1}}, Options{})
	f := requireOnly(t, r, Unbiased, "GradG")[0]
	assert.Equal(t, 3, f.I)
	assert.Contains(t, f.Message, "draws")
	assert.Less(t, f.Tol, 0.5)

	long := noisy
	long.Terms = 1 << 30
	requireOnly(t, run(t, biased{newQuadratic(t, long), 1}, Options{}), Unbiased, "GradG")
	r = run(t, newQuadratic(t, long), Options{})
	require.NoError(t, r.Err())
	assert.Contains(t, passedBy(r), "unbiased GradG")
}

func TestSimulatorsAreRarelyAccused(t *testing.T) {
	for seed := range uint64(20) {
		o := noisy
		o.Seed = seed
		require.NoError(t, run(t, newQuadratic(t, o), Options{Seed: seed, Points: 1}).Err())
	}
}

// rare is a long sum of which one term in 10⁸ has noise in f_x[0], which no z-test can see; the
// exact value knows it.
type rare struct{ *quadratic.Problem }

func (r rare) Streams() (upper, lower uint64) { return 1 << 40, 0 }

func (r rare) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := r.Problem.GradF(fx, fy, x, y, xi)
	if len(xi) == 0 {
		fx[0]++
	}
	return err
}

func TestRareEntriesAreLeftOut(t *testing.T) {
	o := noisy
	o.SigmaFx = 0
	r := run(t, rare{newQuadratic(t, o)}, Options{NoTruth: true})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.Len(t, r.Gaps(), 1)
	assert.Contains(t, r.Skipped,
		Skip{Unbiased, "GradF", "1 entries have too few draws that count: raise Samples or MaxTerms", true})
}

// noExact has samples only.
type noExact struct{ *good }

func (n noExact) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if len(xi) == 0 {
		return bilevel.ErrNoExact
	}
	return n.good.GradF(fx, fy, x, y, xi)
}

func (n noExact) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if len(phi) == 0 {
		return bilevel.ErrNoExact
	}
	return n.good.HessG(gyy, x, y, phi)
}

func TestNoExactOracle(t *testing.T) {
	for _, terms := range []uint64{0, 12} {
		p := noExact{newGood()}
		p.n = terms
		r := run(t, bare{p}, Options{Samples: 500})
		require.Empty(t, r.Findings)
		assert.Contains(t, r.Skipped, Skip{Unbiased, "GradF", "it returns ErrNoExact", false})
		assert.Contains(t, r.Skipped, Skip{Unbiased, "HessG", "it returns ErrNoExact", false})
		assert.Contains(t, passedBy(r), "convexity HessG")
		assert.Contains(t, passedBy(r), "unbiased GradG")
		requireOnly(t, run(t, bare{p}, Options{Samples: 500, MuG: 9}), Convexity, "HessG")
	}
}

// root is a problem that is defined for x > 0 only: g = ½‖y‖² − Σ √x_i y_i, f = ½‖y‖² + Σ x_i log
// x_i.
type root struct {
	fussy bool // errors outside, instead of NaN
}

func (root) Dims() (dx, dy int)             { return 3, 3 }
func (root) Streams() (upper, lower uint64) { return 0, 0 }

func (r root) inside(x []float64) error {
	for _, v := range x {
		if r.fussy && !(v > 0) {
			return errors.New("x must be positive")
		}
	}
	return nil
}

func (r root) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	for i, v := range x {
		fx[i] = math.Log(v) + 1
	}
	copy(fy, y)
	return r.inside(x)
}

func (r root) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	for i, v := range x {
		gy[i] = y[i] - math.Sqrt(v)
	}
	return r.inside(x)
}

func (r root) CrossG(gxy *mat.Dense, x, y []float64, _ []bilevel.Sample) error {
	gxy.Zero()
	for i, v := range x {
		gxy.Set(i, i, -0.5/math.Sqrt(v))
	}
	return r.inside(x)
}

func (r root) HessG(gyy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	return r.inside(x)
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
			for seed := range uint64(5) {
				r := run(t, root{fussy}, Options{Set: set, Seed: seed, Points: 4})
				require.Empty(t, r.Findings, "%s %s", name, r)
				if name == "box" || name == "ball" {
					assert.Contains(t, passedBy(r), "derivative CrossG")
				}
			}
		}
	}
	// Without the region, it is as wrong as it looks.
	assert.ErrorIs(t, run(t, root{}, Options{}).Err(), ErrWrong)
}

// scaled is a good problem with s·f instead of f.
func scaled(s float64, terms uint64) *mutant {
	q := newGood()
	q.n = terms
	return &mutant{full: q,
		gradF: func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
			_ = q.GradF(fx, fy, x, y, xi)
			times(s, fx)
			times(s, fy)
			return nil
		},
		valueF: func(x, y []float64, xi []bilevel.Sample) (float64, error) {
			f, err := q.ValueF(x, y, xi)
			return s * f, err
		},
	}
}

func TestTolerancesFollowTheScale(t *testing.T) {
	for _, s := range []float64{1e-100, 1e-12, 1e12, 1e100} {
		r := run(t, scaled(s, 0), Options{Samples: 500})
		require.NoError(t, r.Err())
		assert.Empty(t, r.Skipped)
		m := scaled(s, wholeSum)
		require.NoError(t, run(t, m, Options{}).Err())
		right := m.gradF
		m.gradF = func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
			_ = right(fx, fy, x, y, xi)
			fy[1] *= 1 + 1e-5
			return nil
		}
		f := requireOnly(t, run(t, m, Options{}), Derivative, "GradF")
		require.Len(t, f, 1)
		assert.Equal(t, 1, f[0].I)
	}
}

// apart is f = ½‖x‖² + ½‖y − 1‖² over g of good: no other oracle contradicts a wrong f_y.
func apart(sign float64) *mutant {
	return &mutant{full: newGood(),
		gradF: func(fx, fy, x, y []float64, _ []bilevel.Sample) error {
			copy(fx, x)
			for j, v := range y {
				fy[j] = sign * (v - 1)
			}
			return nil
		},
		valueF: func(x, y []float64, _ []bilevel.Sample) (f float64, err error) {
			f = mat.Dot(x, x) / 2
			for _, v := range y {
				f += (v - 1) * (v - 1) / 2
			}
			return f, nil
		},
	}
}

// Without Values the report is not complete, whether f_y is right or not, and says so in its first
// line and as an error.
func TestUnverifiedIsNoPass(t *testing.T) {
	require.NoError(t, run(t, apart(1), Options{}).Err())
	requireOnly(t, run(t, apart(-1), Options{}), Derivative, "GradF")
	for _, sign := range []float64{1, -1} {
		r := run(t, bare{apart(sign)}, Options{})
		require.Empty(t, r.Findings)
		require.ErrorIs(t, r.Err(), ErrIncomplete)
		require.NotErrorIs(t, r.Err(), ErrWrong)
		assert.ErrorContains(t, r.Err(), "derivative: GradF: no Values")
		assert.ErrorContains(t, r.Err(), "derivative: GradG: no Values")
		assert.Len(t, r.Gaps(), 2)
		first, _, _ := strings.Cut(r.String(), "\n")
		assert.Contains(t, first, "NOT COMPLETE")
	}

	// Where f mixes x and y, symmetry sees it.
	q := newGood()
	m := &mutant{full: q, gradF: func(fx, fy, x, y []float64, xi []bilevel.Sample) error {
		err := q.GradF(fx, fy, x, y, xi)
		times(-1, fy)
		return err
	}}
	r := run(t, bare{m}, Options{})
	requireOnly(t, r, Symmetry, "GradF")
	require.ErrorIs(t, r.Err(), ErrWrong)
	assert.True(t, strings.HasPrefix(r.String(), "WRONG, AND NOT COMPLETE: "), r)
}

// withGX is good with a g_x that is off by factor and shift.
type withGX struct {
	*good
	factor, shift float64
}

func (p withGX) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	clear(gx)
	p.each(phi, func(t term, w float64) {
		for i, u := range x {
			for j, v := range y {
				gx[i] -= w * math.Cos(u) * t.m.At(i, j) * v
				if j%p.dx == i {
					gx[i] += w * p.weight(x, j) * v * v / 4
				}
			}
		}
	})
	for i := range gx {
		gx[i] = p.factor*gx[i] + p.shift
	}
	return nil
}

// bareGX hides Products and Values.
type bareGX struct {
	bilevel.Problem
	bilevel.UpperGradient
}

func TestGradXG(t *testing.T) {
	p := withGX{newGood(), 1, 0}
	r := run(t, p, Options{})
	require.NoError(t, r.Err(), r)
	assert.Contains(t, passedBy(r), "derivative GradXG")
	r = run(t, bareGX{p, p}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	assert.Len(t, r.Gaps(), 3)
	assert.Contains(t, passedBy(r), "symmetry GradXG")

	for _, wrong := range []withGX{{newGood(), -1, 0}, {newGood(), 1, 1e-3}} {
		requireOnly(t, run(t, wrong, Options{}), Derivative, "GradXG")
	}
	bad := withGX{newGood(), -1, 0}
	requireOnly(t, run(t, bareGX{bad, bad}, Options{}), Symmetry, "GradXG")
}

// Rounding noise in values must not be taken for a wrong gradient, and must not hide that nothing
// was judged.
func TestRoughValuesAreReported(t *testing.T) {
	for _, c := range []struct {
		noise  float64
		judged bool
	}{{1e-12, true}, {1e-6, false}} {
		q := newGood()
		m := &mutant{full: q, valueF: func(x, y []float64, xi []bilevel.Sample) (float64, error) {
			f, err := q.ValueF(x, y, xi)
			// Deterministic, like rounding, but rougher.
			rng := rand.New(rand.NewPCG(math.Float64bits(sum(x)), math.Float64bits(sum(y))))
			if len(xi) == 1 {
				f += c.noise * rng.Float64()
			}
			return f, err
		}}
		r := run(t, m, Options{})
		for _, f := range r.Findings {
			assert.NotEqual(t, "GradF", f.Oracle, r)
		}
		skipped := false
		for _, s := range r.Skipped {
			skipped = skipped || s.Oracle == "GradF" && strings.Contains(s.Reason, "too rough")
		}
		assert.Equal(t, !c.judged, skipped, r)
	}
}

func TestSameOptionsSameReport(t *testing.T) {
	o := Options{Seed: 4}
	assert.Equal(t, run(t, newQuadratic(t, noisy), o), run(t, newQuadratic(t, noisy), o))
	m := reshaped(1)
	assert.Equal(t, run(t, m, o).String(), run(t, m, o).String())
}

func TestReport(t *testing.T) {
	r := run(t, newGood(), Options{})
	require.NoError(t, r.Err())
	assert.True(t, strings.HasPrefix(r.String(), "RIGHT: 0 wrong, 0 could not be checked, "), r)
	r = run(t, bare{newGood()}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	assert.True(t, strings.HasPrefix(r.String(), "NOT COMPLETE: 0 wrong, 2 could not be checked, "), r)
	assert.Contains(t, r.String(), "\nNOT CHECKED ")
	assert.Contains(t, r.String(), "no Values")
	assert.NotContains(t, r.String(), "WRONG")

	q := &good{dx: 4, dy: 4, n: 12, sigma: 0.3}
	r = run(t, &mutant{full: q, crossG: func(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
		_ = q.CrossG(gxy, x, y, phi)
		mat.Scale(gxy, 2, gxy)
		return nil
	}}, Options{})
	f := requireOnly(t, r, Derivative, "CrossG")
	assert.True(t, strings.HasPrefix(r.String(), "WRONG, AND NOT COMPLETE: 5 wrong, 1 could not be checked, "), r)
	require.Len(t, f, 5, "the worst five")
	assert.Contains(t, f[4].Message, "and 11 more entries")
	for i := range 4 {
		assert.GreaterOrEqual(t, math.Abs(f[i].Got-f[i].Want), math.Abs(f[i+1].Got-f[i+1].Want))
	}
	assert.Len(t, f[0].Batch, 1)
	assert.Contains(t, r.String(), "g_xy[")
	assert.Equal(t, 5, strings.Count(r.Err().Error(), "derivative: CrossG: g_xy["))
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Points": {Points: -1}, "Samples": {Samples: 499}, "Center": {Center: []float64{1}},
		"CenterY": {CenterY: []float64{0, 0, math.NaN()}},
		"ScaleX":  {ScaleX: -1}, "ScaleY": {ScaleY: math.Inf(1)}, "Tol": {Tol: math.NaN()}, "MuG": {MuG: -1},
		"Box": {Set: bilevel.UniformBox(2, 0, 1)},
	} {
		r, err := Problem(newGood(), o)
		assert.Nil(t, r)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, name+" ")
	}
	_, err := Problem(&good{dx: 0, dy: 3}, Options{})
	assert.ErrorContains(t, err, "Dims")
}

// promises says how convex g is.
type promises struct {
	*quadratic.Problem
	s func(x []float64) float64
}

func (p promises) ConvexityAt(x []float64) float64 { return p.s(x) }

// A promise of convexity is held against single samples: one that is too high by a thousandth is
// found, and so is one that is no number, fails, or writes into x.
func TestPromise(t *testing.T) {
	constant := func(s float64) func([]float64) float64 { return func([]float64) float64 { return s } }
	for want, s := range map[string]func(x []float64) float64{
		"":                                    constant(2 - 1e-9),
		"none":                                constant(math.Inf(-1)),
		"convexity: ConvexityAt: λ_min(g_yy)": constant(2.002),
		"finite: ConvexityAt":                 constant(math.NaN()),
		"finite: ConvexityAt: s: want a num":  constant(math.Inf(1)),
		"call: ConvexityAt":                   func(x []float64) float64 { panic("no") },
		"inputs: ConvexityAt: x[0]":           func(x []float64) float64 { x[0]++; return 1 },
	} {
		q, err := quadratic.New(quadratic.Options{Dx: 2, Dy: 3, Seed: 5, MuG: 2, SigmaGy: 0.3})
		require.NoError(t, err)
		r, err := Problem(promises{q, s}, Options{})
		require.NoError(t, err)
		if want == "" {
			assert.NoError(t, r.Err())
			assert.Contains(t, r.Passed, Pass{Convexity, "ConvexityAt", 6})
			continue
		}
		if want == "none" {
			assert.NoError(t, r.Err())
			for _, p := range r.Passed {
				assert.NotEqual(t, "ConvexityAt", p.Oracle)
			}
			continue
		}
		require.ErrorIs(t, r.Err(), ErrWrong, want)
		assert.ErrorContains(t, r.Err(), want)
	}
}
