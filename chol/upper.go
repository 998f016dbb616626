package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// factorUpper is factorLower transposed, with vectors along the rows (kernel.Upper).
func factorUpper(f *kernel.Upper, a *mat.Sym, shift float64) (pivot int, value float64) {
	loadUpper(f, a, shift)
	u, ld, n := f.U, f.Ld, f.N
	var d corner
	for i := 0; i < n; i += 4 {
		f.Subtract(i)
		r0, r1, r2, r3 := u[i*ld+i:], u[(i+1)*ld+i:], u[(i+2)*ld+i:], u[(i+3)*ld+i:]
		w := min(4, n-i)
		if w < 4 {
			d = corner{}
		}
		if k, x := d.factor(w, r0[0], r0[1], r1[1], r0[2], r1[2], r2[2], r0[3], r1[3], r2[3], r3[3]); k < w {
			return i + k, x
		}
		f.Divide(i, &d.Elimination)
		d.put(r0, r1, r2, r3)
	}
	return n, 0
}

func loadUpper(f *kernel.Upper, a *mat.Sym, shift float64) {
	u, ld, n := f.U, f.Ld, f.N
	i := 0
	for ; i+3 < n; i += 4 {
		r := a.Data[i*a.Stride:] // what stands right of the diagonal reaches nothing above that of U
		f.Load(i, r[:i+4], r[a.Stride:][:i+4], r[2*a.Stride:][:i+4], r[3*a.Stride:][:i+4])
	}
	if i < n {
		none := u[n*ld:][:i] // a row beyond the order
		clear(none)
		r := [4][]float64{none, none, none, none}
		for k := range n - i {
			r[k] = a.Row(i + k)
			for j, v := range r[k][i:] {
				u[(i+j)*ld+i+k] = v
			}
		}
		f.Load(i, r[0][:i], r[1][:i], r[2][:i], r[3][:i])
	}
	if shift != 0 {
		for at := 0; at < n*(ld+1); at += ld + 1 {
			u[at] -= shift
		}
	}
}
