package mat

import (
	"fmt"
	"strconv"
	"strings"
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
	is, js := shown(rows, f.Flag('+')), shown(cols, f.Flag('+'))
	entry := entryFormat(f, verb)
	cells, widths := make([][]string, len(is)), make([]int, len(js))
	for r, i := range is {
		cells[r] = make([]string, len(js))
		for c, j := range js {
			text := "⋮"
			if i >= 0 && j >= 0 {
				text = fmt.Sprintf(entry, at(i, j))
			} else if i >= 0 {
				text = "…"
			}
			cells[r][c] = text
			widths[c] = max(widths[c], len([]rune(text)))
		}
	}
	for r, row := range cells {
		for c, text := range row {
			row[c] = strings.Repeat(" ", widths[c]-len([]rune(text))) + text
		}
		between := "\n "
		if r == 0 {
			between = "["
		}
		fmt.Fprint(f, between, strings.Join(row, "  "))
	}
	fmt.Fprint(f, "]")
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
	entry := "%"
	if width, ok := f.Width(); ok {
		entry += strconv.Itoa(width)
	}
	precision, ok := f.Precision()
	if verb == 'v' || verb == 's' {
		verb = 'g'
		if !ok {
			precision, ok = 6, true
		}
	}
	if ok {
		entry += "." + strconv.Itoa(precision)
	}
	return entry + string(verb)
}
