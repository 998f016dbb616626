package hyperopt

import (
	"stable/mat"

	"stable/bilevel/hyperopt/data"
)

// block sums Σ c_i·a_i·a_iᵀ over dense rows as AᵀB: a_i in the rows of A, c_i·a_i in those of B.
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
		n := min(blockRows, hi-lo)
		for k := range n {
			b.set(k, s, lo+k)
		}
		a, c := b.a.View(0, 0, n, b.a.Cols), b.b.View(0, 0, n, b.b.Cols)
		mat.AddMulTransASym(acc, 1, &a, &c)
	}
}

func (b *block) set(k int, s *sum, i int) {
	col, val := s.data.Row(i)
	factor := s.factor(i, col, val)
	rowA, rowB := b.a.Row(k), b.b.Row(k)
	if len(val) < len(rowA) {
		clear(rowA)
		clear(rowB)
		for j, c := range col {
			rowA[c], rowB[c] = val[j], factor*val[j]
		}
		return
	}
	copy(rowA, val)
	for j, v := range val {
		rowB[j] = factor * v
	}
}
