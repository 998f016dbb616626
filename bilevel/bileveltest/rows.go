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
