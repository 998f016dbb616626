package mat

import "stable/mat/kernel"

// Solves for many right-hand sides split the triangle, so that most flops are AddMul's:
//
//	[T11     ] [X1]   [B1]
//	[T21  T22] [X2] = [B2]:   X1 = T11⁻¹·B1,  X2 = T22⁻¹·(B2 − T21·X1)
//
// and mirror images (Elmroth, Gustavson, Jonsson, Kågström 2004).

// triBase is the largest order that is solved row by row.
const triBase = 32

func split(t, x *Dense) (t11, t12, t21, t22, x1, x2 Dense) {
	n := t.Rows
	h := (n + 1) / 2
	h = min((h+3)/4*4, n-1)
	return t.View(0, 0, h, h), t.View(0, h, h, n-h), t.View(h, 0, n-h, h), t.View(h, h, n-h, n-h),
		x.View(0, 0, h, x.Cols), x.View(h, 0, n-h, x.Cols)
}

// substitute solves T·X = B in place, T a triangle, lower or upper, of t, or of tᵀ if k is across.
func substitute(t *Dense, k kind, lower bool, x *Dense) {
	if t.Rows > triBase {
		t11, t12, t21, t22, x1, x2 := split(t, x)
		if lower == (k == across) {
			t21 = t12 // where the block beside the diagonal is stored
		}
		if !lower {
			t11, t22, x1, x2 = t22, t11, x2, x1
		}
		substitute(&t11, k, lower, &x1)
		multiply("mat: solve", &x2, false, -1, &t21, k, &x1, across)
		substitute(&t22, k, lower, &x2)
		return
	}
	var buf [triBase]float64
	for r := range t.Rows {
		i, from, end := r, 0, r
		if !lower {
			i = t.Rows - 1 - r
			from, end = i+1, t.Rows
		}
		xi := x.Row(i)
		if from < end {
			kernel.SubRows(xi, t.line(&buf, k, i, from, end), x.Data[from*x.Stride:], x.Stride)
		}
		kernel.Scale(xi, 1/t.Data[i*t.Stride+i], xi)
	}
}

// line returns entries from to end−1 of row i of t, or of column i if k is across.
func (t *Dense) line(buf *[triBase]float64, k kind, i, from, end int) []float64 {
	if k == along {
		return t.Row(i)[from:end]
	}
	for p := from; p < end; p++ {
		buf[p-from] = t.Data[p*t.Stride+i]
	}
	return buf[:end-from]
}
