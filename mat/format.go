package mat

import (
	"fmt"
	"strconv"
	"strings"
)

// edge is the number of rows and columns printed at each end of a large matrix.
const edge = 5

// Format writes a for package fmt: a line per row in brackets, columns aligned at the right. Verbs,
// width and precision apply to each entry; %v is %g with six digits. Of more than 2·5 rows or
// columns it writes the first and last five; %+v writes all. %#v is Go syntax. It allocates.
func (a Dense) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		type plain Dense
		fmt.Fprintf(f, "mat.Dense%s", strings.TrimPrefix(fmt.Sprintf("%#v", plain(a)), "mat.plain"))
		return
	}
	format(f, verb, a.Rows, a.Cols, a.At)
}

// Format writes s as text, with both triangles, as Dense.Format does.
func (s Sym) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		type plain Sym
		fmt.Fprintf(f, "mat.Sym%s", strings.TrimPrefix(fmt.Sprintf("%#v", plain(s)), "mat.plain"))
		return
	}
	format(f, verb, s.N, s.N, s.At)
}

func format(f fmt.State, verb rune, rows, cols int, at func(i, j int) float64) {
	if rows == 0 || cols == 0 {
		fmt.Fprintf(f, "[] (%d × %d)", rows, cols)
		return
	}
	is, js := shown(rows, f.Flag('+')), shown(cols, f.Flag('+'))
	entry := entryFormat(f, verb)
	cells, widths := make([][]string, len(is)), make([]int, len(js))
	for r, i := range is {
		cells[r] = make([]string, len(js))
		for c, j := range js {
			text := "…"
			switch {
			case i >= 0 && j >= 0:
				text = fmt.Sprintf(entry, at(i, j))
			case i < 0:
				text = "⋮"
			}
			cells[r][c] = text
			widths[c] = max(widths[c], len([]rune(text)))
		}
	}
	for r, row := range cells {
		open, end := " ", ""
		if r == 0 {
			open = "["
		}
		if r == len(cells)-1 {
			end = "]"
		} else {
			end = "\n"
		}
		for c, text := range row {
			row[c] = strings.Repeat(" ", widths[c]-len([]rune(text))) + text
		}
		fmt.Fprint(f, open, strings.Join(row, "  "), end)
	}
}

func shown(n int, all bool) []int {
	var list []int
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

func entryFormat(f fmt.State, verb rune) string {
	width, precision := "", ""
	if w, ok := f.Width(); ok {
		width = strconv.Itoa(w)
	}
	if p, ok := f.Precision(); ok {
		precision = "." + strconv.Itoa(p)
	}
	if verb == 'v' || verb == 's' {
		verb = 'g'
		if precision == "" {
			precision = ".6"
		}
	}
	return "%" + width + precision + string(verb)
}
