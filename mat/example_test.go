package mat_test

import (
	"fmt"

	"stable/mat"
)

// A Dense is a header over memory of anybody's. With gonum, a matrix m and a Dense share their
// entries in this way:
//
//	raw := m.RawMatrix() // m is a *gonum mat.Dense
//	d := mat.Dense{Rows: raw.Rows, Cols: raw.Cols, Stride: raw.Stride, Data: raw.Data}
//
// and back, where d.Stride == d.Cols, gonum's mat.NewDense(d.Rows, d.Cols, d.Data).
func ExampleDense() {
	data := []float64{ // 2 × 3, one entry of padding a row
		1, 2, 3, -1,
		4, 5, 6, -1,
	}
	d := mat.Dense{Rows: 2, Cols: 3, Stride: 4, Data: data}
	mat.Scale(&d, 10, &d)
	fmt.Println(data)
	// Output: [10 20 30 -1 40 50 60 -1]
}

// A Sym uses the lower triangle; what stands above the diagonal is nobody's business.
func ExampleSym() {
	s := mat.Sym{N: 2, Stride: 2, Data: []float64{
		2, 99,
		1, 3,
	}}
	y := make([]float64, 2)
	mat.MulVecSym(y, &s, []float64{1, 1})
	fmt.Println(y)
	// Output: [3 4]
}
