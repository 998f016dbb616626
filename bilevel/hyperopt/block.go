package hyperopt

import (
	"stable/mat"
	"stable/mat/kernel"

	"stable/bilevel/hyperopt/data"
)

// block sums over dense rows by products: Σ c_i·a_i·a_iᵀ is AᵀB, rows a_i of A and c_i·a_i of B.
type block struct{ a, b, p, u mat.Dense } // p: see curve; of Softmax also T, and u: those of v

const (
	blockRows = 64  // of A and B
	leastRows = 8   // from which a product pays
	leastDim  = 8   // the same
	filled    = 0.5 // share of stored entries, the same
)

func blocky(d *data.Data) bool {
	return d.Rows() >= leastRows && d.Dim >= leastDim && float64(len(d.Val)) >= filled*float64(d.Rows())*float64(d.Dim)
}

func (b *block) add(acc []float64, stride int, s *sum, lo, hi int) {
	d := s.data.Dim
	outputs := len(s.y) / d
	if b.a.Cols != d || b.p.Cols != outputs {
		b.a, b.b, b.p, b.u = *mat.NewDense(blockRows, d), *mat.NewDense(blockRows, d), *mat.NewDense(blockRows, outputs), *mat.NewDense(blockRows, outputs)
	}
	for ; lo < hi; lo += blockRows {
		n, width := min(blockRows, hi-lo), 0
		for r := range n {
			width = max(width, b.set(r, s.data, lo+r))
		}
		left, right := b.a.View(0, 0, n, width), b.b.View(0, 0, n, width)
		if s.kind != hessian {
			b.vector(acc, &left, s, lo)
			continue
		}
		for r := range n {
			s.curve(b.p.Row(r), lo+r)
		}
		for k := range outputs {
			for l := range k + 1 {
				for r := range n {
					kernel.Scale(right.Row(r), s.curvature(b.p.Row(r), k, l, lo+r), left.Row(r))
				}
				mat.AddMulTransASym(&mat.Sym{N: width, Stride: stride, Data: acc[k*d*stride+l*d:]}, 1, &left, &right)
			}
		}
	}
}

// vector adds the terms of rows from lo, which are A: with T = AYᵀ, of which factors makes R, RᵀA.
func (b *block) vector(acc []float64, a *mat.Dense, s *sum, lo int) {
	t, u := b.p.View(0, 0, a.Rows, b.p.Cols), b.u.View(0, 0, a.Rows, b.p.Cols)
	of := func(y []float64) *mat.Dense {
		return &mat.Dense{Rows: t.Cols, Cols: a.Cols, Stride: s.data.Dim, Data: y}
	}
	mat.MulTransB(&t, a, of(s.y))
	if s.kind == hessVec {
		mat.MulTransB(&u, a, of(s.v))
	}
	total := 0.0
	for r := range a.Rows {
		total += s.factors(t.Row(r), u.Row(r), lo+r)
	}
	if s.kind == value {
		acc[0] += total
		return
	}
	mat.AddMulTransA(of(acc), 1, &t, a)
}

func (b *block) set(r int, d *data.Data, i int) (width int) {
	col, val := d.Row(i)
	row := b.a.Row(r)
	if len(val) == len(row) {
		return copy(row, val)
	}
	clear(row)
	for j, c := range col {
		row[c] = val[j]
		width = int(c) + 1
	}
	return width
}
