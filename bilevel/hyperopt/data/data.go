// Package data reads labelled sparse rows from files and prepares them: [Open], [ReadLIBSVM] and
// [ReadCSV] give [Data], or a [*SyntaxError] with file and line; [Data.Split], [Standardise],
// [MaxAbs] and [FitScaler] prepare it. Nothing changes a Data once made.
//
// Reading takes memory in proportion to what is stored: no number in a file sizes an allocation,
// and endless lines are refused.
package data

import (
	"fmt"
	"slices"

	"stable/mat"
)

// Data is labelled rows in compressed sparse row storage: row i has the entries Val[RowPtr[i]:RowPtr[i+1]] in
// the ascending columns Col[RowPtr[i]:RowPtr[i+1]] of 0 … Dim−1. A caller may raise Dim.
type Data struct {
	Name      string    // where it came from, for messages
	Dim       int       // number of features
	RowPtr    []int     // ascending, from 0 to len(Col)
	Col       []int32   // 0-based column of each stored entry
	Val       []float64 // finite; as read from a file, not zero
	Label     []float64 // one a row: −1 and +1; 0, 1, … of several classes; any finite number in a regression
	Classes   []string  // how the file spells −1 and +1, or 0, 1, …; nil in a regression
	Features  []string  // the names of the columns, of length Dim; nil where the file has none
	Columns   []Column  // how the columns of the file became features; nil where each is one as it stands
	LabelName string    // of the column of a CSV file that is the label
	IDs       []string  // the names of the rows, from column ReadOptions.ID
	Lone      []string  // cells of a CSV file a million times as large as all others of their columns
	Filled    int       // number of cells of the file that ReadOptions.Impute has filled
}

func (d *Data) Rows() int { return len(d.Label) }

// Row returns the columns and values of row i in d's own memory. It panics if i is out of range.
func (d *Data) Row(i int) (col []int32, val []float64) {
	if len(d.Val) == len(d.Label)*d.Dim { // without gaps: no need to fetch RowPtr
		lo, hi := i*d.Dim, (i+1)*d.Dim
		return d.Col[lo:hi:hi], d.Val[lo:hi:hi]
	}
	lo, hi := d.RowPtr[i], d.RowPtr[i+1]
	return d.Col[lo:hi:hi], d.Val[lo:hi:hi]
}

// Check returns an error unless d is as Data describes. Cost: one pass over the entries.
func (d *Data) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("data: %q"+format, append([]any{d.Name}, args...)...)
	}
	n := len(d.Label)
	switch {
	case d.Dim < 0 || d.Dim > MaxIndex:
		return wrong(": Dim %d is not in 0 … %d", d.Dim, MaxIndex)
	case len(d.RowPtr) != n+1 || d.RowPtr[0] != 0 || d.RowPtr[n] != len(d.Col):
		return wrong(": RowPtr must have one entry more than Label and run from 0 to len(Col)")
	case len(d.Val) != len(d.Col):
		return wrong(": Col and Val differ in length")
	case d.Features != nil && len(d.Features) != d.Dim:
		return wrong(": %d feature names for %d features", len(d.Features), d.Dim)
	case d.IDs != nil && len(d.IDs) != d.Rows():
		return wrong(": %d names for %d rows", len(d.IDs), d.Rows())
	}
	for i, b := range d.Label {
		if !mat.IsFinite(b) {
			return wrong(", row %d: label is not finite", i)
		}
		if d.RowPtr[i] > d.RowPtr[i+1] || d.RowPtr[i+1] > len(d.Col) {
			return wrong(", row %d: RowPtr does not ascend", i)
		}
		last := int32(-1)
		val := d.Val[d.RowPtr[i]:]
		for k, c := range d.Col[d.RowPtr[i]:d.RowPtr[i+1]] {
			if c <= last || int(c) >= d.Dim {
				return wrong(", row %d: columns must ascend and lie in 0 … Dim−1", i)
			}
			if !mat.IsFinite(val[k]) {
				return wrong(", row %d, column %d: value is not finite", i, c)
			}
			last = c
		}
	}
	return nil
}

// Subset returns a copy of the given rows, in that order. It panics if one is out of range.
func (d *Data) Subset(rows []int) *Data {
	s, nnz := *d, 0
	for _, i := range rows {
		nnz += d.RowPtr[i+1] - d.RowPtr[i]
	}
	s.RowPtr, s.Label, s.IDs = make([]int, 1, len(rows)+1), make([]float64, 0, len(rows)), nil
	s.Col, s.Val = make([]int32, 0, nnz), make([]float64, 0, nnz)
	for _, i := range rows {
		col, val := d.Row(i)
		s.Col, s.Val = append(s.Col, col...), append(s.Val, val...)
		s.Label, s.RowPtr = append(s.Label, d.Label[i]), append(s.RowPtr, len(s.Col))
		if d.IDs != nil {
			s.IDs = append(s.IDs, d.IDs[i])
		}
	}
	return &s
}

// Join returns a copy of the rows of all sets, one after the other, with names of features and classes
// of the first, and of rows if all have them. It panics if there is none or dimensions differ.
func Join(sets ...*Data) *Data {
	j := *sets[0].Subset(nil)
	for _, d := range sets {
		if d.Dim != j.Dim {
			panic("data: Join: dimension mismatch")
		}
		for _, end := range d.RowPtr[1:] {
			j.RowPtr = append(j.RowPtr, len(j.Col)+end)
		}
		j.Col, j.Val, j.Label = append(j.Col, d.Col...), append(j.Val, d.Val...), append(j.Label, d.Label...)
		j.IDs = append(j.IDs, d.IDs...)
	}
	if len(j.IDs) != j.Rows() {
		j.IDs = nil
	}
	return &j
}

// WithBias returns a copy of d with a last feature "bias" that is 1 in every row: its coefficient
// is the model's intercept. Labels are shared with d.
func WithBias(d *Data) *Data {
	b := *d
	b.Dim++
	b.RowPtr, b.Col, b.Val = []int{0}, make([]int32, 0, len(d.Col)+d.Rows()), make([]float64, 0, len(d.Val)+d.Rows())
	for i := range d.Rows() {
		col, val := d.Row(i)
		b.Col, b.Val = append(append(b.Col, col...), int32(d.Dim)), append(append(b.Val, val...), 1)
		b.RowPtr = append(b.RowPtr, len(b.Col))
	}
	if d.Features != nil {
		b.Features = append(slices.Clone(d.Features), "bias")
	}
	return &b
}
