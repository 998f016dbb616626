package plot

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes panel,series,x,y,lo,hi, exactly; empty names are numbers from 1. Errors as of WriteSVG.
func (f *Figure) WriteCSV(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	exact := func(v []float64, k int) string {
		if k >= len(v) {
			return ""
		}
		return strconv.FormatFloat(v[k], 'g', -1, 64)
	}
	rows := [][]string{{"panel", "series", "x", "y", "lo", "hi"}}
	for i, p := range f.Panels {
		for j, s := range p.Series {
			panel, name := cmp.Or(p.Title, strconv.Itoa(i+1)), cmp.Or(s.Name, strconv.Itoa(j+1))
			for k := range s.X {
				rows = append(rows, []string{panel, name, exact(s.X, k), exact(s.Y, k), exact(s.Lo, k), exact(s.Hi, k)})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
