package eig_test

import (
	"fmt"

	"stable/eig"
	"stable/mat"
)

func ExampleTruncator() {
	a := mat.Sym{N: 3, Stride: 3, Data: []float64{
		1, 0, 0,
		0.9, 1, 0,
		-0.9, 0.9, 1,
	}}
	var t eig.Truncator
	p := mat.NewSym(3)
	report, err := t.Truncate(p, &a, 0.05)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d eigenvalue raised, the least was %.2f\n%.3f\n", report.Clipped, report.MinEigenvalue, p)
	// Output:
	// 1 eigenvalue raised, the least was -0.80
	// [ 1.283  0.617  -0.617
	//   0.617  1.283   0.617
	//  -0.617  0.617   1.283]
}

// Two masses between three springs: squared frequencies and modes.
func ExampleSymmetric() {
	a := mat.Sym{N: 2, Stride: 2, Data: []float64{
		2, 0,
		-1, 2,
	}}
	var s eig.Symmetric
	if err := s.Factor(&a); err != nil {
		panic(err)
	}
	v := mat.NewDense(2, 2)
	mat.CopyTrans(v, s.VectorsT())
	if v.At(0, 0) < 0 { // the sign of a vector has no meaning
		mat.Scale(v, -1, v)
	}
	fmt.Printf("%.4g\n%.3f\n", s.Values(), v)
	// Output:
	// [1 3]
	// [0.707   0.707
	//  0.707  -0.707]
}

func ExampleJacobi() {
	a := mat.Sym{N: 2, Stride: 2, Data: []float64{
		1e-20, 0,
		1e-15, 1,
	}}
	var j eig.Jacobi
	if err := j.Factor(&a); err != nil {
		panic(err)
	}
	fmt.Printf("%.4g\n", j.Values())
	// Output: [1e-20 1]
}
