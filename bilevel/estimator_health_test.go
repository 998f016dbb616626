package bilevel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/method"
	"stable/eig"
	"stable/mat"
)

// features draws rows of a linear model with noise.
func features(n, d int, seed uint64) (rows [][]float64, labels []float64) {
	rng := rand.New(rand.NewPCG(seed, 'f'))
	for range n {
		row, label := make([]float64, d), 0.3*rng.NormFloat64()
		for j := range row {
			row[j] = rng.NormFloat64()
			label += row[j] / float64(j+1)
		}
		rows, labels = append(rows, row), append(labels, label)
	}
	return rows, labels
}

// fitted is a problem of data whose lower level is the loss of a model plus a regulariser of x.
func fitted(t *testing.T, dx, dy int, loss func(y auto.Vec, row []float64, label float64) auto.Num,
	with func(x, y auto.Vec) auto.Num) *auto.Problem {
	t.Helper()
	train, want := features(80, 4, 1)
	test, also := features(80, 4, 2)
	p, err := auto.New(auto.Losses{
		Dx: dx, Dy: dy, Upper: uint64(len(test)), Lower: uint64(len(train)),
		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return loss(y, test[i], also[i]) },
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return loss(y, train[i], want[i]).Add(with(x, y)) },
	})
	require.NoError(t, err)
	return p
}

// ridge has a weight for each coefficient; one feature counts a tenth, so that its weight matters.
func ridge(t *testing.T) bilevel.Problem {
	return fitted(t, 4, 4, func(y auto.Vec, row []float64, label float64) auto.Num {
		return y.Dot(auto.Data([]float64{row[0], row[1], row[2], row[3] / 10})).Shift(-label).Square().Scale(0.5)
	}, func(x, y auto.Vec) auto.Num { return y.WeightedSquares(x.Exp()).Scale(0.05) })
}

// logistic has one weight for all coefficients.
func logistic(t *testing.T) bilevel.Problem {
	return fitted(t, 1, 4, func(y auto.Vec, row []float64, label float64) auto.Num {
		return y.Dot(auto.Data(row)).Scale(-math.Copysign(1, label)).Softplus()
	}, func(x, y auto.Vec) auto.Num { return y.SquaredNorm().Mul(x.At(0).Exp()).Scale(0.05) })
}

// network is not convex in y: two tanh units on two features, with hardly any regulariser.
func network(t *testing.T) bilevel.Problem {
	return fitted(t, 1, 6, func(y auto.Vec, row []float64, label float64) auto.Num {
		z := auto.Data(row[:2])
		one, two := y.Slice(0, 2).Dot(z).Tanh(), y.Slice(2, 4).Dot(z).Tanh()
		return one.Mul(y.At(4)).Add(two.Mul(y.At(5))).Shift(-label).Square().Scale(0.5)
	}, func(x, y auto.Vec) auto.Num { return y.SquaredNorm().Mul(x.At(0).Exp()).Scale(1e-4) })
}

// lowest is the least eigenvalue of the exact g_yy where the solver is.
func lowest(t *testing.T, p bilevel.Problem, s *bilevel.Solver) float64 {
	t.Helper()
	_, dy := p.Dims()
	h := mat.NewSym(dy)
	require.NoError(t, p.HessG(h, s.X(), s.Y(), nil))
	var e eig.Jacobi
	_, err := e.FactorValues(h)
	require.NoError(t, err)
	return e.Values()[0]
}

// A method whose estimator raises eigenvalues says that μ_g is too large where it is twice and five
// times too large, and what it saw, and is silent where it is right; on problems that the rule was
// not chosen on.
func TestLargeMuGIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	wavy := func(*testing.T) bilevel.Problem { return bileveltest.NewWavy[bilevel.Sample](0.3) }
	for name, make := range map[string]func(*testing.T) bilevel.Problem{"ridge": ridge, "logistic": logistic, "wavy": wavy} {
		for _, kind := range []string{"STABLE", "RSVRB"} {
			entry, err := method.Lookup(kind)
			require.NoError(t, err)
			run := func(mu float64, seed uint64) (*bilevel.Solver, bilevel.Result) {
				tuning := method.Tuning{MuG: mu, LG: 3, CGxy: math.Inf(1)}
				if entry.Needs.Alpha {
					tuning.Alpha, tuning.Beta = bilevel.Power{C: 0.1, P: 0.5}, bilevel.Power{C: 0.3, P: 0.5}
				}
				s, err := bilevel.New(make(t), entry.New(tuning), bilevel.Options{Seed: seed, Set: bilevel.Ball{Radius: 1}})
				require.NoError(t, err)
				r, err := s.Run(t.Context(), bilevel.Run{Steps: 1500})
				require.NoError(t, err)
				return s, r
			}
			s, _ := run(1e-3, 1)
			right := lowest(t, make(t), s)
			for _, factor := range []float64{1, 2, 5} {
				s, r := run(factor*right, 2)
				h, ok := s.Health()
				require.True(t, ok)
				assert.Equal(t, factor > 1, h.LargeMuG, "%s on %s, %g times", kind, name, factor)
				assert.False(t, h.NotConvex)
				assert.Equal(t, h.Warnings(), r.Warnings)
				if factor <= 1 {
					assert.Empty(t, r.Warnings)
					continue
				}
				require.Len(t, r.Warnings, 1)
				assert.Contains(t, r.Warnings[0], "looks too large: the least eigenvalue of g_yy is ")
				assert.InEpsilon(t, lowest(t, make(t), s), h.Least, 0.3)
			}
		}
	}
}

// A lower level that is not convex where the run is, is told: y⁰ = 0 is a saddle of a network, and
// every sample's g_y is 0 there.
func TestNotConvexIsTold(t *testing.T) {
	p := network(t)
	s, err := bilevel.New(p, bilevel.STABLE{MuG: 0.1}, bilevel.Options{Set: bilevel.UniformBox(1, -3, 3)})
	require.NoError(t, err)
	r, err := s.Run(t.Context(), bilevel.Run{Steps: 1000})
	require.NoError(t, err)
	h, _ := s.Health()
	assert.True(t, h.NotConvex)
	assert.InDelta(t, lowest(t, p, s), h.Least, 4*h.LeastErr)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "g(x, ·) is not convex where the run is")
}
