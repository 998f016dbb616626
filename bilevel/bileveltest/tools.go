package bileveltest

import (
	"slices"

	"stable/mat"
)

// Full returns the entries of a matrix as rows.
func Full(a interface{ At(i, j int) float64 }, rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			m[i][j] = a.At(i, j)
		}
	}
	return m
}

// Apply returns A·v.
func Apply(a [][]float64, v []float64) []float64 {
	w := make([]float64, len(a))
	for i := range a {
		w[i] = mat.Dot(a[i], v)
	}
	return w
}

// Invert returns A⁻¹ by Gauss-Jordan elimination without pivoting, for a positive definite A.
func Invert(a [][]float64) [][]float64 {
	m := make([][]float64, len(a))
	for i := range a {
		m[i] = slices.Clone(a[i])
	}
	for c, pivot := range m {
		d := pivot[c]
		pivot[c] = 1
		for j := range pivot {
			pivot[j] /= d
		}
		for r, row := range m {
			if f := row[c]; r != c {
				row[c] = 0
				mat.Axpy(row, -f, pivot)
			}
		}
	}
	return m
}

// Turn is a schedule that is 0.1, and V from step K on.
type Turn struct {
	K int
	V float64
}

func (s Turn) At(k int) float64 {
	if k >= s.K {
		return s.V
	}
	return 0.1
}

// Problem is bilevel.Problem.
type Problem[S ~uint64] interface {
	Dims() (dx, dy int)
	Streams() (upper, lower uint64)
	GradF(fx, fy, x, y []float64, xi []S) error
	GradG(gy, x, y []float64, phi []S) error
	CrossG(gxy *mat.Dense, x, y []float64, phi []S) error
	HessG(gyy *mat.Sym, x, y []float64, phi []S) error
}

// Faulty is a Problem of which one derivative goes wrong from an evaluation on.
type Faulty[S ~uint64] struct {
	Problem[S]
	Quantity string                  // f_x, f_y, g_x, g_y, H_xy or H_yy
	After    int                     // the number of evaluations that are right
	Fault    func(v []float64) error // what is done to the result, or to a row of it
}

func (f *Faulty[S]) spoil(quantity string, v []float64, err error) error {
	if err == nil && quantity == f.Quantity {
		if f.After--; f.After < 0 {
			return f.Fault(v)
		}
	}
	return err
}

func (f *Faulty[S]) GradF(fx, fy, x, y []float64, xi []S) error {
	err := f.spoil("f_x", fx, f.Problem.GradF(fx, fy, x, y, xi))
	return f.spoil("f_y", fy, err)
}

func (f *Faulty[S]) GradG(gy, x, y []float64, phi []S) error {
	return f.spoil("g_y", gy, f.Problem.GradG(gy, x, y, phi))
}

func (f *Faulty[S]) CrossG(gxy *mat.Dense, x, y []float64, phi []S) error {
	return f.spoil("H_xy", gxy.Row(1), f.Problem.CrossG(gxy, x, y, phi))
}

func (f *Faulty[S]) HessG(gyy *mat.Sym, x, y []float64, phi []S) error {
	return f.spoil("H_yy", gyy.Row(1), f.Problem.HessG(gyy, x, y, phi))
}

// GradXG is that of bilevel.UpperGradient. It panics where the problem is none.
func (f *Faulty[S]) GradXG(gx, x, y []float64, phi []S) error {
	p := f.Problem.(interface {
		GradXG(gx, x, y []float64, phi []S) error
	})
	return f.spoil("g_x", gx, p.GradXG(gx, x, y, phi))
}
