package auto_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/saa"
)

// rowsOf draws n rows with labels ±1 by the sign of two features; from row clean on, by a coin.
func rowsOf(rng *rand.Rand, n, d, clean int) (a [][]float64, b []float64) {
	for i := range n {
		row := make([]float64, d)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		label := 1.0
		if row[0]+row[1] < 0 && i < clean || i >= clean && rng.IntN(2) == 0 {
			label = -1
		}
		a, b = append(a, row), append(b, label)
	}
	return a, b
}

// cleaning is hyper-cleaning: training row i has the weight σ(x_i), so that y serves clean rows c.
func cleaning(a [][]float64, b []float64, c [][]float64, e []float64) (*auto.Problem, error) {
	return auto.New(auto.Losses{
		Dx: len(a), Dy: len(a[0]), Upper: uint64(len(c)), Lower: uint64(len(a)),
		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num { return y.Dot(auto.Data(c[i])).Scale(-e[i]).Softplus() },
		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
			loss := y.Dot(auto.Data(a[i])).Scale(-b[i]).Softplus()
			return x.At(int(i)).Sigmoid().Mul(loss).Add(y.SquaredNorm().Scale(0.05))
		},
	})
}

// Hyper-cleaning: 40 of 60 training rows have labels by a coin. A run finds out which.
func Example_cleaning() {
	rng := rand.New(rand.NewPCG(1, 1))
	a, b := rowsOf(rng, 60, 3, 20)
	c, e := rowsOf(rng, 200, 3, 200)
	problem := bileveltest.Must(cleaning(a, b, c, e))
	s := bileveltest.Must(bilevel.New(problem, saa.Newton{}, bilevel.Options{Set: bilevel.UniformBox(60, -5, 5)}))
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 10000})
	var weights, labels [2]float64 // right and wrong ones
	for i, x := range r.X {
		k := 0
		if (a[i][0]+a[i][1] > 0) != (b[i] > 0) {
			k = 1
		}
		weights[k] += 1 / (1 + math.Exp(-x))
		labels[k]++
	}
	fmt.Println("mean weight above 0.9 of right labels:", weights[0]/labels[0] > 0.9, err)
	fmt.Println("mean weight below 0.1 of wrong labels:", weights[1]/labels[1] < 0.1)
	// Output:
	// mean weight above 0.9 of right labels: true <nil>
	// mean weight below 0.1 of wrong labels: true
}
