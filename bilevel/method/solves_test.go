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
	"stable/bilevel/implicit"
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

// goals are problems that the method takes, over R³, and over a box that cuts off the solution in some
// coordinates.
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
	free, _ := p.Optimum()
	box := bilevel.Box{Lo: []float64{free[0] - 1, free[1] + 0.3, free[2] - 1},
		Hi: []float64{free[0] - 0.5, free[1] + 1, free[2] + 1}}
	best, err := implicit.Minimise(p.Objective, free, implicit.Options{Lo: box.Lo, Hi: box.Hi})
	require.NoError(t, err)
	all := map[string]goal{"unconstrained": {p, bilevel.Space{}, free, make([]float64, 4)},
		"box": {p, box, best.X, make([]float64, 4)}}
	for _, g := range all {
		require.NoError(t, p.Solution(g.y, g.x))
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
			assert.Less(t, distance(g.x, s.X()), near, "%s, %s", e.Name, name)
			assert.Less(t, distance(g.y, s.Y()), near, "%s, %s", e.Name, name)
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
				early += math.Pow(distance(g.x, s.X()), 2) / trials
				_, err = s.Run(context.Background(), bilevel.Run{Steps: steps - steps/60})
				require.NoError(t, err)
				late += math.Pow(distance(g.x, s.X()), 2) / trials
				y := make([]float64, len(g.y))
				require.NoError(t, g.problem.(bilevel.Truth).Solution(y, s.X()))
				y2 += math.Pow(distance(y, s.Y()), 2) / trials
			}
			assert.Less(t, late, max(early/5, 1e-25), "%s, %s", e.Name, name)
			assert.Less(t, late, max(4e-3, bias[e.Name]), "%s, %s", e.Name, name)
			assert.Less(t, y2, 1e-2, "%s, %s", e.Name, name)
		}
	}
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
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
