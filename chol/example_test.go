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
		fmt.Println(err)
		return
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

func Example_kalmanFilter() {
	f := mat.Dense{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 1, 0, 1}} // position += velocity
	h := mat.Dense{Rows: 1, Cols: 2, Stride: 2, Data: []float64{1, 0}}       // the position is seen
	p := mat.NewSym(2)
	mat.AddIdentity(p, 10)
	x := []float64{0, 0}

	var c chol.Cholesky
	fp, hp, gain := mat.NewDense(2, 2), mat.NewDense(1, 2), mat.NewDense(1, 2)
	s, moved := mat.NewSym(1), make([]float64, 2)
	full := mat.NewDense(2, 2)
	for _, measured := range []float64{1.1, 2.0, 2.9, 4.1} {
		// Prediction: x = Fx, P = FPFᵀ + 0.01·I.
		mat.MulVec(moved, &f, x)
		mat.CopyFull(full, p)
		mat.Mul(fp, &f, full)
		p.Zero()
		mat.AddMulTransBSym(p, 1, fp, &f)
		mat.AddIdentity(p, 0.01)

		// Update: S = HPHᵀ + 0.04, K = PHᵀS⁻¹, x += K(z − Hx), P −= K(HP).
		mat.CopyFull(full, p)
		mat.Mul(hp, &h, full)
		s.Zero()
		mat.AddMulTransBSym(s, 1, hp, &h)
		mat.AddIdentity(s, 0.04)
		if err := c.Factor(s); err != nil {
			fmt.Println(err)
			return
		}
		c.Solve(gain, hp) // Kᵀ = S⁻¹HP
		mat.Axpy(moved, measured-moved[0], gain.Row(0))
		copy(x, moved)
		mat.AddMulTransASym(p, -1, gain, hp)
	}
	fmt.Printf("position %.2f ± %.2f, velocity %.2f ± %.2f\n", x[0], math.Sqrt(p.At(0, 0)), x[1], math.Sqrt(p.At(1, 1)))
	// Output: position 4.03 ± 0.17, velocity 1.01 ± 0.16
}
