package plot

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes the points of all series of f, unthinned, one per row: panel,series,x,y,lo,hi. f
// is read only.
//
// Panels and series are named by Title and Name, or by their number, counted from 1, where these
// are empty. Values are in the shortest form that reads back to the same float64; lo and hi of a
// series without a band are empty.
//
// Errors: one that names the series where slices differ in length; that of w.
func (f *Figure) WriteCSV(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	row := []string{"panel", "series", "x", "y", "lo", "hi"}
	if err := out.Write(row); err != nil {
		return err
	}
	for i, p := range f.Panels {
		row[0] = named(p.Title, i)
		for j, s := range p.Series {
			row[1] = named(s.Name, j)
			for k := range s.X {
				row[2], row[3], row[4], row[5] = exact(s.X[k]), exact(s.Y[k]), "", ""
				if len(s.Lo) > 0 {
					row[4], row[5] = exact(s.Lo[k]), exact(s.Hi[k])
				}
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func named(name string, i int) string {
	if name == "" {
		return strconv.Itoa(i + 1)
	}
	return name
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
