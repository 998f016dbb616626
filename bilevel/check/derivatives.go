package check

import (
	"fmt"
	"math"
	"slices"
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

// gradient compares a gradient in x, in y or in both with differences of its value; where there is
// none, it says what is left, which is what compare checks.
func (c *checker) gradient(name, value string, inX, inY bool, left string, compare func(grad *oracle, pt point)) {
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
		compare = func(grad *oracle, pt point) {
			j := c.jacobian(v, pt, inX, inY)
			c.judge(c.against(Derivative, grad, pt, c.eval(grad, pt), "the differences of "+value, j))
		}
	}
	for _, pt := range c.differentiable(grad) {
		if compare != nil {
			compare(grad, pt)
		}
	}
}

// differentiable are the places for differences, with the exact value of a simulator alone: that of
// a sum is its mean.
func (c *checker) differentiable(o *oracle) []point {
	return c.places(o, c.sizes[o.stream] == 0 && !o.noExact)
}

// against compares an oracle's values with the derivatives that they should be, in the same order.
func (c *checker) against(check string, o *oracle, pt point, got []float64, what string, j *jacobian) (m comparison) {
	if got != nil && c.fit(check, o, pt, j, maxAbs(got)) {
		m = comparison{check: check, o: o, pt: pt, got: got, want: j.d, tol: j.tol, against: what}
	}
	return m
}

// fit leaves out the derivatives that say nothing beside entries as large as top, and says so; it is
// false if there are no derivatives.
func (c *checker) fit(check string, o *oracle, pt point, j *jacobian, top float64) bool {
	if j == nil {
		c.log.gap(check, o.name, "differences fail at point %d", pt.index)
		return false
	}
	if n := j.leaveOut(top); n > 0 {
		c.log.gap(check, o.name, "differences are too rough to judge by, for %d entries or more: is it smooth on the "+
			"scales ScaleX and ScaleY?", n)
	}
	return true
}

func (c *checker) symmetryF(grad *oracle, pt point) {
	if j := c.jacobian(grad, pt, true, true); c.fit(Symmetry, grad, pt, j, 0) {
		c.symmetric(grad, pt, j, "∂(f_x,f_y)/∂(x,y)")
	}
}

func (c *checker) symmetric(o *oracle, pt point, j *jacobian, quantity string) {
	m := j.rows(o, pt, quantity)
	m.want, m.against = j.d, "the transposed entry"
	for k := range m.tol {
		if m.tol[k] += j.tol[k]; k/j.m <= k%j.m {
			m.tol[k] = math.Inf(1)
		}
	}
	c.judge(m)
}

func (c *checker) mixed(grad *oracle, pt point) {
	cross := c.oracle("CrossG")
	if why := c.doubt(cross.name); why != "" {
		c.log.gap(Symmetry, grad.name, "%s", why)
		return
	}
	want, j := c.eval(cross, pt), c.jacobian(grad, pt, false, true)
	if c.fit(Symmetry, grad, pt, j, maxAbs(want)) {
		m := j.rows(grad, pt, "∂g_x/∂y")
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
	for _, pt := range c.differentiable(grad) {
		x := c.jacobian(grad, pt, true, false)
		xy := c.against(Derivative, cross, pt, c.eval(cross, pt), what, x)
		y, got := c.jacobian(grad, pt, false, true), c.eval(hess, pt)
		if c.fit(Symmetry, grad, pt, y, maxAbs(got)) {
			c.symmetric(grad, pt, y, "∂g_y/∂y")
			y.oneTriangle()
		}
		c.judgeSecond(grad, xy, c.against(Derivative, hess, pt, got, what, y))
	}
}

// judgeSecond judges g_xy and g_yy, unless g_y is wrong: g says so, it is not symmetric, or both
// miss it by one factor.
func (c *checker) judgeSecond(grad *oracle, xy, yy comparison) {
	right := slices.ContainsFunc(c.log.Passed, func(p Pass) bool { return p.Check == Derivative && p.Oracle == grad.name })
	wrong := c.log.wrong(Derivative, grad.name)
	r, ok := xy.ratio()
	if r1, ok1 := yy.ratio(); ok && ok1 && (wrong || !right) && math.Abs(r-r1) < 1e-4*math.Abs(r) {
		c.log.find(grad.whole(Derivative, "g_y", xy.pt, fmt.Sprintf("both g_xy and g_yy are %.3g times its "+
			"differences: the factor is missing here, or wrong in both", r)), 1, r, 1e-4)
		return
	}
	wrong = wrong || c.log.wrong(Symmetry, grad.name)
	for _, m := range []comparison{xy, yy} {
		if bad, _ := m.wrong(); wrong && len(bad) > 0 {
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
