package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// factorUpper sets U = Lᵀ of a − shift·I in the upper triangle of u, and returns n, or the index
// and value of the first pivot that is not positive and finite. It is the same left-looking
// elimination as factorLower, transposed for vectors along the rows of U:
//
//	for i ≤ j: U_ij = (A_ij − Σ_{p<i} U_pi·U_pj) / U_ii, with U_ii = √ for i = j
//
// spread has spreadSize entries, panels panelSize.
func factorUpper(u []float64, ld int, panels []float64, a *mat.Sym, shift float64,
	spread []float64) (pivot int, value float64) {
	loadUpper(u, ld, a, shift)
	return factorRows(u, ld, panels, a.N, spread)
}

// spreadSize is the room for what is subtracted at a time: some rows of U, four entries of each,
// each spread over a vector. With vectors of 512 bits these are 64 rows.
const spreadSize = 4 * 64 * 8

// With vectors of 256 bits, finished rows of U are written to panels, too: blocks of columns as
// wide as the tile, in which the rows follow each other. The tile that reads them knows all
// addresses.
const (
	panelLanes = 4
	panelWidth = 2 * panelLanes
	panelRows  = spreadSize / (4 * panelLanes)
	panelsFrom = 72 // the order from which they pay
)

// panelAt returns where row p of the panel of column j stands, for order n. What is subtracted at a
// time, panelRows of all panels, lies together.
func panelAt(j, p, n int) int {
	top, columns := p/panelRows*panelRows, (n+panelWidth-1)/panelWidth*panelWidth
	return top*columns + j/panelWidth*panelStep(p, n) + (p-top)*panelWidth
}

// panelStep returns how far it is from there to the next panel.
func panelStep(p, n int) int {
	return panelWidth * min(panelRows, (n+3)/4*4-p/panelRows*panelRows)
}

// panelSize returns the size of all panels.
func panelSize(n int) int { return (n + panelWidth - 1) / panelWidth * panelWidth * ((n + 3) / 4 * 4) }

// factorRows turns A into U by strips of four rows: it subtracts from them what the rows above
// give, as many of these at a time as spread has room for; the strip's own 4 × 4 block then gives
// the corner, by which it divides:
//
//	C = A_ij − Σ_{p<i} U_pi·U_pj, U_ij = corner⁻ᵀ·C
//
// u has whole strips of rows and whole vectors of columns. Columns do not mix, and rows only go
// down, so what is there beyond n reaches nothing inside.
func factorRows(u []float64, ld int, panels []float64, n int, spread []float64) (pivot int, value float64) {
	var d corner
	rows := spreadSize / (4 * kernel.Lanes())
	for i := 0; i < n; i += 4 {
		for p := 0; p < i; p += rows {
			subtractVector(u, ld, panels, p, min(rows, i-p), i, n, spread)
		}
		r0, r1, r2, r3 := u[i*ld+i:], u[(i+1)*ld+i:], u[(i+2)*ld+i:], u[(i+3)*ld+i:]
		w := min(4, n-i)
		if k, x := d.factor(w, r0[0], r0[1], r1[1], r0[2], r1[2], r2[2], r0[3], r1[3], r2[3], r3[3]); k < w {
			return i + k, x
		}
		divideVector(u, ld, panels, i, n, &d, spread)
		d.put(r0, r1, r2, r3)
	}
	return n, 0
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
