package kit

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"stable/bench/plot"
	"stable/bilevel/atomicfile"
)

// WriteFigure writes a figure and its numbers into a folder, as NAME.svg and NAME.csv, and says so.
func WriteFigure(w io.Writer, folder, name string, fig *plot.Figure) error {
	for _, f := range []struct {
		name string
		fill func(io.Writer) error
	}{{name + ".svg", fig.WriteSVG}, {name + ".csv", fig.WriteCSV}} {
		path := filepath.Join(folder, f.name)
		if err := atomicfile.Write(path, f.fill); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "wrote %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// Plain takes the marks of superscripts and subscripts out of a label of a figure.
func Plain(s string) string { return strings.NewReplacer("^{", "^", "_{", "_", "}", "").Replace(s) }

// Last is the last value of v, or 0 if there is none.
func Last[T int | float64](v []T) (x T) {
	if len(v) > 0 {
		x = v[len(v)-1]
	}
	return x
}
