package plot

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes the points of all series of f, unthinned, one per row: panel,series,x,y,lo,hi. f
// is read only.
//
// Panels and series are named by Title and Name, or by their number, counted from 1, where these
// are empty. Values read back to the same float64; lo and hi of a series without a band are empty.
//
// Errors: one that names the series where slices differ in length; that of w.
func (f *Figure) WriteCSV(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{{"panel", "series", "x", "y", "lo", "hi"}}
	for i, p := range f.Panels {
		for j, s := range p.Series {
			panel, name := cmp.Or(p.Title, strconv.Itoa(i+1)), cmp.Or(s.Name, strconv.Itoa(j+1))
			for k := range s.X {
				row := []string{panel, name, exact(s.X[k]), exact(s.Y[k]), "", ""}
				if len(s.Lo) > 0 {
					row[4], row[5] = exact(s.Lo[k]), exact(s.Hi[k])
				}
				rows = append(rows, row)
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
