package observe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
	"stable/mat"
	"stable/mat/mattest"
)

// The limit of a problem worked out on paper, with two samples of each stream,
//
//	g = ½a_φ y² + ⅙y³ − (b_φ x + c_φ)y,    f = ½x² + ½xy + ½(y − d_ξ)² + e_ξ x,
//
// at x = y = 1:
//
//	g_y  = a y + ½y² − b x − c = 2 + ½ − 1 − 3/2 = 0,       a_φ = 2 ± 1, b_φ = 1 ± ½, c_φ = 3/2 ± 1/4
//	g_yy = a + y = 3,  g_xy = −1,  P = 1/3,  G = −1/3,  f_y  = y − d + x/2 = 3/2,  v = 1/2
//	f_x  = x + y/2 + e = g_xy v,  K = 1,  A = f_xy = 1/2,  B = g_yyy v − f_yy = 1/2 − 1 = −1/2
//	R = A + GB = 2/3,   ∇²F = K − AG − GR = 1 + 1/6 + 2/9 = 25/18,   RP = 2/9
//	r_φ: −g_xy v → ±½·½ = ¼,   G g_yy v → −1/3·½ = −1/6,   −RP g_y → −2/9·(1 − ½ − ¼) = −1/18,   sum ±1/36
//	r_ξ: f_x → ±1,   −G f_y → 1/3·(∓1/2) = ∓1/6,   sum ±5/6
//	Phi = ½ (1/36)²/(25/18) = 1/3600,   Xi = ½ (5/6)²/(25/18) = 1/4
func TestLimitByHand(t *testing.T) {
	a, b, c, d := [2]float64{3, 1}, [2]float64{1.5, 0.5}, [2]float64{1.75, 1.25}, [2]float64{0.5, -0.5}
	e := [2]float64{-2 + 1, -2 - 1} // f_x = 1 + ½ − 2 = g_xy v = −½
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 2, Lower: 2,
		F: func(x, y auto.Vec, xi bilevel.Sample) auto.Num {
			x0, y0 := x.At(0), y.At(0)
			squares := x0.Square().Add(x0.Mul(y0)).Add(y0.Shift(-d[xi]).Square())
			return squares.Scale(0.5).Add(x0.Scale(e[xi]))
		},
		G: func(x, y auto.Vec, phi bilevel.Sample) auto.Num {
			x0, y0 := x.At(0), y.At(0)
			pull := x0.Scale(b[phi]).Shift(c[phi]).Mul(y0)
			return y0.Square().Scale(a[phi] / 2).Add(y0.Pow(3).Scale(1. / 6)).Sub(pull)
		},
	}))
	l := bileveltest.Must(LocalLimit(p, []float64{1}, LimitOptions{}))
	assert.InEpsilon(t, 1./4, l.Xi, 1e-10)
	assert.InEpsilon(t, 1./3600, l.Phi, 1e-9)
	assert.Zero(t, l.StdErr)
	assert.Less(t, l.Skew, 1e-10)
	assert.Equal(t, 1, l.Free)
	assert.InEpsilon(t, 1./400+1./36e4, l.At(100, 100), 1e-9)

	for _, lo := range []float64{1, -1} {
		l = bileveltest.Must(LocalLimit(p, []float64{1}, LimitOptions{Set: bilevel.UniformBox(1, lo, lo+2)}))
		assert.Equal(t, Limit{Skew: l.Skew}, l, "a held coordinate has no error")
	}
}

func fit(t testing.TB, train, val *data.Data, form hyperopt.Form) *hyperopt.Problem {
	lo := map[hyperopt.Form]float64{hyperopt.Raw: 1e-3, hyperopt.Exp: -5}[form]
	return bileveltest.Must(hyperopt.New(train, val, hyperopt.Options{Form: form, Lo: lo, Hi: 3}))
}

func rows(n int, seed uint64) *data.Data {
	return bileveltest.Rows(rand.New(rand.NewPCG(seed, 9)), n, 3, 1, false)
}

func minimise(t testing.TB, p *hyperopt.Problem) (x []float64) {
	lo, hi := p.Box()
	best := bileveltest.Must(implicit.Minimise(p.Objective, []float64{0.1, 0.1, 0.1}, implicit.Options{Lo: lo, Hi: hi}))
	return best.X
}

func TestLimitHessian(t *testing.T) {
	for _, form := range []hyperopt.Form{hyperopt.Raw, hyperopt.Exp} {
		p := fit(t, rows(150, 3), rows(100, 4), form)
		best := minimise(t, p)
		l := newLinear(p, best)
		require.NoError(t, p.Solution(l.y, best))
		assert.Less(t, bileveltest.Must(l.linearise()), 1e-9)
		up, down := make([]float64, 3), make([]float64, 3)
		for i := range best {
			x, h := slices.Clone(best), 1e-4*math.Abs(best[i])
			x[i] += h
			bileveltest.Must(p.Objective(up, x))
			x[i] -= 2 * h
			bileveltest.Must(p.Objective(down, x))
			for j := range up {
				assert.InDelta(t, (up[j]-down[j])/(2*h), l.hess.At(i, j), 1e-6*mat.NormFrobSym(&l.hess))
			}
		}
	}
}

// A feature that is 0 in every row does not change the limit; F that is flat everywhere has none.
func TestLimitOfFlatEntries(t *testing.T) {
	with := func(d *data.Data) *data.Data {
		wide := *d
		wide.Dim++
		return &wide
	}
	train, val := rows(150, 3), rows(100, 4)
	for _, form := range []hyperopt.Form{hyperopt.Raw, hyperopt.Exp} {
		narrow, wide := fit(t, train, val, form), fit(t, with(train), with(val), form)
		best := minimise(t, narrow)
		lo, hi := wide.Box()
		set := bilevel.Box{Lo: lo, Hi: hi}
		want := bileveltest.Must(LocalLimit(narrow, best, LimitOptions{Set: bilevel.Box{Lo: lo[:3], Hi: hi[:3]}}))
		x := slices.Concat(best, []float64{0.5})
		got := bileveltest.Must(LocalLimit(wide, x, LimitOptions{Set: set}))
		assert.Equal(t, want.Free, got.Free)
		assert.Positive(t, got.Free)
		assert.InEpsilon(t, want.Xi, got.Xi, 1e-9)
		assert.InEpsilon(t, want.Phi, got.Phi, 1e-9)

		set.Lo, set.Hi = slices.Concat(x[:3], []float64{0}), slices.Concat(x[:3], []float64{1})
		got = bileveltest.Must(LocalLimit(wide, x, LimitOptions{Set: set}))
		assert.Zero(t, got.Free)
		assert.Zero(t, got.Xi+got.Phi)
	}
}

func TestLimitWithoutTruth(t *testing.T) {
	p := problem(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGyy: 1})
	x, _ := p.Optimum()
	want := bileveltest.Must(LocalLimit(p, x, LimitOptions{Draws: 50}))
	got := bileveltest.Must(LocalLimit(bilevel.Complete(struct{ bilevel.Problem }{p}), x, LimitOptions{Draws: 50}))
	assert.InEpsilon(t, want.Xi, got.Xi, 1e-9)
	assert.InEpsilon(t, want.Phi, got.Phi, 1e-9)
	alone := bileveltest.Must(LocalLimit(problem(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaGy: 1}), x, LimitOptions{Draws: 50}))
	assert.Greater(t, alone.StdErr, 0.01*alone.Phi, "draws of φ count")
}

type strange struct{ bilevel.Ball }

type unsolved struct{ *quadratic.Problem }

func (unsolved) Solution(_, _ []float64) error { return bilevel.ErrNoExact }

// With ∇²F = pI and noise σ²/d in each entry of f_x, Xi is m·½(σ²/d)/p in m free directions; on a
// sphere of radius R whose centre is a from the free minimum, R/a times that.
func TestLimitOnBoundaries(t *testing.T) {
	const d, p, sigma = 5, 2.0, 3.0
	q := problem(quadratic.Options{Dx: d, Dy: 3, Seed: 6, MuP: p, LP: p, CrossNorm: 1e-9, SigmaFx: sigma})
	free, _ := q.Optimum()
	positive := 0
	for _, v := range free {
		if v > 0 {
			positive++
		}
	}
	normal := []float64{1, 2, -1, 0, 3}
	for name, c := range map[string]struct {
		set   bilevel.Set
		m     int
		share float64 // of that of m free directions
	}{
		"ball":             {bilevel.Ball{Radius: mat.Norm(free) / 3}, d - 1, 1. / 3},
		"inside of a ball": {bilevel.Ball{Center: free, Radius: 1}, d, 1},
		"one point":        {bilevel.Ball{Center: free}, 0, 1},
		"half-space":       {bilevel.HalfSpace{A: normal, B: mat.Dot(normal, free) - 1}, d - 1, 1},
		"inside of a half": {bilevel.HalfSpace{A: normal, B: mat.Dot(normal, free) + 1}, d, 1},
		"vertex":           {bilevel.Simplex{Sum: 0.1}, 0, 1},
		"simplex":          {bilevel.Simplex{Sum: 10}, d - 1, 1},
		"its edge":         {bilevel.Simplex{Sum: 1}, 1, 1},
		"non-negative":     {bilevel.NonNegative{}, positive, 1},
	} {
		x := make([]float64, d)
		c.set.Project(x, free) // the minimum, since ∇²F is a multiple of I
		l := bileveltest.Must(LocalLimit(q, x, LimitOptions{Set: c.set, Draws: 4000}))
		want := c.share * float64(c.m) * 0.5 * sigma * sigma / d / p
		assert.Equal(t, c.m, l.Free, name)
		assert.InDelta(t, c.m, l.Effective, 0.02*float64(c.m), name)
		assert.InDelta(t, want, l.Xi, 4*l.StdErr+1e-12, name)
		assert.Zero(t, l.Phi, name)
		assert.Less(t, l.StdErr, 0.05*want+1e-12, name)
	}
}

func TestLimitRefuses(t *testing.T) {
	p := problem(quadratic.Options{Dx: 2, Dy: 2})
	x, _ := p.Optimum()
	for name, o := range map[string]LimitOptions{
		"Draws": {Draws: 1}, "Set": {Set: strange{}},
		"Box": {Set: bilevel.UniformBox(3, 0, 1)},
	} {
		_, err := LocalLimit(p, x, o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, name)
	}
	assert.Panics(t, func() { _, _ = LocalLimit(p, x[:1], LimitOptions{}) })
	_, err := LocalLimit(p, []float64{0, math.NaN()}, LimitOptions{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "x is NaN at index 1")
	_, err = LocalLimit(unsolved{p}, x, LimitOptions{})
	require.ErrorIs(t, err, bilevel.ErrNoExact)
}

func problem(o quadratic.Options) *quadratic.Problem { return bileveltest.Must(quadratic.New(o)) }

// The minimiser over a set satisfies ⟨∇F(x̂) + ρ(x̂ − x), z − x̂⟩ ≥ 0 for z in X.
func TestMoreauIsOptimalOverSets(t *testing.T) {
	convex := problem(quadratic.Options{Dx: 5, Dy: 4, Seed: 8, LP: 50, CrossNorm: 6})
	other := problem(quadratic.Options{Dx: 5, Dy: 4, Seed: 2, Nonconvex: 2})
	for name, set := range map[string]bilevel.Set{
		"space": bilevel.Space{}, "box": bilevel.UniformBox(5, -0.3, 0.2), "ball": bilevel.Ball{Radius: 0.5},
		"simplex": bilevel.Simplex{}, "half space": bilevel.HalfSpace{A: []float64{1, 1, 1, 1, 1}, B: -1},
		"non-negative": bilevel.NonNegative{},
	} {
		for rho, p := range map[float64]*quadratic.Problem{0.1: convex, 10: convex, 4: other} {
			m := Moreau{F: p, Set: set, Rho: rho}
			for seed := range uint64(5) {
				x, xhat, grad := mattest.Vec(5, seed), make([]float64, 5), make([]float64, 5)
				e := bileveltest.Must(m.At(xhat, x))
				z, first := make([]float64, 5), make([]float64, 5)
				set.Project(z, x)
				bileveltest.Must(p.Objective(first, z))
				for i := range first { // z − ∇φ(z)/ρ
					first[i] = x[i] - first[i]/rho
				}
				set.Project(first, first)
				mat.Axpy(first, -1, z)
				assert.LessOrEqual(t, e.Residual, 1e-9*max(1, rho*mat.Norm(first)))
				f := bileveltest.Must(p.Objective(grad, xhat))
				mat.Axpy(x, -1, xhat)
				mat.Axpy(grad, -rho, x)
				far := mat.Dot(x, x)
				assert.InEpsilon(t, f+rho/2*far, e.Value, 1e-12)
				assert.InEpsilon(t, rho*rho*far, e.Near, 1e-12)
				for other := range uint64(20) {
					z := mattest.Vec(5, 100+other)
					set.Project(z, z)
					mat.Axpy(z, -1, xhat)
					assert.GreaterOrEqual(t, mat.Dot(grad, z), -1e-7*(1+mat.Norm(z)), "%s, ρ = %v", name, rho)
				}
			}
		}
	}
}

func TestMoreauMemory(t *testing.T) {
	f := problem(quadratic.Options{Dx: 1, Dy: 1})
	v := func() []float64 { return []float64{1} }
	p := &prox{Moreau: &Moreau{F: f, Rho: 1}, x: v(), z: v(), g: v(), next: v(), gn: v(), d: []float64{9}}
	p.last = [10]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 1e6}
	require.NoError(t, p.search())
	assert.Equal(t, [10]float64{p.phi, 0, 1, 2, 3, 4, 5, 6, 7, 8}, p.last)
	assert.Equal(t, []float64{10}, p.z)
}

func TestMoreauCap(t *testing.T) {
	p := problem(quadratic.Options{Dx: 5, Dy: 4, Seed: 8, LP: 1000})
	m := Moreau{F: p, Rho: 0.01, MaxIter: 2}
	xhat := make([]float64, 5)
	e, err := m.At(xhat, make([]float64, 5))
	assert.ErrorIs(t, err, ErrNoEnvelope)
	assert.Equal(t, 2, e.Iterations)
	f := bileveltest.Must(p.Objective(nil, xhat))
	assert.InDelta(t, f+0.005*mat.Dot(xhat, xhat), e.Value, 1e-12*math.Abs(f))
	for m.MaxIter = 1; m.MaxIter < 8; m.MaxIter++ { // φ stays below φ(x) = F(x), though the first step 1/ρ is much too long
		x := mattest.Vec(5, 1)
		f := bileveltest.Must(p.Objective(nil, x))
		e, _ := m.At(xhat, x)
		assert.Less(t, e.Value, f, "after %d iterations", m.MaxIter)
	}
	for want, m := range map[string]Moreau{
		"F is nil": {Rho: 1}, "Rho is 0": {F: p}, "Tol is -1": {F: p, Rho: 1, Tol: -1}, "MaxIter is -1": {F: p, Rho: 1, MaxIter: -1},
	} {
		_, err = m.At(xhat, xhat)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, "Moreau."+want)
	}
	_, err = Moreau{F: p, Rho: 1}.At(xhat, []float64{math.Inf(1), 0, 0, 0, 0})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "x is +Inf at index 0")
}
