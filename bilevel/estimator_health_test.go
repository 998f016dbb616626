package bilevel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/eig"
	"stable/mat"
)

func noisy(size float64, o quadratic.Options) quadratic.Options {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = size, size, size, size, size
	return o
}

// lowest is the least eigenvalue of the exact g_yy where the solver is.
func lowest(t *testing.T, p bilevel.Problem, s *bilevel.Solver) float64 {
	t.Helper()
	_, dy := p.Dims()
	h := mat.NewSym(dy)
	require.NoError(t, p.HessG(h, s.X(), s.Y(), nil))
	var e eig.Jacobi
	require.NoError(t, e.FactorValues(h))
	return e.Values()[0]
}

// It is told where μ_g is twice and five times too large, and not where it is right.
func TestLargeMuGIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	wide := bileveltest.NewWavy[bilevel.Sample](0.2)
	wide.Dy, wide.N = 8, 80
	sum := must(quadratic.New(noisy(0.2, quadratic.Options{Dx: 4, Dy: 5, Seed: 3, Terms: 80, MuG: 0.3})))
	wavy := bileveltest.NewWavy[bilevel.Sample](0.3)
	for name, p := range map[string]bilevel.Problem{"wavy": wavy, "wide": wide, "sum": sum} {
		for _, kind := range []string{"STABLE", "RSVRB"} {
			entry := must(method.Lookup(kind))
			run := func(mu float64, seed uint64) (*bilevel.Solver, bilevel.Result) {
				tuning := method.Tuning{MuG: mu, LG: 3, CGxy: math.Inf(1)}
				if entry.Needs.Alpha {
					tuning.Alpha, tuning.Beta = bilevel.Power{C: 0.1, P: 0.5}, bilevel.Power{C: 0.3, P: 0.5}
				}
				s := must(bilevel.New(p, entry.New(tuning), bilevel.Options{Seed: seed, Set: bilevel.Ball{Radius: 1}}))
				r := must(s.Run(t.Context(), bilevel.Run{Steps: 1500}))
				return s, r
			}
			s, _ := run(1e-3, 1)
			right := lowest(t, p, s)
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
				assert.InEpsilon(t, lowest(t, p, s), h.Least, 0.3)
			}
		}
	}
}

// saddle is a problem with 2 less in every eigenvalue of g_yy.
type saddle struct{ bilevel.Problem }

func (p saddle) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := p.Problem.HessG(gyy, x, y, phi)
	mat.AddIdentity(gyy, -2)
	return err
}

func TestNotConvexIsTold(t *testing.T) {
	p := saddle{bileveltest.NewWavy[bilevel.Sample](0.3)}
	s := must(bilevel.New(p, bilevel.STABLE{MuG: 0.1}, bilevel.Options{Set: bilevel.UniformBox(3, -3, 3)}))
	r := must(s.Run(t.Context(), bilevel.Run{Steps: 1000}))
	h, _ := s.Health()
	assert.True(t, h.NotConvex)
	assert.InDelta(t, lowest(t, p, s), h.Least, 4*h.LeastErr)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "g(x, ·) is not convex where the run is")
}
