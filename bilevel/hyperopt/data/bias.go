package data

import "slices"

// WithBias returns a copy of d with a last feature "bias" that is 1 in every row: its coefficient
// is the model's intercept. Labels are shared with d.
func WithBias(d *Data) *Data {
	b := *d
	b.Dim++
	b.RowPtr, b.Col, b.Val = []int{0}, make([]int32, 0, len(d.Col)+d.Rows()), make([]float64, 0, len(d.Val)+d.Rows())
	for i := range d.Rows() {
		col, val := d.Row(i)
		b.Col = append(append(b.Col, col...), int32(d.Dim))
		b.Val = append(append(b.Val, val...), 1)
		b.RowPtr = append(b.RowPtr, len(b.Col))
	}
	if d.Features != nil {
		b.Features = append(slices.Clone(d.Features), "bias")
	}
	return &b
}
