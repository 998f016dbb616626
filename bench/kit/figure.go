package kit

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"stable/bench/plot"
	"stable/bilevel/atomicfile"
	"stable/bilevel/method"
)

// WriteFigure writes NAME.svg and NAME.csv into a folder, and says so; without a number that can be
// drawn it says that and leaves the figure out.
func WriteFigure(w io.Writer, folder, name string, fig *plot.Figure) error {
	for _, f := range []struct {
		name string
		fill func(io.Writer) error
	}{{name + ".svg", fig.WriteSVG}, {name + ".csv", fig.WriteCSV}} {
		path := filepath.Join(folder, f.name)
		said := fmt.Sprintf("wrote %s\n", path)
		switch err := atomicfile.Write(path, f.fill); {
		case errors.Is(err, plot.ErrEmpty):
			said = fmt.Sprintf("no %s: no number can be drawn\n", f.name)
		case err != nil:
			return err
		}
		if _, err := io.WriteString(w, said); err != nil {
			return err
		}
	}
	return nil
}

// Plain takes the marks of superscripts and subscripts out.
func Plain(s string) string { return strings.NewReplacer("^{", "^", "_{", "_", "}", "").Replace(s) }

// Last is the last value of v, or 0 if there is none.
func Last[T any](v []T) (x T) {
	if len(v) > 0 {
		x = v[len(v)-1]
	}
	return x
}

// Style returns a method's look in every figure, for plot.Series.Style, 0 for any other name. The
// first seven, often together, differ in colour; the rest follow as registered.
func Style(name string) int {
	list := []string{"STABLE", "SAA-Newton", "STABLE-paper", "BSA", "TTSA", "SOBA", "SABA", "STABLE-guarded"}
	list = append(list, slices.DeleteFunc(method.Names(), func(n string) bool { return slices.Contains(list, n) })...)
	return 1 + slices.Index(list, name)
}

func Table(w io.Writer, lines [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}
