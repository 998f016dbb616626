package auto_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/check"
	"stable/bilevel/hyperopt"
	"stable/mat"
)

// softmax is tuning for classes: y is classes × features, x a log weight for each class.
func softmax(a [][]float64, label []int, classes int) (*auto.Problem, error) {
	d := len(a[0])
	loss := func(y auto.Vec, i bilevel.Sample) auto.Num {
		score := y.Mat(classes, d).MulVec(auto.Data(a[i]))
		return score.LogSumExp().Sub(score.At(label[i]))
	}
	return auto.New(auto.Losses{
		Dx: classes, Dy: classes * d, Upper: uint64(len(a)), Lower: uint64(len(a)),
		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return loss(y, i) },
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			g, w := loss(y, i), x.Exp()
			for c := range classes {
				g = g.Add(w.At(c).Mul(y.Slice(c*d, c*d+d).SquaredNorm()))
			}
			return g
		},
	})
}

type example struct {
	p *auto.Problem
	o check.Options
}

func examples(t testing.TB) map[string]example {
	rng := rand.New(rand.NewPCG(7, 7))
	a, b := rowsOf(rng, 12, 5, 9)
	c, e := rowsOf(rng, 20, 5, 20)
	m := map[string]example{}
	add := func(name string, o check.Options) func(p *auto.Problem, err error) {
		return func(p *auto.Problem, err error) {
			require.NoError(t, err)
			m[name] = example{p, o}
		}
	}
	add("cleaning", check.Options{MuG: 0.1})(cleaning(a, b, c, e))
	add("ridge", check.Options{})(ridge(a, b, c, e))
	add("meta", check.Options{MuG: 0.1, ScaleX: 0.3, ScaleY: 0.3})(meta(3))
	add("softmax", check.Options{})(softmax(a, []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, 3))
	add("recurrent", check.Options{MuG: 1, ScaleX: 0.3, ScaleY: 0.3})(recurrent(rng))
	add("robust", check.Options{})(robust(rng))
	add("factors", check.Options{MuG: 0.1})(factors(rng))
	add("tuning", check.Options{Set: bilevel.UniformBox(6, 0.1, 1)})(tuning(t, rows(6, 0.5)), nil)
	add("simulator", check.Options{Set: bilevel.NonNegative{}, MuG: 1})(auto.New(auto.Losses{Dx: 2, Dy: 3,
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			n := rand.New(rand.NewPCG(uint64(s), 0)).NormFloat64()
			return y.Sum().Scale(1 + n/5).Sin().Add(x.SquaredNorm())
		},
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			n := rand.New(rand.NewPCG(uint64(s), 1)).NormFloat64()
			return y.Shift(n / 4).SquaredNorm().Scale(0.5).Add(x.Sum().Mul(y.SquaredNorm())).Add(y.At(0).Mul(x.At(1)))
		},
		MeanG: func(x, y auto.Vec) auto.Num {
			return y.SquaredNorm().Scale(0.5).Add(x.Sum().Mul(y.SquaredNorm())).Add(y.At(0).Mul(x.At(1))).Shift(3. / 32)
		},
	}))
	return m
}

func TestExamplesPassTheChecks(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				e.o.Seed = seed
				report, err := check.Problem(e.p, e.o)
				require.NoError(t, err)
				require.NoError(t, report.Err(), report)
				if name != "simulator" { // whose f has no exact value
					assert.Empty(t, report.Skipped)
				}
				passed := map[string]bool{}
				for _, p := range report.Passed {
					passed[p.Check+" "+p.Oracle] = true
				}
				for _, want := range []string{"derivative GradF", "derivative GradG", "derivative CrossG",
					"derivative HessG", "product HessVecG", "product CrossVecG", "unbiased HessG",
					"batch mean CrossG"} {
					assert.True(t, passed[want], want)
				}
			}
		})
	}
}

// A promise goes through as it is, and is held against samples.
func TestModulus(t *testing.T) {
	data := rows(6, 0.5)
	p := tuning(t, data)
	hand, err := hyperopt.New(data, data, hyperopt.Options{})
	require.NoError(t, err)
	x := []float64{.9, .3, .5, .7, .2, .4}
	assert.Equal(t, hand.ConvexityAt(x), p.ConvexityAt(x))
	assert.Equal(t, math.Inf(-1), lowerLoss(t, 1, 1, func(x, y vec) num { return y.SquaredNorm() }).ConvexityAt(x[:1]))

	loss := func(x, y vec, _ bilevel.Sample) num { return y.SquaredNorm().Add(x.SquaredNorm()) }
	for modulus, want := range map[float64]error{2: nil, 2.001: check.ErrWrong} {
		p, err := auto.New(auto.Losses{Dx: 1, Dy: 2, Upper: 1, Lower: 1, F: loss, G: loss,
			Modulus: func([]float64) float64 { return modulus }})
		require.NoError(t, err)
		report, err := check.Problem(p, check.Options{})
		require.NoError(t, err)
		require.ErrorIs(t, report.Err(), want)
	}
}

func TestAgreesWithDerivativesByHand(t *testing.T) {
	for _, share := range []float64{1, 0.3} {
		for _, d := range []int{1, 5, 14, 54} {
			t.Run(fmt.Sprintf("d=%d/share=%v", d, share), func(t *testing.T) {
				data := rows(d, share)
				hand, err := hyperopt.New(data, data, hyperopt.Options{})
				require.NoError(t, err)
				p := tuning(t, data)
				x, y, v := pointOf(p)
				for _, batch := range [][]bilevel.Sample{{3}, {0, 999, 999, 17}, nil} {
					got, want := all(t, p, x, y, v, batch), all(t, hand, x, y, v, batch)
					require.Len(t, got, len(want))
					for i := range want {
						require.InDelta(t, want[i], got[i], 1e-12*(1+math.Abs(want[i])), i)
					}
				}
			})
		}
	}
}

func all(t testing.TB, p oracles, x, y, v []float64, batch []bilevel.Sample) []float64 {
	dx, dy := p.Dims()
	u := make([]float64, 2*dx+3*dy)
	gxy, gyy := mat.NewDense(dx, dy), mat.NewSym(dy)
	require.NoError(t, p.GradF(u[:dx], u[2*dx:2*dx+dy], x, y, batch))
	require.NoError(t, p.GradG(u[2*dx+dy:2*dx+2*dy], x, y, batch))
	require.NoError(t, p.HessVecG(u[2*dx+2*dy:], x, y, v, batch))
	require.NoError(t, p.CrossVecG(u[dx:2*dx], x, y, v, batch))
	require.NoError(t, p.CrossG(gxy, x, y, batch))
	require.NoError(t, p.HessG(gyy, x, y, batch))
	u = append(u, gxy.Data...)
	return append(u, gyy.Data...)
}

// Clones side by side, and a problem that has just failed, give the same bits.
func TestReproducible(t *testing.T) {
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			x, y, v := pointOf(e.p)
			batch := []bilevel.Sample{2, 0, 1, 2}
			first := all(t, e.p, x, y, v, batch)
			bad := slices.Clone(y)
			bad[0] = math.NaN()
			require.Error(t, e.p.HessG(mat.NewSym(len(y)), x, bad, batch))
			assert.Equal(t, first, all(t, e.p, x, y, v, batch))
			var wg sync.WaitGroup
			for range 4 {
				clone := e.p.Clone()
				wg.Add(1)
				go func() {
					defer wg.Done()
					_ = all(t, clone, x, v, y, batch)
					assert.Equal(t, first, all(t, clone, x, y, v, batch))
				}()
			}
			wg.Wait()
		})
	}
}

func TestMemoryGrows(t *testing.T) {
	const d = 5000
	p, err := auto.New(auto.Losses{Dx: d, Dy: d,
		F: func(x, y auto.Vec, s bilevel.Sample) auto.Num { return y.Sum() },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			u := y.Mul(x)
			for range s {
				u = u.Scale(2)
			}
			return u.Square().Sum().Scale(0.5)
		},
	})
	require.NoError(t, err)
	x, y, v, h := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range x {
		x[i], y[i], v[i] = 1+float64(i)/d, float64(d-i), math.Sin(float64(i))
	}
	for _, s := range []bilevel.Sample{0, 3, 1, 7, 2} {
		require.NoError(t, p.HessVecG(h, x, y, v, []bilevel.Sample{s}))
		for i := range h {
			want := x[i] * x[i] * v[i] * math.Pow(4, float64(s))
			require.InDelta(t, want, h[i], 1e-13*math.Abs(want))
		}
	}
	one := []bilevel.Sample{7}
	assert.Zero(t, testing.AllocsPerRun(5, func() { _ = p.HessVecG(h, x, y, v, one) }))
}

func TestNothingIsAllocated(t *testing.T) {
	for name, e := range examples(t) {
		if name == "simulator" {
			continue // its losses make generators
		}
		t.Run(name, func(t *testing.T) {
			x, y, v := pointOf(e.p)
			gx, oracles := slices.Clone(x), calls(e.p, x, y, v)
			oracles["GradXG"] = func(b []bilevel.Sample) error { return e.p.GradXG(gx, x, y, b) }
			oracles["ValueG"] = func(b []bilevel.Sample) error { _, err := e.p.ValueG(x, y, b); return err }
			for _, b := range [][]bilevel.Sample{{0, 1, 2}, nil} {
				for oracle, call := range oracles {
					assert.Zero(t, testing.AllocsPerRun(5, func() {
						if err := call(b); err != nil {
							t.Fatal(err)
						}
					}), oracle)
				}
			}
		})
	}
}
