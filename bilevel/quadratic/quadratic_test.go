package quadratic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

// variants are strongly convex and nonconvex problems, simulators and finite sums, of wide, square, tall and smallest shapes.
func variants() map[string]Options {
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
	return v
}

func make1(t testing.TB, o Options) *Problem {
	t.Helper()
	p, err := New(o)
	require.NoError(t, err)
	return p
}

// point returns an x and a y that are not special.
func point(p *Problem, seed uint64) (x, y []float64) {
	dx, dy := p.Dims()
	return mattest.Vec(dx, seed), mattest.Vec(dy, seed+1)
}

// answers holds what all oracles say.
type answers struct {
	fx, fy, gy []float64
	gxy        *mat.Dense
	gyy        *mat.Sym
	f, g       float64
}

func ask(t testing.TB, p *Problem, x, y []float64, batch ...bilevel.Sample) answers {
	t.Helper()
	dx, dy := p.Dims()
	a := answers{fx: make([]float64, dx), fy: make([]float64, dy), gy: make([]float64, dy), gxy: mat.NewDense(dx, dy), gyy: mat.NewSym(dy)}
	require.NoError(t, p.GradF(a.fx, a.fy, x, y, batch))
	require.NoError(t, p.GradG(a.gy, x, y, batch))
	require.NoError(t, p.CrossG(a.gxy, x, y, batch))
	require.NoError(t, p.HessG(a.gyy, x, y, batch))
	var err error
	a.f, err = p.ValueF(x, y, batch)
	require.NoError(t, err)
	a.g, err = p.ValueG(x, y, batch)
	require.NoError(t, err)
	return a
}

// flat lists all numbers; of g_yy the lower triangle.
func (a answers) flat() []float64 {
	all := append(append(append([]float64{a.f, a.g}, a.fx...), a.fy...), a.gy...)
	all = append(all, a.gxy.Data...)
	for i := range a.gyy.N {
		all = append(all, a.gyy.Row(i)...)
	}
	return all
}

func requireClose(t testing.TB, want, got []float64, tol float64) {
	t.Helper()
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.InDelta(t, want[i], got[i], tol*(1+math.Abs(want[i])), "entry %d", i)
	}
}

func TestDerivativesAgreeWithValues(t *testing.T) {
	const h = 1e-4
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 11)
			for _, batch := range [][]bilevel.Sample{nil, {5}, {2, 9, 9}} {
				at := ask(t, p, x, y, batch...)
				// central returns the differences of all answers in direction v[i].
				central := func(v []float64, i int) (plus, minus answers) {
					old := v[i]
					v[i] = old + h
					plus = ask(t, p, x, y, batch...)
					v[i] = old - h
					minus = ask(t, p, x, y, batch...)
					v[i] = old
					return plus, minus
				}
				for i := range x {
					u, l := central(x, i)
					assert.InDelta(t, (u.f-l.f)/(2*h), at.fx[i], 1e-6)
					for j := range y {
						assert.InDelta(t, (u.gy[j]-l.gy[j])/(2*h), at.gxy.At(i, j), 1e-8)
					}
				}
				for i := range y {
					u, l := central(y, i)
					assert.InDelta(t, (u.f-l.f)/(2*h), at.fy[i], 1e-6)
					assert.InDelta(t, (u.g-l.g)/(2*h), at.gy[i], 1e-6)
					for j := range y {
						assert.InDelta(t, (u.gy[j]-l.gy[j])/(2*h), at.gyy.At(i, j), 1e-8)
					}
				}
			}
		})
	}
}

func TestBatchIsMeanOfSingles(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 21)
			batch := []bilevel.Sample{0, 7, 12, 7}
			got := ask(t, p, x, y, batch...).flat()
			mean := make([]float64, len(got))
			for _, s := range batch {
				mat.Axpy(mean, 0.25, ask(t, p, x, y, s).flat())
			}
			requireClose(t, mean, got, 1e-13)
		})
	}
}

func TestFiniteSumAveragesToExact(t *testing.T) {
	for name, o := range variants() {
		if o.Terms == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 31)
			all := make([]bilevel.Sample, o.Terms)
			for i := range all {
				all[i] = bilevel.Sample(i)
			}
			exact := ask(t, p, x, y).flat()
			requireClose(t, exact, ask(t, p, x, y, all...).flat(), 1e-13)
			assert.NotEqual(t, exact, ask(t, p, x, y, 0).flat())
		})
	}
}

func TestProductsAreThoseOfTheMatrices(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 41)
			v := mattest.Vec(len(y), 43)
			for _, batch := range [][]bilevel.Sample{nil, {3}, {1, 8}} {
				a := ask(t, p, x, y, batch...)
				want, got := make([]float64, len(y)), make([]float64, len(y))
				mat.MulVecSym(want, a.gyy, v)
				require.NoError(t, p.HessVecG(got, x, y, v, batch))
				requireClose(t, want, got, 1e-13)
				want, got = make([]float64, len(x)), make([]float64, len(x))
				mat.MulVec(want, a.gxy, v)
				require.NoError(t, p.CrossVecG(got, x, y, v, batch))
				requireClose(t, want, got, 1e-13)
			}
		})
	}
}

// The mean square of the noise over n draws has the relative deviation √(2/(n·d)) at most: 5 of them are allowed.
func TestNoiseHasTheChosenSize(t *testing.T) {
	const n = 4000
	for name, o := range variants() {
		if o.Terms > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, _ := p.Optimum()
			y := make([]float64, o.Dy)
			require.NoError(t, p.Solution(y, x))
			const r = 2.0                    // the distance at which the growth of the noise of g_y is measured,
			xr, yr := away(x, r), away(y, r) // that of Constants(r) because CrossNorm/MuG is 1
			exact, far := ask(t, p, x, y), ask(t, p, xr, yr)
			sum := map[string]float64{}
			count := func(name string, a, b []float64) {
				for i := range a {
					sum[name] += (a[i] - b[i]) * (a[i] - b[i]) / n
				}
			}
			d := mat.NewSym(o.Dy)
			for s := range bilevel.Sample(n) {
				a := ask(t, p, x, y, s)
				count("fx", a.fx, exact.fx)
				count("fy", a.fy, exact.fy)
				count("gy", a.gy, exact.gy)
				count("gxy", a.gxy.Data, exact.gxy.Data)
				mat.AddScaledSym(d, a.gyy, -1, exact.gyy)
				e := mat.NormFrobSym(d)
				sum["gyy"] += e * e / n
				count("far", ask(t, p, xr, yr, s).gy, far.gy)
			}
			for name, sigma := range map[string]float64{"fx": o.SigmaFx, "fy": o.SigmaFy, "gy": o.SigmaGy, "gxy": o.SigmaGxy, "gyy": o.SigmaGyy,
				"far": p.Constants(r).SigmaGy} {
				assert.InEpsilon(t, sigma*sigma, sum[name], 5*math.Sqrt(2.0/n), name)
			}
		})
	}
}

// away returns the point at distance r from x in a direction with all entries of one size.
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
		mat.Scale(&mat.Dense{Rows: 1, Cols: d, Stride: d, Data: e}, sigma/math.Sqrt(d), &mat.Dense{Rows: 1, Cols: d, Stride: d, Data: e})
		e[0] += mean
		q := mat.Dot(e, e)
		m4 += q * q / n
	}
	// The relative deviation of one ‖m + σe‖⁴ is about 1.3.
	assert.InEpsilon(t, m4, math.Pow(moment(mean, sigma, d), 4), 5*1.3/math.Sqrt(n))
}

func TestSameNameIsSameDraw(t *testing.T) {
	for name, o := range variants() {
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
			o.Seed++
			assert.NotEqual(t, first.gyy, ask(t, make1(t, o), x, y, 4).gyy)
		})
	}
}

func TestSpectraAreTheChosenOnes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 33} {
		o := Options{Dx: n, Dy: n, MuG: 0.5, LG: 50, MuP: 2, LP: 3, CrossNorm: 0.7, Seed: uint64(n)}
		p := make1(t, o)
		for _, s := range []struct {
			a     *mat.Sym
			mu, l float64
		}{{p.a, o.MuG, o.LG}, {p.p, o.MuP, o.LP}} {
			var j eig.Jacobi
			_, err := j.Factor(s.a)
			require.NoError(t, err)
			for i, v := range j.Values() {
				want := s.mu * math.Pow(s.l/s.mu, float64(i)/max(1, float64(n-1)))
				assert.InDelta(t, want, v, 1e-12*s.l)
			}
		}
		assert.InEpsilon(t, 0.7, mat.NormFrob(p.b), 1e-14)
	}
}

// F's gradient by the formula of the paper's proposition 1, from the oracles and a dense solve.
func TestTruthAgreesWithOracles(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 71)
			y0 := append([]float64(nil), y...)
			require.NoError(t, p.Solution(y, x))
			assert.NotEqual(t, y0, y)
			a := ask(t, p, x, y)
			assert.Less(t, mat.Norm(a.gy), 1e-13*o.scale())
			var c chol.Cholesky
			require.NoError(t, c.Factor(a.gyy))
			c.SolveVec(a.fy, a.fy)
			want, grad := make([]float64, len(x)), make([]float64, len(x))
			mat.MulVec(want, a.gxy, a.fy)
			for i := range want {
				want[i] = a.fx[i] - want[i]
			}
			f, err := p.Objective(grad, x)
			require.NoError(t, err)
			requireClose(t, want, grad, 1e-13)
			assert.InDelta(t, a.f, f, 1e-13*math.Abs(a.f))
		})
	}
}

// scale is a size of g_y, for tolerances.
func (o Options) scale() float64 { return 100 * math.Sqrt(float64(max(o.Dx, 10)*max(o.Dy, 10))) }

func TestOptimum(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, f := p.Optimum()
			grad := make([]float64, len(x))
			at, err := p.Objective(grad, x)
			require.NoError(t, err)
			assert.Equal(t, f, at)
			assert.Less(t, mat.Norm(grad), 1e-12)
			if o.Nonconvex > 0 {
				assert.Zero(t, f)
			}
			// No point nearby or far away is better; Mu says by how much at least.
			for _, r := range []float64{1e-3, 0.1, 1, 10} {
				for s := range uint64(20) {
					z := mattest.Vec(len(x), s)
					q := r * r * mat.Dot(z, z)
					for i := range z {
						z[i] = x[i] + r*z[i]
					}
					fz, err := p.Objective(nil, z)
					require.NoError(t, err)
					assert.Greater(t, fz, f+0.999*p.Constants(1).Mu/2*q)
				}
			}
			x[0]++
			again, _ := p.Optimum()
			assert.NotEqual(t, x, again, "Optimum must return a copy")
		})
	}
}

// The curvature of F along coordinates goes down to about −w/2 and never below it.
func TestNonconvexitySeen(t *testing.T) {
	o := Options{Dx: 3, Dy: 2, Nonconvex: 4, CrossNorm: 0.1, Seed: 5}
	p := make1(t, o)
	const h = 1e-3
	lowest := math.Inf(1)
	x, _ := p.Optimum()
	curve := func() float64 {
		sum := 0.0
		for _, step := range []struct{ d, weight float64 }{{h, 1}, {-h, 1}, {0, -2}} {
			old := x[1]
			x[1] = old + step.d
			f, err := p.Objective(nil, x)
			require.NoError(t, err)
			sum += step.weight * f
			x[1] = old
		}
		return sum / (h * h)
	}
	assert.Greater(t, curve(), 0.0, "convex at the optimum")
	for range 40 {
		x[1] += 0.1
		lowest = min(lowest, curve())
	}
	muF := p.Constants(1).MuF
	assert.Equal(t, -2.0, muF)
	assert.Less(t, lowest, 0.95*muF)
	assert.Greater(t, lowest, muF-1e-6)
}

// Every constant holds at random points of the ball; those of the means with the noise-free problem, the moments with averages.
func TestConstantsHold(t *testing.T) {
	const r, n = 1.5, 300
	for name, o := range variants() {
		if o.Terms > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			c := p.Constants(r)
			xs, _ := p.Optimum()
			ys := make([]float64, o.Dy)
			require.NoError(t, p.Solution(ys, xs))
			rng := mattest.Rand(9)
			inBall := func(c []float64, r float64) []float64 {
				z := make([]float64, len(c))
				gaussian(rng, z)
				s := r * rng.Float64() / mat.Norm(z)
				for i := range z {
					z[i] = c[i] + s*z[i]
				}
				return z
			}
			for range 10 {
				x, x2, y, y2 := inBall(xs, r), inBall(xs, r), inBall(ys, r), inBall(ys, r)
				a, ax, ay := ask(t, p, x, y, 1), ask(t, p, x2, y, 1), ask(t, p, x, y2, 1)
				assert.LessOrEqual(t, distance(a.fx, ax.fx), c.LfxBar*distance(x, x2)*(1+1e-12))
				assert.LessOrEqual(t, distance(a.fy, ay.fy), c.Lfy*distance(y, y2)*(1+1e-12))
				m, my := ask(t, p, x, y), ask(t, p, x, y2)
				assert.LessOrEqual(t, distance(m.gy, my.gy), c.Lg*distance(y, y2)*(1+1e-12))

				sum := map[string]float64{}
				for s := range bilevel.Sample(n) {
					a := ask(t, p, x, y, s)
					fx, fy, gxy := mat.Norm(a.fx), mat.Norm(a.fy), mat.NormFrob(a.gxy)
					sum["fx"] += math.Pow(fx, 4) / n
					sum["fy"] += math.Pow(fy, 4) / n
					sum["gxy"] += gxy * gxy / n
					d := distance(a.gy, m.gy)
					sum["gy"] += d * d / n
				}
				// 1.3 leaves room for the deviation of an average over 300 draws in small dimensions.
				assert.Less(t, sum["fx"], 1.3*math.Pow(c.Cfx, 4))
				assert.Less(t, sum["fy"], 1.3*math.Pow(c.Cfy, 4))
				assert.Less(t, sum["gxy"], 1.3*c.Cgxy*c.Cgxy)
				assert.Less(t, sum["gy"], 1.3*c.SigmaGy*c.SigmaGy)
			}
		})
	}
	assert.Panics(t, func() { make1(t, Options{}).Constants(math.NaN()) })
}

func distance(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return mat.Norm(d)
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Dx": {Dx: -1}, "Dy": {Dy: -3}, "MuG": {MuG: -1}, "LG": {MuG: 2, LG: 1}, "MuP": {MuP: math.NaN()}, "LP": {LP: math.Inf(1)},
		"MuP and LP": {Nonconvex: 1, MuP: 1}, "CrossNorm": {CrossNorm: -1}, "Nonconvex": {Nonconvex: math.Inf(1)},
		"SigmaFx": {SigmaFx: -1}, "SigmaFy": {SigmaFy: math.NaN()}, "SigmaGy": {SigmaGy: -1}, "SigmaGxy": {SigmaGxy: -1}, "SigmaGyy": {SigmaGyy: -1},
		"Terms": {Terms: 3},
	} {
		p, err := New(o)
		assert.Nil(t, p)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, "quadratic: "+name+" ")
	}
	p, err := New(Options{Dy: 40, MuG: 1e-30, LG: 1}) // half of the spectrum is lost in rounding
	assert.Nil(t, p)
	assert.ErrorIs(t, err, chol.ErrNotPosDef)

	o := make1(t, Options{}).Options()
	assert.Equal(t, Options{Dx: 10, Dy: 10, MuG: 1, LG: 10, MuP: 1, LP: 10, CrossNorm: 1}, o)
}

func TestWrongLengthsPanic(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3})
	x, y := make([]float64, 2), make([]float64, 3)
	for name, f := range map[string]func(){
		"GradF":     func() { _ = p.GradF(y, y, x, y, nil) },
		"GradG":     func() { _ = p.GradG(y, y, y, nil) },
		"CrossG":    func() { _ = p.CrossG(mat.NewDense(3, 2), x, y, nil) },
		"HessG":     func() { _ = p.HessG(mat.NewSym(2), x, y, nil) },
		"HessVecG":  func() { _ = p.HessVecG(make([]float64, 3), x, y, x, nil) },
		"CrossVecG": func() { _ = p.CrossVecG(make([]float64, 3), x, y, y, nil) },
		"Solution":  func() { _ = p.Solution(x, x) },
	} {
		assert.PanicsWithValue(t, "quadratic: "+name+": dimension mismatch", f)
	}
}

func TestOraclesDoNotAllocate(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 81)
			a := ask(t, p, x, y)
			v, hv, grad := mattest.Vec(len(y), 1), make([]float64, len(y)), make([]float64, len(x))
			batch := []bilevel.Sample{3, 4}
			assert.Zero(t, testing.AllocsPerRun(10, func() {
				_ = p.GradF(a.fx, a.fy, x, y, batch)
				_ = p.GradG(a.gy, x, y, batch)
				_ = p.CrossG(a.gxy, x, y, batch)
				_ = p.HessG(a.gyy, x, y, batch)
				_ = p.HessVecG(hv, x, y, v, batch)
				_ = p.CrossVecG(grad, x, y, v, batch)
				_, _ = p.ValueF(x, y, batch)
				_, _ = p.ValueG(x, y, batch)
				_ = p.Solution(y, x)
				_, _ = p.Objective(grad, x)
			}))
		})
	}
}

// Each size moves the derivatives that it is named after, and g_y with the second derivatives; nothing else.
func TestEachNoiseHasItsOwnOracles(t *testing.T) {
	for _, c := range []struct {
		o                       Options
		fx, fy, gy, gxy, gyy, f bool
	}{
		{Options{SigmaFx: 1}, true, false, false, false, false, true},
		{Options{SigmaFy: 1}, false, true, false, false, false, true},
		{Options{SigmaGy: 1}, false, false, true, false, false, false},
		{Options{SigmaGxy: 1}, false, false, true, true, false, false},
		{Options{SigmaGyy: 1}, false, false, true, false, true, false},
	} {
		p := make1(t, c.o)
		x, y := point(p, 91)
		exact, a := ask(t, p, x, y), ask(t, p, x, y, 1)
		assert.Equal(t, c.fx, distance(exact.fx, a.fx) > 0, c)
		assert.Equal(t, c.fy, distance(exact.fy, a.fy) > 0, c)
		assert.Equal(t, c.gy, distance(exact.gy, a.gy) > 0, c)
		assert.Equal(t, c.gxy, distance(exact.gxy.Data, a.gxy.Data) > 0, c)
		assert.Equal(t, c.gyy, distance(exact.gyy.Data, a.gyy.Data) > 0, c)
		assert.Equal(t, c.f, exact.f != a.f, c)
		assert.Equal(t, c.gy, exact.g != a.g, c)
	}
}

func TestNamesOutsideOfTheSumAreErrors(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3, Terms: 20})
	x, y, v := make([]float64, 2), make([]float64, 3), make([]float64, 3)
	upper, lower := p.Streams()
	assert.Equal(t, []uint64{20, 20}, []uint64{upper, lower})
	batch := []bilevel.Sample{0, 20}
	_, errF := p.ValueF(x, y, batch)
	_, errG := p.ValueG(x, y, batch)
	for i, err := range []error{
		errF, errG,
		p.GradF(make([]float64, 2), make([]float64, 3), x, y, batch),
		p.GradG(make([]float64, 3), x, y, batch),
		p.CrossG(mat.NewDense(2, 3), x, y, batch),
		p.HessG(mat.NewSym(3), x, y, batch),
		p.HessVecG(make([]float64, 3), x, y, v, batch),
		p.CrossVecG(make([]float64, 2), x, y, v, batch),
	} {
		assert.ErrorContains(t, err, "sample 20 is outside of the finite sum of 20 terms", i)
	}
}
