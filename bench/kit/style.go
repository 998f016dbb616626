package kit

import (
	"slices"

	"stable/bilevel/method"
)

// styled returns the methods in the order of their looks. The first seven, which stand beside each
// other most often, differ in colour; the rest follow in the order of the registry.
func styled() []string {
	list := []string{"STABLE", "SAA-Newton", "STABLE-paper", "BSA", "TTSA", "SOBA", "SABA"}
	for _, name := range append([]string{"STABLE-guarded"}, method.Names()...) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Style returns the look of a method in every figure, for plot.Series.Style. For any other name it
// returns 0, and the figure chooses.
func Style(name string) int { return 1 + slices.Index(styled(), name) }
