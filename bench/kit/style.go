package kit

import (
	"slices"

	"stable/bilevel/method"
)

// Style returns a method's look in every figure, for plot.Series.Style, 0 for any other name. The
// first seven, often together, differ in colour; the rest follow as registered.
func Style(name string) int {
	list := []string{"STABLE", "SAA-Newton", "STABLE-paper", "BSA", "TTSA", "SOBA", "SABA", "STABLE-guarded"}
	list = append(list, slices.DeleteFunc(method.Names(), func(n string) bool { return slices.Contains(list, n) })...)
	return 1 + slices.Index(list, name)
}
