package auto_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/mat"
	"stable/mat/mattest"
)

type (
	num = auto.Num
	vec = auto.Vec
)

func lowerLoss(t testing.TB, dx, dy int, g func(x, y vec) num) *auto.Problem {
	loss := func(x, y vec, _ bilevel.Sample) num { return g(x, y) }
	return bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: dy, Upper: 1, Lower: 1, F: loss, G: loss}))
}

var sample0 = []bilevel.Sample{0}

func TestFunctions(t *testing.T) {
	sigmoid := func(a float64) float64 { return 1 / (1 + math.Exp(-a)) }
	sech2 := func(a float64) float64 { return 1 / (math.Cosh(a) * math.Cosh(a)) }
	slopeOf := func(a float64) float64 { return sigmoid(a) * sigmoid(-a) }
	for _, c := range []function{
		{"Exp", num.Exp, vec.Exp, math.Exp, math.Exp, math.Exp, []float64{-700, -1, 0, 2, 700}},
		{"Log", num.Log, vec.Log, math.Log, power(1, -1), power(-1, -2), []float64{1e-100, 0.3, 1, 1e100}},
		{"Sqrt", num.Sqrt, vec.Sqrt, math.Sqrt, power(0.5, -0.5), power(-0.25, -1.5), []float64{1e-100, 0.3, 1, 1e100}},
		{"Inv", num.Inv, vec.Inv, power(1, -1), power(-1, -2), power(2, -3), []float64{-1e50, -2, 1e-50, 0.3, 1}},
		{"Square", num.Square, vec.Square, power(1, 2), power(2, 1), power(2, 0), []float64{-1e50, 0, 3}},
		{"Tanh", num.Tanh, vec.Tanh, math.Tanh, sech2, func(a float64) float64 { return -2 * math.Tanh(a) * sech2(a) },
			[]float64{-300, -20, -1, -0.6, 0, 1e-9, 0.625, 0.7, 5, 18, 300}},
		// Near 0, the second derivative of Sigmoid is exact to the rounding of the first.
		{"Sigmoid", num.Sigmoid, vec.Sigmoid, sigmoid, slopeOf,
			func(a float64) float64 { return slopeOf(a) * math.Tanh(-a/2) }, []float64{-700, -30, -1, 0, 0.5, 30, 700}},
		{"Softplus", num.Softplus, vec.Softplus,
			func(a float64) float64 { return max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) },
			sigmoid, slopeOf, []float64{-800, -700, -30, -1, 0, 1e-9, 0.5, 30, 40, 700, 800, 1e300}},
		{"Sin", num.Sin, vec.Sin, math.Sin, math.Cos, minus(math.Sin), []float64{-2, 0, 1, 100}},
		{"Cos", num.Cos, vec.Cos, math.Cos, minus(math.Sin), minus(math.Cos), []float64{-2, 0, 1, 100}},
		pow(0, -1, 0, 2), pow(1, -1, 0, 2), pow(2, -1, 0, 3), pow(3, -1, 0, 3),
		pow(-2, -3, 0.5), pow(2.5, 0, 0.5, 7), pow(-0.5, 0.1, 4),
	} {
		for _, a := range c.at {
			t.Run(fmt.Sprintf("%s/%v", c.name, a), func(t *testing.T) {
				// A number, an entry beside another, and both as constants.
				p := lowerLoss(t, 1, 3, func(_, y vec) num {
					fixed := c.num(auto.Const(a)).Add(c.vec(auto.Data([]float64{a})).At(0))
					return c.num(y.At(0)).Add(c.vec(y.Slice(1, 3)).At(1)).Add(fixed)
				})
				oracles := calls(p, []float64{0.7}, []float64{a, c.at[0], a}, []float64{1, 0, 1})
				second := c.both(a)
				for oracle, want := range map[string]float64{"ValueG": 4 * c.val(a), "GradG": c.first(a), "HessVecG": second,
					"HessG": second} {
					u := bileveltest.Must(oracles[oracle](sample0))
					for _, got := range []float64{u[0], u[len(u)-1]} {
						assert.InDelta(t, want, got, 1e-14*math.Abs(want)+1e-320, oracle)
					}
				}
			})
		}
	}
}

type function struct {
	name             string
	num              func(num) num
	vec              func(vec) vec
	val, first, both func(a float64) float64
	at               []float64
}

func power(c, e float64) func(float64) float64 {
	return func(a float64) float64 {
		if c == 0 {
			return 0
		}
		return c * math.Pow(a, e)
	}
}

func minus(f func(float64) float64) func(float64) float64 {
	return func(a float64) float64 { return -f(a) }
}

func pow(r float64, at ...float64) function {
	return function{fmt.Sprintf("Pow%v", r), func(a num) num { return a.Pow(r) }, func(u vec) vec { return u.Pow(r) },
		power(1, r), power(r, r-1), power(r*(r-1), r-2), at}
}

func TestOperations(t *testing.T) {
	a, b := []float64{0.5, -1, 2, 0.3}, []float64{1.5, 0.2, -0.7, 1}
	tall := mattest.DenseOf(6, 4, func(i, j int) float64 { return math.Sin(float64((4*i + j) * (4*i + j))) })
	for name, f := range map[string]func(x, y vec) num{
		"Div": func(x, y vec) num {
			return y.At(0).Div(x.At(1)).Add(y.SquaredNorm().Div(auto.Const(3))).Add(auto.Const(2).Div(y.At(3)))
		},
		"numbers": func(x, y vec) num { return auto.Const(2).Sub(y.At(0)).Mul(auto.Const(3)) },
		"Weighted/const": func(x, y vec) num {
			return y.WeightedSquares(auto.Data(a)).Add(auto.Data(a).WeightedSquares(x))
		},
		"Weighted/itself": func(x, y vec) num { return y.WeightedSquares(y) },
		"Slice":           func(x, y vec) num { return y.Slice(1, 3).Slice(1, 2).At(0).Add(x.Slice(2, 2).Sum()) },
		"ScaleBy": func(x, y vec) num {
			return auto.Data(a).ScaleBy(y.At(1)).Dot(x).Add(y.ScaleBy(auto.Const(2)).SquaredNorm())
		},
		"sums of one entry": func(x, y vec) num {
			u := y.Slice(0, 1).Add(y.Slice(2, 3))
			sum := u.WeightedSquares(x.Slice(1, 2)).Add(u.SquaredNorm())
			return sum.Add(u.Mat(1, 1).MulVec(u).Dot(u)).Add(u.Exp().Mul(u).Sum())
		},
		"Matrix/tall": func(x, y vec) num { return auto.Matrix(tall).MulVec(y.Tanh()).Square().Square().Sum() },
		"Vec.Div":     func(x, y vec) num { return y.Div(auto.Data(a)).Mul(auto.Data(a).Div(x)).Sum() },
		"Apply": func(x, y vec) num {
			sin := func(a float64) (v, p, q float64) { return math.Sin(a), math.Cos(a), -math.Sin(a) }
			return y.Mul(x).Apply(sin).Sum().Add(y.At(0).Apply(sin(y.At(0).Value())))
		},
		"empty": func(x, y vec) num {
			u, d := y.Slice(2, 2), auto.Data(nil)
			sum := u.Dot(d).Add(u.Sum()).Add(u.SquaredNorm()).Add(u.WeightedSquares(d)).Add(d.WeightedSquares(u))
			sum = sum.Add(u.Exp().Add(d).Mul(u).Div(u).Sum())
			return sum.Add(u.DotSparse(nil, nil)).Add(y.At(0)).Add(x.Slice(0, 0).Dot(u))
		},
		"empty matrix": func(x, y vec) num {
			u := y.Slice(1, 1)
			sum := u.Mat(0, 4).MulVec(y).Sum().Add(u.Mat(0, 4).MulVecTrans(u).Dot(x))
			return sum.Add(u.Mat(2, 0).MulVec(u).Dot(y.Slice(0, 2)))
		},
		"a constant": func(x, y vec) num { return auto.Const(3) },
	} {
		for outer, g := range map[string]func(x, y vec) num{
			"alone":  f,
			"curved": func(x, y vec) num { return f(x, y).Tanh() },
			"times":  func(x, y vec) num { return f(x, y).Mul(y.Dot(auto.Data(b))).Sin().Mul(x.At(0)) },
		} {
			t.Run(name+"/"+outer, func(t *testing.T) {
				x, y := []float64{0.4, 0.8, -0.6, 1.1}, []float64{0.3, -0.7, 0.9, 1.2}
				againstDifferences(t, lowerLoss(t, 4, 4, g), x, y)
			})
		}
	}
}

func TestQuotientHasOneRounding(t *testing.T) {
	p := lowerLoss(t, 1, 1, func(x, y vec) num { return y.At(0).Div(auto.Const(49)).Add(y.At(0).Div(x.At(0))) })
	v := bileveltest.Must(p.ValueG([]float64{49}, []float64{49}, nil))
	assert.Equal(t, 2.0, v)
	assert.Equal(t, math.Inf(-1), p.ConvexityAt([]float64{49}))
}

func TestConstants(t *testing.T) {
	data := func(a ...float64) vec { return auto.Data(a) }
	u := data(1, 2).Sub(data(3, 5)).Mul(data(5, 6)).Scale(2).Shift(1)
	assert.Equal(t, []float64{-19, -35}, u.Value())
	assert.Equal(t, []float64{-35, -54, 1586}, auto.Stack(u.At(1), u.Sum(), u.Dot(u)).Value())
	w := data(1, 2, 3, 4).Mat(2, 2)
	assert.Equal(t, []float64{-89, -197}, w.MulVec(u).Value())
	assert.Equal(t, []float64{-124, -178}, w.MulVecTrans(u).Value())
}

func TestBuffersOfTheCaller(t *testing.T) {
	a, _ := rowsOf(rand.New(rand.NewPCG(8, 8)), 6, 4, 6)
	buffer := make([]float64, 4)
	of := func(data func(s bilevel.Sample) []float64) []float64 {
		g := func(x, y vec, s bilevel.Sample) num {
			z := y.Dot(auto.Data(data(s)))
			return z.Softplus().Add(y.WeightedSquares(x.Exp())).Add(z.Mul(x.Dot(auto.Data(data(s)))))
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 4, Dy: 4, Upper: 6, Lower: 6, F: g, G: g}))
		return all(t, p, []float64{.1, .2, .3, .4}, []float64{.5, .6, -.7, .8}, []float64{1, -1, 2, 1}, nil)
	}
	fresh := of(func(s bilevel.Sample) []float64 { return a[s] })
	assert.Equal(t, fresh, of(func(s bilevel.Sample) []float64 { copy(buffer, a[s]); return buffer }))
}

func TestStructure(t *testing.T) {
	a := []float64{1, -2, 3, 0.5, 1, 1, 1, 1}
	for _, c := range []struct {
		name        string
		g           func(x, y vec) num
		hess, cross int
	}{
		{"logistic", func(x, y vec) num { return y.Dot(auto.Data(a)).Softplus() }, 1, 1},
		{"weights", func(x, y vec) num { return y.Dot(auto.Data(a)).Softplus().Add(y.WeightedSquares(x.Exp())) }, 1, 1},
		{"a weight", func(x, y vec) num { return y.SquaredNorm().Mul(x.At(0).Exp()) }, 0, 1},
		{"a quadratic", func(x, y vec) num { return y.Sub(x).SquaredNorm().Add(x.Dot(y)) }, 0, 0},
		{"separable", func(x, y vec) num { return y.Tanh().Mul(x.Exp()).Sum() }, 0, 0},
		{"by numbers", func(x, y vec) num {
			var s num
			for i := range y.Len() {
				s = s.Add(x.At(i).Exp().Mul(y.At(i).Square()).Tanh())
			}
			return s
		}, 0, 0},
		{"one predictor, used often", func(x, y vec) num {
			z := y.Dot(auto.Data(a)).Scale(2)
			return z.Exp().Add(z.Tanh().Mul(z.Sin())).Log()
		}, 1, 1},
		{"two predictors", func(x, y vec) num {
			return y.Dot(auto.Data(a)).Mul(y.Sum()).Add(y.SquaredNorm())
		}, 1, 1}, // a product wants one of its factors cut
		{"two outputs of a constant matrix", func(x, y vec) num {
			return auto.Matrix(mat.DenseOf(2, 4, a)).MulVec(y.Slice(0, 4)).SquaredNorm()
		}, 2, 2}, // they are cut, and not what they are made of
		{"two numbers, then all pairs", func(x, y vec) num {
			return x.At(0).Mul(y.At(3)).Add(y.WeightedSquares(x))
		}, 0, 1},
		{"linear", func(x, y vec) num { return y.Dot(auto.Data(a)).Add(x.Sum()).Scale(3).Shift(1) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := lowerLoss(t, 8, 8, c.g)
			x, y := []float64{.1, .2, .3, .4, .5, .6, .7, .8}, []float64{.3, -.2, .1, .5, -.4, .2, .1, -.1}
			require.NoError(t, p.HessG(mat.NewSym(8), x, y, sample0))
			assert.Equal(t, c.hess, auto.Variables(p))
			require.NoError(t, p.CrossG(mat.NewDense(8, 8), x, y, sample0))
			assert.Equal(t, c.cross, auto.Variables(p))
			againstDifferences(t, p, x, y)
		})
	}
}
