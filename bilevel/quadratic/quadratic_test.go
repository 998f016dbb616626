package quadratic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

func Variants() map[string]Options {
	v := map[string]Options{}
	for _, d := range [][2]int{{1, 1}, {1, 4}, {5, 2}, {4, 4}, {7, 17}} {
		for _, w := range []float64{0, 1.5} {
			for _, terms := range []uint64{0, 20} {
				name := fmt.Sprintf("dx=%d/dy=%d/w=%v/terms=%d", d[0], d[1], w, terms)
				v[name] = Options{Dx: d[0], Dy: d[1], Seed: 3, Nonconvex: w, Terms: terms,
					SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}
			}
		}
	}
	base := Options{Dx: 5, Dy: 4, Seed: 3, SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}
	for name, change := range map[string]func(o *Options){
		"saddle":     func(o *Options) { o.Saddle = true },
		"blind":      func(o *Options) { o.Blind = 2 },
		"rank one f": func(o *Options) { o.RankOneF = true },
		"rank one g": func(o *Options) { o.RankOneG, o.SigmaGyy = true, 0 },
		"tail":       func(o *Options) { o.Tail = 30 },
		"blind sum":  func(o *Options) { o.Blind, o.Terms = 2, 20 },
	} {
		o := base
		change(&o)
		v[name] = o
	}
	return v
}

func point(p *Problem, seed uint64) (x, y []float64) {
	dx, dy := p.Dims()
	return mattest.Vec(dx, seed), mattest.Vec(dy, seed+1)
}

type answers struct {
	fx, fy, gy, gx, hv, cv []float64
	gxy                    *mat.Dense
	gyy                    *mat.Sym
	f, g                   float64
}

func newAnswers(p *Problem) *answers {
	dx, dy := p.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &answers{fx: vec(dx), fy: vec(dy), gy: vec(dy), gx: vec(dx), hv: vec(dy), cv: vec(dx),
		gxy: mat.NewDense(dx, dy), gyy: mat.NewSym(dy)}
}

func (a *answers) ask(p *Problem, x, y []float64, batch []bilevel.Sample) (errs [9]error) {
	errs = [9]error{p.GradF(a.fx, a.fy, x, y, batch), p.GradG(a.gy, x, y, batch), p.GradXG(a.gx, x, y, batch),
		p.CrossG(a.gxy, x, y, batch), p.HessG(a.gyy, x, y, batch), p.HessVecG(a.hv, x, y, y, batch),
		p.CrossVecG(a.cv, x, y, y, batch)}
	a.f, errs[7] = p.ValueF(x, y, batch)
	a.g, errs[8] = p.ValueG(x, y, batch)
	return errs
}

func ask(t testing.TB, p *Problem, x, y []float64, batch ...bilevel.Sample) *answers {
	t.Helper()
	a := newAnswers(p)
	for _, err := range a.ask(p, x, y, batch) {
		require.NoError(t, err)
	}
	return a
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Dx": {Dx: -1}, "Dy": {Dy: -3}, "MuG": {MuG: -1}, "LG": {MuG: 2, LG: 1}, "MuP": {MuP: math.NaN()},
		"LP":         {LP: math.Inf(1)},
		"MuP and LP": {Nonconvex: 1, MuP: 1}, "CrossNorm": {CrossNorm: -1}, "Nonconvex": {Nonconvex: math.Inf(1)},
		"SigmaFx": {SigmaFx: -1}, "SigmaFy": {SigmaFy: math.NaN()}, "SigmaGy": {SigmaGy: -1},
		"SigmaGxy": {SigmaGxy: -1}, "SigmaGyy": {SigmaGyy: -1},
		"Terms": {Terms: 3}, "Saddle": {Saddle: true, Nonconvex: 1}, "Blind": {Dx: 3, Blind: 3}, "Tail": {Tail: 1},
		"RankOneF": {Saddle: true, RankOneF: true}, "SigmaGyy has": {RankOneG: true, SigmaGyy: 1},
		"Terms is": {RankOneG: true, Terms: 2}, "Tail is": {RankOneF: true, Tail: 3},
	} {
		p, err := New(o)
		assert.Nil(t, p)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, "quadratic: "+name+" ")
	}
	_, err := New(Options{Dy: 40, MuG: 1e-30, LG: 1}) // half of the spectrum is lost in rounding
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	assert.ErrorIs(t, err, bilevel.ErrOption)

	o := bileveltest.Must(New(Options{})).Options()
	assert.Equal(t, Options{Dx: 10, Dy: 10, MuG: 1, LG: 10, MuP: 1, LP: 10, CrossNorm: 1}, o)
}

func TestWrongLengthsPanic(t *testing.T) {
	p := bileveltest.Must(New(Options{Dx: 2, Dy: 3}))
	x, y := make([]float64, 2), make([]float64, 3)
	for name, f := range map[string]func(){
		"GradF":     func() { _ = p.GradF(y, y, x, y, nil) },
		"GradG":     func() { _ = p.GradG(y, y, y, nil) },
		"CrossG":    func() { _ = p.CrossG(mat.NewDense(3, 2), x, y, nil) },
		"HessG":     func() { _ = p.HessG(mat.NewSym(2), x, y, nil) },
		"HessVecG":  func() { _ = p.HessVecG(make([]float64, 3), x, y, x, nil) },
		"GradXG":    func() { _ = p.GradXG(y, x, y, nil) },
		"CrossVecG": func() { _ = p.CrossVecG(make([]float64, 3), x, y, y, nil) },
		"Solution":  func() { _ = p.Solution(x, x) },
	} {
		assert.PanicsWithValue(t, "quadratic: "+name+": dimension mismatch", f)
	}
}

func TestOraclesDoNotAllocate(t *testing.T) {
	for name, o := range Variants() {
		p := bileveltest.Must(New(o))
		x, y := point(p, 81)
		a, grad, batch := ask(t, p, x, y), make([]float64, len(x)), []bilevel.Sample{3, 4}
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			a.ask(p, x, y, batch)
			_ = p.Solution(y, x)
			_, _ = p.Objective(grad, x)
		}), name)
	}
}

func TestEachNoiseHasItsOwnOracles(t *testing.T) {
	for want, o := range map[string]Options{
		" fx f":           {SigmaFx: 1},
		" fy f":           {SigmaFy: 1},
		" gy g":           {SigmaGy: 1},
		" gy gx cv gxy g": {SigmaGxy: 1},
		" gy hv gyy g":    {SigmaGyy: 1},
	} {
		p := bileveltest.Must(New(o))
		x, y := point(p, 91)
		e, a, got := ask(t, p, x, y), ask(t, p, x, y, 1), ""
		vectors := func(a *answers) [][]float64 {
			return [][]float64{a.fx, a.fy, a.gy, a.gx, a.hv, a.cv, a.gxy.Data, a.gyy.Data, {a.f}, {a.g}}
		}
		for i, name := range []string{" fx", " fy", " gy", " gx", " hv", " cv", " gxy", " gyy", " f", " g"} {
			if !slices.Equal(vectors(e)[i], vectors(a)[i]) {
				got += name
			}
		}
		assert.Equal(t, want, got)
	}
}

func TestNamesOutsideOfTheSumAreErrors(t *testing.T) {
	p := bileveltest.Must(New(Options{Dx: 2, Dy: 3, Terms: 20}))
	x, y := point(p, 1)
	upper, lower := p.Streams()
	assert.Equal(t, []uint64{20, 20}, []uint64{upper, lower})
	for i, err := range newAnswers(p).ask(p, x, y, []bilevel.Sample{0, 20}) {
		assert.ErrorContains(t, err, "sample 20 is outside of the finite sum of 20 terms", i)
	}
}

func TestSpectraAreTheChosenOnes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 33} {
		o := Options{Dx: n, Dy: n, MuG: 0.5, LG: 50, MuP: 2, LP: 3, CrossNorm: 0.7, Seed: uint64(n)}
		p := bileveltest.Must(New(o))
		for _, s := range []struct {
			a     *mat.Sym
			mu, l float64
		}{{p.a, o.MuG, o.LG}, {p.p, o.MuP, o.LP}} {
			var j eig.Jacobi
			require.NoError(t, j.Factor(s.a))
			for i, v := range j.Values() {
				want := s.mu * math.Pow(s.l/s.mu, float64(i)/max(1, float64(n-1)))
				assert.InDelta(t, want, v, 1e-12*s.l)
			}
		}
		assert.InEpsilon(t, 0.7, mat.NormFrob(p.b), 1e-14)
	}
}

func TestPromise(t *testing.T) {
	for want, o := range map[float64]Options{
		1:    {Seed: 1},
		1e-9: {Seed: 2, Dx: 3, Dy: 7, MuG: 1e-9, LG: 1e3, SigmaGy: 1, SigmaGxy: 1, Terms: 4},
		4:    {Seed: 3, Dy: 1, MuG: 4, SigmaGxy: 1, Tail: 2},
	} {
		assert.Equal(t, want, bileveltest.Must(New(o)).ConvexityAt(nil))
	}
	for _, o := range []Options{{Seed: 4, SigmaGyy: 0.1}, {Seed: 5, RankOneG: true}} {
		assert.Equal(t, math.Inf(-1), bileveltest.Must(New(o)).ConvexityAt(nil))
	}
}

// lowest bounds the eigenvalues of ∇²F; CrossNorm/MuG is 1.
func lowest(p *Problem) float64 {
	if p.o.Saddle {
		return p.o.MuP - 1
	}
	return p.o.MuP
}

func TestOptimum(t *testing.T) {
	for name, o := range Variants() {
		t.Run(name, func(t *testing.T) {
			p := bileveltest.Must(New(o))
			x, f := p.Optimum()
			grad := make([]float64, len(x))
			at := bileveltest.Must(p.Objective(grad, x))
			assert.Equal(t, f, at)
			assert.Less(t, mat.Norm(grad), 1e-12)
			if o.Nonconvex > 0 {
				assert.Zero(t, f)
			}
			for _, r := range []float64{1e-3, 0.1, 1, 10} {
				for s := range uint64(20) {
					z, d := slices.Clone(x), mattest.Vec(len(x), s)
					q := r * r * mat.Dot(d, d)
					mat.Axpy(z, r, d)
					fz := bileveltest.Must(p.Objective(nil, z))
					assert.Greater(t, fz, f+0.999*lowest(p)/2*q)
				}
			}
			x[0]++
			again, _ := p.Optimum()
			assert.NotEqual(t, x, again, "Optimum must return a copy")
		})
	}
}

func TestNonconvexitySeen(t *testing.T) {
	p := bileveltest.Must(New(Options{Dx: 3, Dy: 2, Nonconvex: 4, CrossNorm: 0.1, Seed: 5}))
	x, _ := p.Optimum()
	const h = 1e-3
	least := math.Inf(1)
	for k := range 41 {
		at := func(d float64) float64 {
			z := slices.Clone(x)
			z[1] += 0.1*float64(k) + d
			return bileveltest.Must(p.Objective(nil, z))
		}
		curve := (at(h) - 2*at(0) + at(-h)) / (h * h)
		assert.True(t, k > 0 || curve > 0, "convex at the optimum")
		least = min(least, curve)
	}
	muF := p.Constants(1).MuF
	assert.Equal(t, -2.0, muF)
	assert.Less(t, least, 0.95*muF)
	assert.Greater(t, least, muF-1e-6)
}

// simulators runs f on the variants with constants that are no finite sums, with their solution.
func simulators(t *testing.T, f func(t *testing.T, p *Problem, o Options, x, y []float64)) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, o := range Variants() {
		if o.Terms > 0 || o.Tail > 0 || o.RankOneF || o.RankOneG {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := bileveltest.Must(New(o))
			x, _ := p.Optimum()
			y := make([]float64, o.Dy)
			require.NoError(t, p.Solution(y, x))
			f(t, p, o, x, y)
		})
	}
}

// The mean square over n draws deviates by √(2/(n·d)) at most: 5 of them are allowed.
func TestNoiseHasTheChosenSize(t *testing.T) {
	const n, r = 4000, 2.0 // r: the distance at which the growth of the noise of g_y is measured, as CrossNorm/MuG is 1
	simulators(t, func(t *testing.T, p *Problem, o Options, x, y []float64) {
		xr, yr := away(x, r), away(y, r)
		exact, far := ask(t, p, x, y), ask(t, p, xr, yr)
		sum := map[string]float64{}
		count := func(name string, a, b []float64) { sum[name] += math.Pow(distance(a, b), 2) / n }
		d := mat.NewSym(o.Dy)
		for s := range bilevel.Sample(n) {
			a := ask(t, p, x, y, s)
			count("fx", a.fx, exact.fx)
			count("fy", a.fy, exact.fy)
			count("gy", a.gy, exact.gy)
			count("gxy", a.gxy.Data, exact.gxy.Data)
			mat.AddScaledSym(d, a.gyy, -1, exact.gyy)
			sum["gyy"] += math.Pow(mat.NormFrobSym(d), 2) / n
			count("far", ask(t, p, xr, yr, s).gy, far.gy)
		}
		for name, sigma := range map[string]float64{"fx": o.SigmaFx, "fy": o.SigmaFy, "gy": o.SigmaGy, "gxy": o.SigmaGxy,
			"gyy": o.SigmaGyy, "far": p.Constants(r).SigmaGy} {
			if name == "far" && o.Blind > 0 { // where the constant is a bound only
				assert.Less(t, sum[name], sigma*sigma)
			} else {
				assert.InEpsilon(t, sigma*sigma, sum[name], 5*math.Sqrt(2.0/n), name)
			}
		}
	})
}

func away(x []float64, r float64) []float64 {
	return mattest.List(len(x), func(i int) float64 { return x[i] + r/math.Sqrt(float64(len(x))) })
}

func TestMomentsAreThoseOfGaussians(t *testing.T) {
	const n, d, mean, sigma = 200000, 3, 1.2, 0.9
	rng := rand.New(rand.NewPCG(1, 2))
	m4, e := 0.0, make([]float64, d)
	for range n {
		gaussian(rng, e)
		e[0] += mean * math.Sqrt(d) / sigma
		m4 += math.Pow(mat.Dot(e, e)*sigma*sigma/d, 2) / n
	}
	// The relative deviation of one ‖m + σe‖⁴ is about 1.3.
	assert.InEpsilon(t, m4, math.Pow(moment(mean, sigma, d), 4), 5*1.3/math.Sqrt(n))
}

func TestSameNameIsSameDraw(t *testing.T) {
	for name, o := range Variants() {
		t.Run(name, func(t *testing.T) {
			p := bileveltest.Must(New(o))
			x, y := point(p, 51)
			first := ask(t, p, x, y, 4)
			assert.Equal(t, first, ask(t, p.Clone(), x, y, 4))
			assert.Equal(t, first, ask(t, bileveltest.Must(New(o)), x, y, 4))
			assert.NotEqual(t, first.gyy, ask(t, p, x, y, 5).gyy)
			blind := first.gxy.View(o.Dx-o.Blind, 0, o.Blind, o.Dy)
			assert.Zero(t, mat.NormFrob(&blind))
			o.Seed++
			assert.NotEqual(t, first.gyy, ask(t, bileveltest.Must(New(o)), x, y, 4).gyy)
		})
	}
}

func TestConstantsHold(t *testing.T) {
	const r, n = 1.5, 300
	simulators(t, func(t *testing.T, p *Problem, o Options, xs, ys []float64) {
		c, rng := p.Constants(r), mattest.Rand(9)
		assert.Equal(t, lowest(p), c.Mu)
		inBall := func(c []float64) []float64 {
			z, d := slices.Clone(c), make([]float64, len(c))
			gaussian(rng, d)
			mat.Axpy(z, r*rng.Float64()/mat.Norm(d), d)
			return z
		}
		for range 10 {
			x, x2, y, y2 := inBall(xs), inBall(xs), inBall(ys), inBall(ys)
			a, ax, ay := ask(t, p, x, y, 1), ask(t, p, x2, y, 1), ask(t, p, x, y2, 1)
			assert.LessOrEqual(t, distance(a.fx, ax.fx), c.LfxBar*distance(x, x2)*(1+1e-12))
			assert.LessOrEqual(t, distance(a.fy, ay.fy), c.Lfy*distance(y, y2)*(1+1e-12))
			m, my := ask(t, p, x, y), ask(t, p, x, y2)
			assert.LessOrEqual(t, distance(m.gy, my.gy), c.Lg*distance(y, y2)*(1+1e-12))

			var fx, fy, gxy, gy float64
			for s := range bilevel.Sample(n) {
				a := ask(t, p, x, y, s)
				fx += math.Pow(mat.Norm(a.fx), 4) / n
				fy += math.Pow(mat.Norm(a.fy), 4) / n
				gxy += math.Pow(mat.NormFrob(a.gxy), 2) / n
				gy += math.Pow(distance(a.gy, m.gy), 2) / n
			}
			// 1.3 leaves room for the deviation of an average over 300 draws.
			assert.Less(t, fx, 1.3*math.Pow(c.Cfx, 4))
			assert.Less(t, fy, 1.3*math.Pow(c.Cfy, 4))
			assert.Less(t, gxy, 1.3*c.Cgxy*c.Cgxy)
			assert.Less(t, gy, 1.3*c.SigmaGy*c.SigmaGy)
		}
	})
	assert.Panics(t, func() { bileveltest.Must(New(Options{})).Constants(math.NaN()) })
	for _, o := range []Options{{Tail: 3}, {RankOneF: true}, {RankOneG: true}} {
		assert.Panics(t, func() { bileveltest.Must(New(o)).Constants(1) })
	}
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
}

// A sample's g_yy is a aᵀ, all of whose minors of order two vanish, and the mean over many is A.
func TestRankOneSamples(t *testing.T) {
	p := bileveltest.Must(New(Options{Dx: 2, Dy: 3, Seed: 4, RankOneG: true}))
	x, y := point(p, 5)
	a := ask(t, p, x, y, 7).gyy
	for i := range 3 {
		for j := range i {
			assert.InDelta(t, a.At(i, i)*a.At(j, j), a.At(i, j)*a.At(i, j), 1e-10)
		}
	}
	batch := mattest.List(40000, func(i int) bilevel.Sample { return bilevel.Sample(i) })
	mean, exact := ask(t, p, x, y, batch...).gyy, ask(t, p, x, y).gyy
	mat.AddScaledSym(mean, mean, -1, exact)
	// E‖a aᵀ − A‖² = (tr A)² + tr A².
	assert.Less(t, mat.NormFrobSym(mean), 4*math.Hypot(14.2, 10.5)/math.Sqrt(float64(len(batch))))

	// f_yy(ξ) = n nᵀ: the answer of f_y to a step in y lies in one direction.
	p = bileveltest.Must(New(Options{Dx: 2, Dy: 3, Seed: 4, RankOneF: true}))
	before, ratios := ask(t, p, x, y, 7).fy, make([]float64, len(y))
	for i := range y {
		y[i]++
		after := ask(t, p, x, y, 7).fy
		ratios[i] = (after[0] - before[0]) / (after[1] - before[1])
		before = after
	}
	assert.InEpsilonSlice(t, []float64{ratios[0], ratios[0]}, ratios[1:], 1e-9)
}

func TestTailIsHeavy(t *testing.T) {
	const n = 20000
	for _, nu := range []float64{1.1, 1.5, 4} {
		p := bileveltest.Must(New(Options{Tail: nu}))
		for _, bound := range []float64{2, 10} {
			beyond := 0.0
			for s := range bilevel.Sample(n) {
				if p.seed(kindFx, s) > bound {
					beyond += 1. / n
				}
			}
			want := math.Pow(bound, -nu)
			assert.InDelta(t, want, beyond, 4*math.Sqrt(want/n))
		}
	}
}
