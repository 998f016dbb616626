package method_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// Without noise every method goes to the solution over a box, as near as its bias lets it.
func TestMethodsSolve(t *testing.T) {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1, Terms: 20}))
	free, _ := p.Optimum()
	box := bilevel.Box{Lo: []float64{free[0] - 1, free[1] + 0.3, free[2] - 1},
		Hi: []float64{free[0] - 0.5, free[1] + 1, free[2] + 1}}
	best := bileveltest.Must(implicit.Minimise(p.Objective, free, implicit.Options{Lo: box.Lo, Hi: box.Hi}))
	y := make([]float64, 4)
	require.NoError(t, p.Solution(y, best.X))
	for _, e := range method.Registry() {
		if e.Needs.Composition {
			continue
		}
		var alpha, beta bilevel.Schedule = bilevel.Constant(0.1), bilevel.Constant(0.2)
		steps, near := 1200, 1e-12
		switch {
		case e.Lengths[0]:
			alpha, steps, near = bilevel.Power{C: 1, K0: 10, P: 0.8}, 2000, 1e-2
			beta = alpha
		case e.Name == "BOME":
			alpha, steps, near = bilevel.Power{C: 0.2, P: 0.5}, 2000, 0.03
			beta = alpha
		case e.Needs.UpperGradient:
			near = 0.02
		}
		m := e.New(method.Tuning{Alpha: alpha, Beta: beta, Gamma: bilevel.Constant(0.2), MuG: 1, LG: 3, Terms: 80})
		s := bileveltest.Must(bilevel.New(p, m, bilevel.Options{Set: box, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}))
		bileveltest.Must(s.Run(context.Background(), bilevel.Run{Steps: steps}))
		assert.Less(t, distance(best.X, s.X()), near, e.Name)
		assert.Less(t, distance(y, s.Y()), near, e.Name)
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

// HOAG arrives at stationary points alone, in mixed units, too, and turns back where g has no value.
func TestHOAGArrives(t *testing.T) {
	g, arrived := make([]float64, 6), 0
	for seed := range uint64(20) {
		rng, c, b := rand.New(rand.NewPCG(seed, 1)), make([]float64, 6), make([]float64, 6)
		for j := range c {
			c[j], b[j] = math.Pow(1000, 2*rng.Float64()-1), rng.NormFloat64()
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 6, Dy: 6, Upper: 1, Lower: 1,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num {
				return y.Mul(auto.Data(c)).Sub(auto.Data(b)).SquaredNorm().Add(y.At(0).Mul(y.At(1)).Scale(c[0] * c[1]))
			},
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
				return y.Sub(x).SquaredNorm().Scale(0.5).Add(y.Exp().Sum().Scale(1e-3))
			}}))
		s := bileveltest.Must(bilevel.New(p, method.HOAG{}, bilevel.Options{}))
		r, _ := s.Run(t.Context(), bilevel.Run{Steps: 400}) // and no y*(x) is found at some trials
		bileveltest.Must(implicit.NewTruth(p).Objective(g, r.X))
		for j, v := range g {
			if r.Reason == bilevel.Arrived {
				arrived++
				assert.InDelta(t, 0, v/c[j], 1e-4, "seed %d", seed)
			}
		}
	}
	assert.GreaterOrEqual(t, arrived, 9*6) // 10
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 1, Lower: 1,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Shift(-3).Square() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Mul(y.At(0)).Sub(y.At(0).Log()) }}))
	s := bileveltest.Must(bilevel.New(p, method.HOAG{}, bilevel.Options{Set: bilevel.UniformBox(1, 0.1, 9), X0: []float64{5}, Y0: []float64{1}}))
	assert.InDelta(t, 1./3, bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 100})).X[0], 1e-6)
}
