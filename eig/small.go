package eig

import "math"

const smallMost = 3

// small decomposes a matrix of order n ≤ 3 by cyclic Jacobi: one rotation at n = 2, about nine at n
// = 3.
type small struct {
	n   int
	d   [smallMost]float64            // the diagonal; in the end the eigenvalues
	off [smallMost]float64            // off[r] is the entry that is neither in row nor in column r
	v   [smallMost][smallMost]float64 // eigenvectors in rows
}

// load sets the matrix to scale·a, of order n, with stride ld.
func (f *small) load(n int, a []float64, ld int, scale float64) {
	*f = small{n: n, v: [smallMost][smallMost]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}
	for i := range n {
		f.d[i] = a[i*ld+i] * scale
	}
	if n > 1 {
		f.off[2] = a[ld] * scale
	}
	if n > 2 {
		f.off[1], f.off[0] = a[2*ld]*scale, a[2*ld+1]*scale
	}
}

// run rotates until no off-diagonal entry exceeds tol, then sorts; false if that takes too long.
func (f *small) run(tol float64) bool {
	for range maxSweeps {
		if !(math.Abs(f.off[0]) > tol || math.Abs(f.off[1]) > tol || math.Abs(f.off[2]) > tol) {
			f.ascend()
			return true
		}
		f.rotate(0, 1, 2, tol)
		f.rotate(0, 2, 1, tol)
		f.rotate(1, 2, 0, tol)
	}
	return false
}

// rotate zeroes entry (p, q) if it exceeds tol, as Jacobi.sweep does; r is the third index.
func (f *small) rotate(p, q, r int, tol float64) {
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

func (f *small) ascend() {
	for i := 1; i < f.n; i++ {
		for j := i; j > 0 && f.d[j] < f.d[j-1]; j-- {
			f.d[j], f.d[j-1] = f.d[j-1], f.d[j]
			f.v[j], f.v[j-1] = f.v[j-1], f.v[j]
		}
	}
}
