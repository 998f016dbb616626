package chol_test

import (
	"fmt"
	"math"

	"stable/chol"
	"stable/mat"
)

// Gaussian-process regression (Rasmussen, Williams, 2006, algorithm 2.1) with K + σ²I = LLᵀ.
func Example_gaussianProcess() {
	kernel := func(s, t float64) float64 { return math.Exp(-0.5 * (s - t) * (s - t)) }
	t := []float64{-2, -1, 0, 1, 2}
	y := []float64{-0.91, -0.84, 0, 0.84, 0.91} // sin t

	k := mat.NewSym(len(t))
	for i := range t {
		for j := range i + 1 {
			k.Set(i, j, kernel(t[i], t[j]))
		}
	}
	mat.AddIdentity(k, 0.01) // σ²

	var c chol.Cholesky // its zero value works, and is used again for the next factorisation
	if err := c.Factor(k); err != nil {
		panic(err)
	}
	weights := make([]float64, len(t))
	c.SolveVec(weights, y)

	for _, at := range []float64{0.5, 4} {
		ks, v := make([]float64, len(t)), make([]float64, len(t))
		for i := range t {
			ks[i] = kernel(at, t[i])
		}
		c.SolveVec(v, ks)
		fmt.Printf("f(%.1f) = %.2f ± %.2f\n", at, mat.Dot(ks, weights), math.Sqrt(1-mat.Dot(ks, v)))
	}
	fmt.Printf("log likelihood %.2f\n", -0.5*(mat.Dot(y, weights)+c.LogDet()+5*math.Log(2*math.Pi)))
	// Output:
	// f(0.5) = 0.48 ± 0.13
	// f(4.0) = 0.08 ± 0.99
	// log likelihood -4.47
}
