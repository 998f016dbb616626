package kit

import (
	"slices"

	"stable/bilevel/method"
)

// styled orders the methods by look: the first seven, often together, differ in colour; the rest
// follow as registered.
func styled() []string {
	list := []string{"STABLE", "SAA-Newton", "STABLE-paper", "BSA", "TTSA", "SOBA", "SABA"}
	for _, name := range append([]string{"STABLE-guarded"}, method.Names()...) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Style returns a method's look in every figure, for plot.Series.Style, 0 for any other name.
func Style(name string) int { return 1 + slices.Index(styled(), name) }
