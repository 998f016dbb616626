package bilevel_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// methods returns every method for simulators, with the same step sizes and Neumann series.
func methods(alpha, beta bilevel.Schedule, n bilevel.Neumann) []bilevel.Method {
	return []bilevel.Method{
		bilevel.BSA{Alpha: alpha, Beta: beta, Neumann: n},
		bilevel.TTSA{Alpha: alpha, Beta: beta, Neumann: n},
		bilevel.StocBiO{Alpha: alpha, Beta: beta, Inner: 3, Neumann: n},
		bilevel.ALSET{Alpha: alpha, Beta: beta, Inner: 2, Neumann: n},
		bilevel.SUSTAIN{Alpha: alpha, Beta: beta, Neumann: n},
		bilevel.MSTSA{Alpha: alpha, Beta: beta, Neumann: n},
		bilevel.MRBO{Alpha: alpha, Beta: beta, Neumann: n},
		bilevel.VRBO{Alpha: alpha, Beta: beta, Period: 5, Inner: 3, Neumann: n},
		bilevel.RSVRB{Alpha: alpha, Beta: beta, MuG: n.MuG},
		bilevel.BiAdam{Alpha: alpha, Beta: beta, TauX: bilevel.Power{C: 1, P: 0.25}, TauY: bilevel.Power{C: 1, P: 0.25}, Rho: 1, Neumann: n},
		bilevel.VRBiAdam{Alpha: alpha, Beta: beta, Rho: 1, Neumann: n},
		bilevel.SOBA{Alpha: alpha, Beta: beta},
		bilevel.STABLE{Alpha: alpha, Beta: beta, MuG: n.MuG, Upper: bilevel.Momentum{Weight: bilevel.Constant(0.5)}},
		bilevel.STABLE{Alpha: alpha, Beta: beta, MuG: n.MuG, Upper: bilevel.STORM{}},
		bilevel.STABLE{Alpha: alpha, Beta: beta, MuG: n.MuG, Upper: bilevel.Adam{Eps: 1}},
	}
}

// solution is the point of the set where F is least, by projected gradient steps on the exact ∇F,
// to rounding.
func solution(t *testing.T, p *quadratic.Problem, set bilevel.Set, l float64) []float64 {
	dx, _ := p.Dims()
	x, grad, old := make([]float64, dx), make([]float64, dx), make([]float64, dx)
	for range 2000 {
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		copy(old, x)
		mat.Axpy(x, -1/l, grad)
		set.Project(x, x)
	}
	require.Less(t, math.Sqrt(dist2(x, old)), 1e-13)
	return x
}

// sets are all of R^3, where the solution is the known one, and a box that cuts it off in some
// coordinates.
func sets(t *testing.T, p *quadratic.Problem) map[string]bilevel.Set {
	x, _ := p.Optimum()
	lo, hi := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		lo[i], hi[i] = x[i]-1, x[i]+1
	}
	hi[0], lo[1] = x[0]-0.5, x[1]+0.3
	require.Less(t, dist2(x, solution(t, p, bilevel.Space{}, 5)), 1e-24)
	return map[string]bilevel.Set{"unconstrained": bilevel.Space{}, "box": bilevel.Box{Lo: lo, Hi: hi}}
}

// Without noise, and with a series long enough, every method goes to the solution.
func TestMethodsSolveQuadraticExactly(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1})
	require.NoError(t, err)
	for name, set := range sets(t, p) {
		best := solution(t, p, set, 5)
		y := make([]float64, 4)
		require.NoError(t, p.Solution(y, best))
		for _, m := range methods(bilevel.Constant(0.1), bilevel.Constant(0.2), bilevel.Neumann{LG: 3, MuG: 1, Terms: 80}) {
			s, err := bilevel.New(p, m, bilevel.Options{Set: set, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			_, err = s.Run(context.Background(), bilevel.Run{Steps: 800})
			require.NoError(t, err)
			assert.Less(t, math.Sqrt(dist2(best, s.X())), 1e-12, "%s, %s", m.Name(), name)
			assert.Less(t, math.Sqrt(dist2(y, s.Y())), 1e-12, "%s, %s", m.Name(), name)
		}
	}
}

// With noise on every derivative, and step sizes that fall, the mean square error of every method
// falls with the steps.
func TestMethodsSolveQuadratic(t *testing.T) {
	const trials, steps = 8, 1500
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1,
		SigmaFx: 0.3, SigmaFy: 0.3, SigmaGy: 0.3, SigmaGxy: 0.2, SigmaGyy: 0.2})
	require.NoError(t, err)
	for name, set := range sets(t, p) {
		best := solution(t, p, set, 5)
		for _, m := range methods(bilevel.Power{C: 2, K0: 20, P: 1}, bilevel.Power{C: 2, K0: 10, P: 0.7}, bilevel.Neumann{LG: 4, MuG: 1}) {
			var early, late, y2 float64
			for seed := range trials {
				s, err := bilevel.New(p, m, bilevel.Options{Set: set, Seed: uint64(seed)})
				require.NoError(t, err)
				_, err = s.Run(context.Background(), bilevel.Run{Steps: steps / 60})
				require.NoError(t, err)
				early += dist2(best, s.X()) / trials
				_, err = s.Run(context.Background(), bilevel.Run{Steps: steps - steps/60})
				require.NoError(t, err)
				late += dist2(best, s.X()) / trials
				y := make([]float64, 4)
				require.NoError(t, p.Solution(y, s.X()))
				y2 += dist2(y, s.Y()) / trials
			}
			assert.Less(t, late, early/5, "%s, %s", m.Name(), name)
			assert.Less(t, late, 4e-3, "%s, %s", m.Name(), name)
			assert.Less(t, y2, 1e-2, "%s, %s", m.Name(), name)
		}
	}
}

// On a finite sum, with constant step sizes and the same noise in every term, SABA arrives at the
// solution, and SOBA stays in the noise.
func TestSABAArrives(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1, Terms: 20,
		SigmaFx: 0.3, SigmaFy: 0.3, SigmaGy: 0.3, SigmaGxy: 0.2, SigmaGyy: 0.2})
	require.NoError(t, err)
	for name, set := range sets(t, p) {
		best := solution(t, p, set, 5)
		y := make([]float64, 4)
		require.NoError(t, p.Solution(y, best))
		for _, batch := range []int{1, 4} {
			end := func(m bilevel.Method) (ex, ey float64) {
				s, err := bilevel.New(p, m, bilevel.Options{Set: set, Seed: 1, UpperBatch: batch, LowerBatch: batch})
				require.NoError(t, err)
				_, err = s.Run(context.Background(), bilevel.Run{Steps: 4000})
				require.NoError(t, err)
				return math.Sqrt(dist2(best, s.X())), math.Sqrt(dist2(y, s.Y()))
			}
			ex, ey := end(bilevel.SABA{Alpha: bilevel.Constant(0.03), Beta: bilevel.Constant(0.03)})
			assert.Less(t, ex, 1e-11, "%s, batch %d", name, batch)
			assert.Less(t, ey, 1e-11, "%s, batch %d", name, batch)
			ex, ey = end(bilevel.SOBA{Alpha: bilevel.Constant(0.03), Beta: bilevel.Constant(0.03)})
			assert.Greater(t, ex+ey, 1e-3, "%s, batch %d", name, batch)
		}
	}
}
