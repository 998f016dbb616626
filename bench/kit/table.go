package kit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func Table(w io.Writer, lines [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}
