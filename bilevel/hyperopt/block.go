package hyperopt

import (
	"stable/mat"

	"stable/bilevel/hyperopt/data"
)

// block sums Σ c_i·a_i·a_iᵀ over dense rows as AᵀB: a_i in the rows of A, c_i·a_i in those of B, up to
// the last column that one of them fills.
type block struct{ a, b, p mat.Dense } // p: see curve

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
	if outputs := len(s.y) / d; b.a.Cols != d || b.p.Cols != outputs {
		b.a, b.b, b.p = *mat.NewDense(blockRows, d), *mat.NewDense(blockRows, d), *mat.NewDense(blockRows, outputs)
	}
	for ; lo < hi; lo += blockRows {
		n, width := min(blockRows, hi-lo), 0
		for r := range n {
			width = max(width, b.set(r, s, lo+r))
		}
		left, right := b.a.View(0, 0, n, width), b.b.View(0, 0, n, width)
		for k := range b.p.Cols {
			for l := range k + 1 {
				for r := range n {
					factor, to := s.curvature(b.p.Row(r), k, l, lo+r), right.Row(r)
					for j, v := range left.Row(r) {
						to[j] = factor * v
					}
				}
				mat.AddMulTransASym(&mat.Sym{N: width, Stride: stride, Data: acc[k*d*stride+l*d:]}, 1, &left, &right)
			}
		}
	}
}

// set copies row i, and returns how far it goes.
func (b *block) set(r int, s *sum, i int) (width int) {
	s.curve(b.p.Row(r), i)
	col, val := s.data.Row(i)
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
