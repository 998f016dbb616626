package chol

import "stable/mat"

// factorUpper sets U = Lᵀ of a − shift·I in the upper triangle of u, and returns n, or the index
// and value of the first pivot that is not positive and finite. It is the same left-looking
// elimination as factorLower, transposed for vectors along the rows of U:
//
//	for i ≤ j: U_ij = (A_ij − Σ_{p<i} U_pi·U_pj) / U_ii, with U_ii = √ for i = j
func factorUpper(u []float64, ld int, a *mat.Sym, shift float64) (pivot int, value float64) {
	n := a.N
	loadUpper(u, ld, a, shift)
	return factorRows(u, ld, n)
}

// loadUpper sets the upper triangle of u to that of a − shift·I.
func loadUpper(u []float64, ld int, a *mat.Sym, shift float64) {
	n := a.N
	i := 0
	for ; i+3 < n; i += 4 {
		r0, r1, r2, r3 := a.Row(i), a.Row(i + 1)[:i+2], a.Row(i + 2)[:i+3], a.Row(i + 3)[:i+4]
		at := i
		for j, v := range r0 {
			d := u[at : at+4 : at+4]
			d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
			at += ld
		}
		// What is left is the corner.
		d := u[i*ld+i:]
		d[0] -= shift
		d = d[ld:]
		d[1], d[2], d[3] = r1[i+1]-shift, r2[i+1], r3[i+1]
		d = d[ld:]
		d[2], d[3] = r2[i+2]-shift, r3[i+2]
		d[ld+3] = r3[i+3] - shift
	}
	for ; i < n; i++ {
		for j, v := range a.Row(i) {
			u[j*ld+i] = v
		}
		u[i*ld+i] -= shift
	}
}
