package eig

import (
	"math"

	"stable/mat"
)

const smallMost = 3

// small decomposes a matrix of order n ≤ 3, with zeros added, by cyclic Jacobi.
type small struct {
	d   [smallMost]float64            // the diagonal; in the end the eigenvalues
	off [smallMost]float64            // off[r] is neither in row nor in column r
	v   [smallMost][smallMost]float64 // eigenvectors in rows
}

// run decomposes scale·a, to off-diagonal entries of at most tol; false: no convergence.
func (f *small) run(a *mat.Sym, scale, tol float64) bool {
	*f = small{}
	for i := range a.N {
		row := a.Data[i*a.Stride:][:i+1]
		for j, v := range row[:i] {
			f.off[smallMost-i-j] = v * scale
		}
		f.d[i], f.v[i][i] = row[i]*scale, 1
	}
	for range maxSweeps {
		if !(math.Abs(f.off[0]) > tol || math.Abs(f.off[1]) > tol || math.Abs(f.off[2]) > tol) {
			f.ascend(a.N)
			return true
		}
		f.rotate(0, 1, tol)
		f.rotate(0, 2, tol)
		f.rotate(1, 2, tol)
	}
	return false
}

// rotate zeroes entry (p, q) if it exceeds tol, as Jacobi.sweep does.
func (f *small) rotate(p, q int, tol float64) {
	r := smallMost - p - q
	apq := f.off[r]
	if !(math.Abs(apq) > tol) {
		return
	}
	half := (f.d[q] - f.d[p]) / 2
	t := apq / (half + math.Copysign(math.Sqrt(half*half+apq*apq), half))
	c := 1 / math.Sqrt(1+t*t)
	s := c * t
	f.d[p] -= t * apq
	f.d[q] += t * apq
	f.off[r] = 0
	f.off[q], f.off[p] = c*f.off[q]-s*f.off[p], s*f.off[q]+c*f.off[p]
	x, y := &f.v[p], &f.v[q]
	for j := range x {
		x[j], y[j] = c*x[j]-s*y[j], s*x[j]+c*y[j]
	}
}

func (f *small) ascend(n int) {
	for i := 1; i < n; i++ {
		for j := i; j > 0 && f.d[j] < f.d[j-1]; j-- {
			f.d[j], f.d[j-1] = f.d[j-1], f.d[j]
			f.v[j], f.v[j-1] = f.v[j-1], f.v[j]
		}
	}
}
