package plot

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes all points, one per row: panel,series,x,y,lo,hi. Names are Title and Name, or numbers
// from 1; values read back exactly; lo and hi are empty without a band. Errors as of WriteSVG.
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
