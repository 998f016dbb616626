package check

import (
	"fmt"
	"math"
)

// derivatives compares gradients with differences of values, and second derivatives with those of
// g_y. Without values there is only what the Jacobian of a gradient says of itself.
func (c *checker) derivatives() {
	c.gradient("GradF", "ValueF", true, true, "only the symmetry of its Jacobian is checked, which does not see a "+
		"wrong factor or constant", c.symmetryF)
	c.gradient("GradG", "ValueG", false, true, "it is only checked together with g_xy and g_yy, which do not see a "+
		"wrong constant", nil)
	c.second()
	c.gradient("GradXG", "ValueG", true, false, "only its Jacobian in y is checked, which does not see what depends "+
		"on x alone", c.mixed)
}

// gradient compares a gradient in x, in y or in both with differences of its value; without makes do
// without values, and left says what then is left.
func (c *checker) gradient(name, value string, inX, inY bool, left string, without func(grad *oracle, pt point)) {
	grad, v := c.oracle(name), c.oracle(value)
	if grad == nil || !c.usable(grad, Derivative) {
		return
	}
	switch {
	case v == nil:
		c.log.gap(Derivative, name, "no Values: %s", left)
	case v.bad != "":
		c.log.gap(Derivative, name, "%s: %s", value, v.bad)
	default:
		without = func(grad *oracle, pt point) {
			j, ok := c.jacobian(v, pt, inX, inY)
			if got, ok1 := c.eval(grad, pt); ok && ok1 {
				c.judge(c.against(Derivative, grad, pt, got, "the differences of "+value, j))
			}
		}
	}
	for _, pt := range c.places(grad) {
		if without != nil {
			without(grad, pt)
		}
	}
}

// places are the points with the batches for differences: two single samples, and a simulator's
// exact value.
func (c *checker) places(o *oracle) (all []point) {
	for _, pt := range c.points {
		s := pt.names[o.stream]
		all = append(all, pt.of(s[0]), pt.of(s[1]))
		if c.sizes[o.stream] == 0 && !o.noExact {
			all = append(all, pt.of())
		}
	}
	return all
}

// jacobian differentiates o in x, in y or in both; false, with a gap, where that fails.
func (c *checker) jacobian(o *oracle, pt point, inX, inY bool) (*jacobian, bool) {
	j, ok := new(jacobian), true
	eval := func() ([]float64, bool) { return c.eval(o, pt) }
	if inX {
		steps, inside := c.stepsX(pt.x)
		c.outside = !inside
		ok = c.differentiate(j, eval, pt.x, steps)
		c.outside = false
	}
	if inY {
		ok = ok && c.differentiate(j, eval, pt.y, c.stepsY(pt.y))
	}
	if !ok {
		c.log.gap(Derivative, o.name, "its differences fail at point %d", pt.index)
	}
	return j, ok
}

// against compares an oracle's values with the derivatives that they should be, in the same order.
func (c *checker) against(check string, o *oracle, pt point, got []float64, what string, j *jacobian) comparison {
	c.rough(check, o, j, maxAbs(got))
	return comparison{check: check, o: o, pt: pt, got: got, want: j.d, tol: j.tol, against: what}
}

// rough leaves out the derivatives that say nothing beside entries as large as top, and says so.
func (c *checker) rough(check string, o *oracle, j *jacobian, top float64) {
	if n := j.rough(top); n > 0 {
		c.log.gap(check, o.name, "differences are too rough to judge by, for %d entries or more: is it smooth on the "+
			"scales ScaleX and ScaleY?", n)
	}
}

func (c *checker) symmetryF(grad *oracle, pt point) {
	if j, ok := c.jacobian(grad, pt, true, true); ok {
		c.rough(Symmetry, grad, j, 0)
		c.symmetric(grad, pt, j, "∂(f_x,f_y)/∂(x,y)")
	}
}

func (c *checker) symmetric(o *oracle, pt point, j *jacobian, quantity string) {
	m := c.transposed(o, pt, j, quantity, j.m)
	m.want, m.against = j.d, "the transposed entry"
	for k := range m.tol {
		if m.tol[k] += j.tol[k]; k/j.m <= k%j.m {
			m.tol[k] = math.Inf(1)
		}
	}
	c.judge(m)
}

// transposed is a comparison of a Jacobian with rows for its m entries, ∂out_i/∂z_j for n variables.
func (c *checker) transposed(o *oracle, pt point, j *jacobian, quantity string, n int) comparison {
	shown := &oracle{name: o.name, blocks: []*block{newBlock(quantity, dense, j.m, n)}}
	m := comparison{check: Symmetry, o: shown, pt: pt}
	for k := range j.d {
		t := k%n*j.m + k/n
		m.got, m.tol = append(m.got, j.d[t]), append(m.tol, j.tol[t])
	}
	return m
}

func (c *checker) mixed(grad *oracle, pt point) {
	cross := c.oracle("CrossG")
	if why := c.doubt(cross.name); why != "" {
		c.log.gap(Symmetry, grad.name, "%s", why)
		return
	}
	want, ok := c.eval(cross, pt)
	j, ok1 := c.jacobian(grad, pt, false, true)
	if ok && ok1 {
		c.rough(Symmetry, grad, j, maxAbs(want))
		m := c.transposed(grad, pt, j, "∂g_x/∂y", c.dy)
		m.want, m.against = want, cross.name
		c.judge(m)
	}
}

// second compares g_xy and g_yy with differences of g_y, whose Jacobian in y must be symmetric.
func (c *checker) second() {
	grad, cross, hess := c.oracle("GradG"), c.oracle("CrossG"), c.oracle("HessG")
	c.usable(cross, Derivative)
	c.usable(hess, Derivative)
	if grad.bad != "" {
		c.log.gap(Derivative, cross.name, "GradG: %s", grad.bad)
		c.log.gap(Derivative, hess.name, "GradG: %s", grad.bad)
		return
	}
	const what = "the differences of GradG"
	for _, pt := range c.places(grad) {
		var all []comparison
		if j, ok := c.jacobian(grad, pt, true, false); !ok {
			c.log.gap(Derivative, cross.name, "%s fail at point %d", what, pt.index)
		} else if got, ok := c.eval(cross, pt); ok {
			all = append(all, c.against(Derivative, cross, pt, got, what, j))
		}
		if j, ok := c.jacobian(grad, pt, false, true); !ok {
			c.log.gap(Derivative, hess.name, "%s fail at point %d", what, pt.index)
		} else {
			got, ok := c.eval(hess, pt)
			c.rough(Symmetry, grad, j, maxAbs(got))
			c.symmetric(grad, pt, j, "∂g_y/∂y")
			if ok {
				oneTriangle(j)
				all = append(all, c.against(Derivative, hess, pt, got, what, j))
			}
		}
		c.judgeSecond(grad, all)
	}
}

// oneTriangle leaves out the upper triangle, and what says nothing since g_y itself is not symmetric.
func oneTriangle(j *jacobian) {
	for k, d := range j.d {
		row, col := k/j.m, k%j.m
		if t := col*j.m + row; col > row || !(math.Abs(d-j.d[t]) <= j.tol[k]+j.tol[t]) {
			j.tol[k] = math.Inf(1)
		}
	}
}

// judgeSecond judges g_xy and g_yy, unless g_y is wrong: g says so, it is not symmetric, or both
// miss it by one factor.
func (c *checker) judgeSecond(grad *oracle, all []comparison) {
	if len(all) == 2 && !c.log.clean(Derivative, grad.name) {
		r0, ok0 := all[0].ratio()
		r1, ok1 := all[1].ratio()
		if ok0 && ok1 && math.Abs(r0-r1) < 1e-4*math.Abs(r0) {
			f := grad.whole(Derivative, "g_y", all[0].pt, fmt.Sprintf("both g_xy and g_yy are %.3g times its "+
				"differences: the factor is missing here, or wrong in both", r0))
			f.Got, f.Want, f.Tol = 1, r0, 1e-4
			c.log.find(f)
			return
		}
	}
	wrong := c.log.wrong(Derivative, grad.name) || c.log.wrong(Symmetry, grad.name)
	for _, m := range all {
		if wrong && len(m.wrong()) > 0 {
			c.log.gap(Derivative, m.o.name, "it differs from the differences of GradG, which is wrong itself")
		} else {
			c.judge(m)
		}
	}
}

// doubt says which of the oracles was found wrong, or nothing: others cannot be judged by it.
func (c *checker) doubt(names ...string) string {
	for _, name := range names {
		o := c.oracle(name)
		if o == nil {
			continue
		}
		if o.bad != "" {
			return name + ": " + o.bad
		}
		for _, check := range []string{BatchMean, Derivative, Symmetry, Unbiased} {
			if c.log.wrong(check, name) {
				return name + " is wrong itself"
			}
		}
	}
	return ""
}

func (c *checker) usable(o *oracle, check string) bool {
	if o.bad != "" {
		c.log.gap(check, o.name, "%s", o.bad)
	}
	return o.bad == ""
}
