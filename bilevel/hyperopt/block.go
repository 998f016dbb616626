package hyperopt

import (
	"stable/mat"

	"stable/bilevel/hyperopt/data"
)

// block sums Σ c_i·a_i·a_iᵀ over dense rows as AᵀB: a_i in the rows of A, c_i·a_i in those of B, up to
// the last column that one of them fills.
type block struct{ a, b mat.Dense }

const (
	blockRows = 64  // of A and B
	leastRows = 8   // from which a product pays
	leastDim  = 8   // the same
	filled    = 0.5 // share of stored entries, the same
)

func blocky(d *data.Data) bool {
	return d.Rows() >= leastRows && d.Dim >= leastDim && float64(len(d.Val)) >= filled*float64(d.Rows())*float64(d.Dim)
}

func (b *block) add(acc *mat.Sym, s *sum, lo, hi int) {
	if cols := s.data.Dim; b.a.Cols != cols {
		b.a, b.b = *mat.NewDense(blockRows, cols), *mat.NewDense(blockRows, cols)
	}
	for ; lo < hi; lo += blockRows {
		n, width := min(blockRows, hi-lo), 0
		for k := range n {
			width = max(width, b.set(k, s, lo+k))
		}
		a, c := b.a.View(0, 0, n, width), b.b.View(0, 0, n, width)
		mat.AddMulTransASym(&mat.Sym{N: width, Stride: acc.Stride, Data: acc.Data}, 1, &a, &c)
	}
}

func (b *block) set(k int, s *sum, i int) (width int) {
	col, val := s.data.Row(i)
	factor := s.factor(i, col, val)
	rowA, rowB := b.a.Row(k), b.b.Row(k)
	if len(val) < len(rowA) {
		clear(rowA)
		clear(rowB)
		for j, c := range col {
			rowA[c], rowB[c] = val[j], factor*val[j]
			width = int(c) + 1
		}
		return width
	}
	copy(rowA, val)
	for j, v := range val {
		rowB[j] = factor * v
	}
	return len(val)
}
