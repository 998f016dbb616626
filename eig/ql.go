package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// qlVectors sets the rows of z, n × n, to the eigenvectors of the tridiagonal matrix (d, e), and d
// to the eigenvalues, ascending. Off-diagonal entries up to tol count as 0; false: no convergence.
// About 5n³ flops, fewer where eigenvalues agree. Bowdler, Martin, Reinsch, Wilkinson, Numer. Math.
// 11 (1968), tql2; LAPACK dsteqr.
func qlVectors(z *mat.Dense, d, e []float64, tol float64) bool {
	n := len(d)
	turned := n > 1 && math.Abs(d[n-1]) < math.Abs(d[0])
	if turned {
		slices.Reverse(d) // QL wants the small end first
		slices.Reverse(e[:n-1])
	}
	for i := range n {
		row := z.Row(i)
		clear(row)
		if turned {
			row[n-1-i] = 1
		} else {
			row[i] = 1
		}
	}
	for l := range n {
		for steps := 0; ; steps++ {
			m := l
			for m < n-1 && !(math.Abs(e[m]) <= tol) {
				m++
			}
			if m == l {
				break
			}
			if steps == qlCap {
				return false
			}
			part := z.View(l, 0, m-l+1, n)
			qlRotate(d[l:m+1], e[l:m], &part)
		}
	}
	ascend(d, z)
	return true
}

// qlRotate is an implicit QL step on an unreduced matrix and the rows of z, with Wilkinson's shift.
func qlRotate(d, e []float64, z *mat.Dense) {
	m := len(d) - 1
	g := (d[1] - d[0]) / (2 * e[0])
	g = d[m] - d[0] + e[0]/(g+math.Copysign(math.Sqrt(g*g+1), g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= 0; i-- {
		f, b := s*e[i], c*e[i]
		rr := f*f + g*g
		if rr < tiny { // the matrix splits here
			if i+1 < m {
				e[i+1] = 0
			}
			d[i+1] -= p
			return
		}
		r := math.Copysign(math.Sqrt(rr), g) // of this sign, c ≥ 0
		if i+1 < m {
			e[i+1] = r
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		t := (d[i]-g)*s + 2*c*b
		p = s * t
		d[i+1] = g + p
		g = c*t - b
		kernel.Rotate(z.Row(i), z.Row(i+1), s, s/(1+c))
	}
	d[0] -= p
	e[0] = g
}
