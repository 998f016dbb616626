package check

import (
	"fmt"
	"slices"
	"strings"
)

// effect notes the entries of x on which F depends nowhere: f_x is 0, and g_xy is, or all of f_y. A
// hinge is flat at some points: it looks at up to 20 more.
func (c *checker) effect() {
	f, g := c.oracle("GradF"), c.oracle("CrossG")
	if c.doubt(f.name, g.name) != "" {
		return // it has a finding
	}
	seenF, seenG := make([]bool, f.size()), make([]bool, g.size()) // entries that are not 0 somewhere
	var none []string
	for n := range len(c.points) + 20 {
		pt := c.points[min(n, len(c.points)-1)]
		if n >= len(c.points) {
			pt = c.point(n)
		}
		c.nonzero(f, pt, seenF)
		c.nonzero(g, pt, seenG)
		none = nil
		for i := range c.dx {
			indirect := slices.Contains(seenF[c.dx:], true) && slices.Contains(seenG[i*c.dy:][:c.dy], true)
			if !seenF[i] && !indirect {
				none = append(none, fmt.Sprintf("x[%d]", i))
			}
		}
		if len(none) == 0 {
			break
		}
	}
	if n := c.dx - len(none); n > 0 {
		c.log.pass(Effect, g.name, n)
	}
	const most = 5
	if n := len(none) - most; n > 0 {
		none = append(none[:most], fmt.Sprintf("%d more", n))
	}
	if len(none) > 0 {
		c.log.gap(Effect, g.name, "without effect at all points: %s of %d entries: f_x is 0 there, and so is g_xy, or f_y; "+
			"is a term forgotten, or do Options.Center and ScaleX keep away from where it acts?",
			strings.Join(none, ", "), c.dx)
	}
}

// nonzero notes the entries that are not 0 at a point, for one of two samples or for all.
func (c *checker) nonzero(o *oracle, pt point, seen []bool) {
	s, all := pt.names[o.stream], pt.of()
	if o.noExact {
		all = pt.of(c.many(o)...)
	}
	for _, pt := range []point{pt.of(s[0]), pt.of(s[1]), all} {
		for k, v := range c.eval(o, pt) {
			seen[k] = seen[k] || v != 0
		}
	}
}
