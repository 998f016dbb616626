package quadratic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/mattest"
)

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
			p := make1(t, o)
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

// away is at distance r from x in a direction with all entries of one size.
func away(x []float64, r float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] + r/math.Sqrt(float64(len(x)))
	}
	return z
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
			p := make1(t, o)
			x, y := point(p, 51)
			x2, y2 := point(p, 61)
			first := ask(t, p, x, y, 4)
			second := ask(t, p, x2, y2, 4)
			assert.Equal(t, first.gxy, second.gxy)
			assert.Equal(t, first.gyy, second.gyy)
			assert.Equal(t, first, ask(t, p, x, y, 4))
			assert.Equal(t, first, ask(t, p.Clone(), x, y, 4))
			assert.Equal(t, first, ask(t, make1(t, o), x, y, 4))
			assert.NotEqual(t, first.gyy, ask(t, p, x, y, 5).gyy)
			blind := first.gxy.View(o.Dx-o.Blind, 0, o.Blind, o.Dy)
			assert.Zero(t, mat.NormFrob(&blind))
			o.Seed++
			assert.NotEqual(t, first.gyy, ask(t, make1(t, o), x, y, 4).gyy)
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
	assert.Panics(t, func() { make1(t, Options{}).Constants(math.NaN()) })
	for _, o := range []Options{{Tail: 3}, {RankOneF: true}, {RankOneG: true}} {
		assert.Panics(t, func() { make1(t, o).Constants(1) })
	}
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
}

// A sample's g_yy is a aᵀ, all of whose minors of order two vanish, and the mean over many is A.
func TestRankOneSamples(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3, Seed: 4, RankOneG: true})
	x, y := point(p, 5)
	a := ask(t, p, x, y, 7).gyy
	for i := range 3 {
		for j := range i {
			assert.InDelta(t, a.At(i, i)*a.At(j, j), a.At(i, j)*a.At(i, j), 1e-10)
		}
	}
	batch := make([]bilevel.Sample, 40000)
	for i := range batch {
		batch[i] = bilevel.Sample(i)
	}
	mean, exact := ask(t, p, x, y, batch...).gyy, ask(t, p, x, y).gyy
	mat.AddScaledSym(mean, mean, -1, exact)
	// E‖a aᵀ − A‖² = (tr A)² + tr A².
	assert.Less(t, mat.NormFrobSym(mean), 4*math.Hypot(14.2, 10.5)/math.Sqrt(float64(len(batch))))

	// f_yy(ξ) = n nᵀ: the answer of f_y to a step in y lies in one direction.
	p = make1(t, Options{Dx: 2, Dy: 3, Seed: 4, RankOneF: true})
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
		p := make1(t, Options{Tail: nu})
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
