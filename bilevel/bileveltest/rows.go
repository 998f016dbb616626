package bileveltest

import (
	"math"

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

// Invert returns A⁻¹ by Gauss-Jordan elimination with row pivoting. It panics where A is singular.
func Invert(a [][]float64) [][]float64 {
	n := len(a)
	m := make([][]float64, n)
	for i := range n {
		m[i] = append(append([]float64(nil), a[i]...), make([]float64, n)...)
		m[i][n+i] = 1
	}
	for c := range n {
		best := c
		for r := c; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[best][c]) {
				best = r
			}
		}
		m[c], m[best] = m[best], m[c]
		if m[c][c] == 0 {
			panic("bileveltest: Invert: singular")
		}
		for r := range n {
			f := m[r][c] / m[c][c]
			for j := range m[r] {
				if r != c {
					m[r][j] -= f * m[c][j]
				}
			}
		}
	}
	for i := range n {
		d := m[i][i]
		m[i] = m[i][n:]
		for j := range n {
			m[i][j] /= d
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
