package check

import (
	"fmt"
	"strings"
)

// effect notes the entries of x on which F depends nowhere: f_x is 0, and g_xy is, or all of f_y.
// Since a loss such as a hinge is flat at some points, it looks at 20 more where an entry is
// without effect.
func (c *checker) effect() {
	f, g := c.oracle("GradF"), c.oracle("CrossG")
	if c.doubt(f.name, g.name) != "" {
		return // it has a finding
	}
	direct, indirect, through := make([]bool, c.dx), make([]bool, c.dx), false
	inert := func() (names []string) {
		for i := range c.dx {
			if !direct[i] && !(indirect[i] && through) {
				names = append(names, fmt.Sprintf("x[%d]", i))
			}
		}
		return names
	}
	for n := 0; n < len(c.points)+20 && len(inert()) > 0; n++ {
		pt := c.points[min(n, len(c.points)-1)]
		if n >= len(c.points) {
			pt = c.point(n)
		}
		c.nonzero(f, pt, func(k int) {
			if k < c.dx {
				direct[k] = true
			} else {
				through = true
			}
		})
		c.nonzero(g, pt, func(k int) { indirect[k/c.dy] = true })
	}
	none := inert()
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

// nonzero calls seen with the positions of entries that are not 0 at a point, for one of two
// samples or for all.
func (c *checker) nonzero(o *oracle, pt point, seen func(k int)) {
	s := pt.names[o.stream]
	all := pt.of()
	if o.noExact {
		all = pt.of(c.many(o)...)
	}
	for _, pt := range []point{pt.of(s[0]), pt.of(s[1]), all} {
		out, _ := c.eval(o, pt)
		for k, v := range out {
			if v != 0 {
				seen(k)
			}
		}
	}
}
