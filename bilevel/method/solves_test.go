package method_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// bias is how far from the solution a method may settle with exact oracles.
var bias = map[string]float64{"F2SA": 0.02, "F2SA-p": 0.02, "BOME": 0.03}

type goal struct {
	problem bilevel.Problem
	set     bilevel.Set
	x, y    []float64
}

// goals are problems that the method takes, with and without a box that cuts.
func goals(t *testing.T, e method.Entry, noise float64) map[string]goal {
	if e.Needs.Composition {
		return map[string]goal{"portfolio": portfolio(t)}
	}
	o := quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1,
		SigmaFx: 0.3 * noise, SigmaFy: 0.3 * noise, SigmaGy: 0.3 * noise, SigmaGxy: 0.2 * noise, SigmaGyy: 0.2 * noise}
	if e.Needs.FiniteSums {
		o.Terms = 20
	}
	p, err := quadratic.New(o)
	require.NoError(t, err)
	all := map[string]goal{}
	for name, set := range sets(t, p) {
		g := goal{p, set, solution(t, p, set, 5), make([]float64, 4)}
		require.NoError(t, p.Solution(g.y, g.x))
		all[name] = g
	}
	return all
}

func portfolio(t *testing.T) goal {
	m, err := compose.NewMeanVariance(&mat.Dense{Rows: 4, Cols: 2, Stride: 2,
		Data: []float64{1, 0.2, -0.7, 0.6, 0.5, -0.9, -0.4, 0.7}}, 1)
	require.NoError(t, err)
	x, _, err := m.Optimum()
	require.NoError(t, err)
	g := goal{compose.Adapt(m), bilevel.Space{}, x, make([]float64, 2)}
	require.NoError(t, compose.Adapt(m).Solution(g.y, x))
	return g
}

// falling are step sizes with which every method converges on the goals.
func falling(e method.Entry) (alpha, beta bilevel.Schedule) {
	alpha, beta = bilevel.Power{C: 2, K0: 20, P: 1}, bilevel.Power{C: 2, K0: 10, P: 0.7}
	if e.Lengths[0] {
		alpha = bilevel.Power{C: 1, K0: 10, P: 0.8}
	}
	if e.Lengths[1] {
		beta = bilevel.Power{C: 1, K0: 10, P: 0.8}
	}
	if e.Name == "BOME" {
		alpha, beta = bilevel.Power{C: 0.2, P: 0.5}, bilevel.Power{C: 0.2, P: 0.5}
	}
	if e.Needs.Composition {
		beta = bilevel.Power{C: 1, K0: 1, P: 0.5}
	}
	return alpha, beta
}

// solution is where F is least in the set, to rounding.
func solution(t *testing.T, p *quadratic.Problem, set bilevel.Set, l float64) []float64 {
	dx, _ := p.Dims()
	x, grad, old := make([]float64, dx), make([]float64, dx), make([]float64, dx)
	for range 2000 {
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		copy(old, x)
		mat.Axpy(x, -1/l, grad)
		set.Project(x, x)
		if slices.Equal(x, old) {
			break
		}
	}
	require.Less(t, math.Sqrt(dist2(x, old)), 1e-13)
	return x
}

// sets are R^3, and a box that cuts off the solution in some coordinates.
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

// Without noise every method goes to the solution, as near as its bias lets it.
func TestMethodsSolveExactly(t *testing.T) {
	for _, e := range method.Registry() {
		alpha, beta, steps, near := bilevel.Schedule(bilevel.Constant(0.1)), bilevel.Schedule(bilevel.Constant(0.2)), 1200, 1e-12
		if e.Lengths[0] || e.Name == "BOME" {
			alpha, beta = falling(e)
			steps, near = 4000, 1e-2
			if testing.Short() {
				steps = 2000
			}
		}
		near = max(near, bias[e.Name])
		for name, g := range goals(t, e, 0) {
			if testing.Short() && name == "unconstrained" {
				continue
			}
			m := e.New(method.Tuning{Alpha: alpha, Beta: beta, Gamma: bilevel.Constant(0.2), MuG: 1, LG: 3, Terms: 80})
			s, err := bilevel.New(g.problem, m,
				bilevel.Options{Set: g.set, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			_, err = s.Run(context.Background(), bilevel.Run{Steps: steps})
			require.NoError(t, err)
			assert.Less(t, math.Sqrt(dist2(g.x, s.X())), near, "%s, %s", e.Name, name)
			assert.Less(t, math.Sqrt(dist2(g.y, s.Y())), near, "%s, %s", e.Name, name)
		}
	}
}

func TestMethodsSolve(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const trials, steps = 5, 1500
	for _, e := range method.Registry() {
		if e.Name == "BOME" {
			continue
		}
		alpha, beta := falling(e)
		for name, g := range goals(t, e, 1) {
			var early, late, y2 float64
			for seed := range trials {
				m := e.New(method.Tuning{Alpha: alpha, Beta: beta, MuG: 1, LG: 4})
				s, err := bilevel.New(g.problem, m, bilevel.Options{Set: g.set, Seed: uint64(seed)})
				require.NoError(t, err)
				_, err = s.Run(context.Background(), bilevel.Run{Steps: steps / 60})
				require.NoError(t, err)
				early += dist2(g.x, s.X()) / trials
				_, err = s.Run(context.Background(), bilevel.Run{Steps: steps - steps/60})
				require.NoError(t, err)
				late += dist2(g.x, s.X()) / trials
				y := make([]float64, len(g.y))
				require.NoError(t, g.problem.(bilevel.Truth).Solution(y, s.X()))
				y2 += dist2(y, s.Y()) / trials
			}
			assert.Less(t, late, max(early/5, 1e-25), "%s, %s", e.Name, name)
			assert.Less(t, late, max(4e-3, bias[e.Name]), "%s, %s", e.Name, name)
			assert.Less(t, y2, 1e-2, "%s, %s", e.Name, name)
		}
	}
}

func dist2(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return s
}

// The registry is a list of all methods: here, of those without step sizes to choose.
func ExampleRegistry() {
	for _, e := range method.Registry() {
		if e.Untuned {
			fmt.Println(e.Name)
		}
	}
	// Output:
	// SAA-Newton
	// S-TFBO
	// HOAG
}
