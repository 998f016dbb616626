package mat_test

import (
	"fmt"

	"stable/mat"
)

// A literal serves rows with a gap: with the fields of RawMatrix(), it shares a gonum Dense's entries;
// back, where Stride is Cols, goes gonum's mat.NewDense(d.Rows, d.Cols, d.Data).
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

// gonum's SymDense keeps the upper triangle: it comes in transposed, and a Sym goes out in full.
func ExampleSymOf() {
	raw := []float64{ // Data of RawSymmetric(), with Stride 3: what is below the diagonal means nothing
		4, 1, 2,
		0, 5, 3,
		0, 0, 6,
	}
	s := mat.NewSym(3)
	lower := s.Lower()
	mat.CopyTrans(&lower, mat.DenseOf(3, 3, raw))
	fmt.Println(s)

	full := mat.NewDense(3, 3) // for gonum's mat.NewSymDense(3, full.Data)
	mat.CopyFull(full, s)
	fmt.Println(full.Data)

	wrong := mat.SymOf(3, raw)
	fmt.Println(wrong)
	// Output:
	// [4  1  2
	//  1  5  3
	//  2  3  6]
	// [4 1 2 1 5 3 2 3 6]
	// [4  0  0
	//  0  5  0
	//  0  0  6]
}
