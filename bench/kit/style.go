package kit

import (
	"slices"

	"stable/bilevel/method"
)

// styled are the methods in the order of their looks: STABLE and its variants in races, then the
// registry.
var styled = append([]string{"STABLE", "STABLE-paper", "STABLE-guarded"}, method.Names()...)

// Style is the look of a method in every figure, for plot.Series.Style. What is no method has the
// look that its figure gives it.
func Style(name string) int { return 1 + slices.Index(styled, name) }
