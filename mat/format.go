package mat

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// edge is the number of rows and columns printed at each end of a large matrix.
const edge = 5

// Format writes a for package fmt: a line per row, columns aligned at the right. Verb, width and
// precision are those of an entry; %v is %.6g. Of more than 10 rows or columns it writes the first
// and last five; %+v writes all. %#v is Go syntax.
func (a Dense) Format(f fmt.State, verb rune) {
	type plain Dense
	format(f, verb, "mat.Dense", plain(a), a.Rows, a.Cols, a.At)
}

// Format writes both triangles as Dense.Format does.
func (s Sym) Format(f fmt.State, verb rune) {
	type plain Sym
	format(f, verb, "mat.Sym", plain(s), s.N, s.N, s.At)
}

func format(f fmt.State, verb rune, name string, plain any, rows, cols int, at func(i, j int) float64) {
	if verb == 'v' && f.Flag('#') {
		fmt.Fprint(f, name, strings.TrimPrefix(fmt.Sprintf("%#v", plain), "mat.plain"))
		return
	}
	if rows == 0 || cols == 0 {
		fmt.Fprintf(f, "[] (%d × %d)", rows, cols)
		return
	}
	entry := "%" + strings.TrimLeft(fmt.FormatString(f, verb), "% +-#0")
	if verb == 'v' || verb == 's' {
		entry = entry[:len(entry)-1]
		if _, ok := f.Precision(); !ok {
			entry += ".6"
		}
		entry += "g"
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, i := range shown(rows, f.Flag('+')) {
		for _, j := range shown(cols, f.Flag('+')) {
			switch {
			case i < 0:
				fmt.Fprint(w, "⋮\t")
			case j < 0:
				fmt.Fprint(w, "…\t")
			default:
				fmt.Fprintf(w, entry+"\t", at(i, j))
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	lines := strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), "\n  ", "\n ")
	fmt.Fprint(f, "[", lines[len("  "):], "]")
}

// shown returns the indices of n that are printed, −1 for those left out.
func shown(n int, all bool) (list []int) {
	for i := range n {
		switch {
		case all || n <= 2*edge || i < edge || i >= n-edge:
			list = append(list, i)
		case i == edge:
			list = append(list, -1)
		}
	}
	return list
}
