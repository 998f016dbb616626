package check

import (
	"fmt"
	"math"

	"stable/bilevel"
)

// valued reports whether a gradient can be compared with values; otherwise it notes what is left.
func (c *checker) valued(grad, value *oracle, left string) bool {
	switch {
	case value == nil:
		c.log.gap(Derivative, grad.name, "no Values: %s", left)
	case value.bad != "":
		c.log.gap(Derivative, grad.name, "%s: %s", value.name, value.bad)
	default:
		return true
	}
	return false
}

// derivativesF compares f_x and f_y with differences of f, or by symmetryF.
func (c *checker) derivativesF() {
	grad, value := c.oracle("GradF"), c.oracle("ValueF")
	if !c.usable(grad, Derivative) {
		return
	}
	valued := c.valued(grad, value,
		"only the symmetry of its Jacobian is checked, which does not see a wrong factor or constant")
	for _, pt := range c.points {
		for _, batch := range c.batches(grad, pt) {
			if !valued {
				c.symmetryF(grad, pt, batch)
				continue
			}
			jx, jy, ok := c.jacobians(value, pt, batch)
			got, ok1 := c.eval(grad, pt, batch)
			if ok && ok1 {
				c.compare(Derivative, grad, pt, batch, got, "the differences of ValueF", jx, jy)
			}
		}
	}
}

// symmetryF compares ∂f_y/∂x with ∂f_x/∂y, and the Jacobians of f_x in x and of f_y in y with their
// transposes.
func (c *checker) symmetryF(grad *oracle, pt point, batch []bilevel.Sample) {
	jx, jy, ok := c.jacobians(grad, pt, batch)
	if !ok {
		return
	}
	n := c.dx + c.dy
	all := &jacobian{m: n, d: append(jx.d, jy.d...), tol: append(jx.tol, jy.tol...), scale: max(jx.scale, jy.scale)}
	c.reportRough(Symmetry, grad, all.rough(0))
	c.symmetric(grad, pt, batch, all, "∂(f_x,f_y)/∂(x,y)")
}

func (c *checker) symmetric(o *oracle, pt point, batch []bilevel.Sample, j *jacobian, quantity string) bool {
	shown := &oracle{name: o.name, blocks: []*block{newBlock(quantity, dense, j.m, j.m)}}
	m := comparison{check: Symmetry, o: shown, pt: pt, batch: batch, against: "the transposed entry",
		got: make([]float64, j.m*j.m), want: make([]float64, j.m*j.m), tol: make([]float64, j.m*j.m)}
	for a := range j.m {
		for b := range j.m {
			// Entry (a, b) is ∂out_a/∂z_b.
			k, t := a*j.m+b, b*j.m+a
			m.got[k], m.want[k], m.tol[k] = j.d[t], j.d[k], j.tol[t]+j.tol[k]
			if a <= b {
				m.tol[k] = math.Inf(1)
			}
		}
	}
	return c.judge(m)
}

// derivativesG compares g_y with differences of g, and g_xy and g_yy with those of g_y.
func (c *checker) derivativesG() {
	grad, value := c.oracle("GradG"), c.oracle("ValueG")
	cross, hess := c.oracle("CrossG"), c.oracle("HessG")
	if !c.usable(grad, Derivative) {
		c.log.gap(Derivative, cross.name, "GradG: %s", grad.bad)
		c.log.gap(Derivative, hess.name, "GradG: %s", grad.bad)
		return
	}
	c.usable(cross, Derivative)
	c.usable(hess, Derivative)
	if c.valued(grad, value,
		"it is only checked together with g_xy and g_yy, which do not see a wrong constant") {
		for _, pt := range c.points {
			for _, batch := range c.batches(grad, pt) {
				jy, ok := c.slopes(value, pt, batch, pt.y)
				got, ok1 := c.eval(grad, pt, batch)
				if ok && ok1 {
					c.compare(Derivative, grad, pt, batch, got, "the differences of ValueG", jy)
				}
			}
		}
	}
	for _, pt := range c.points {
		for _, batch := range c.batches(grad, pt) {
			c.secondDerivatives(grad, cross, hess, pt, batch)
		}
	}
}

func (c *checker) secondDerivatives(grad, cross, hess *oracle, pt point, batch []bilevel.Sample) {
	const against = "the differences of GradG"
	var all []comparison
	if jx, ok := c.slopes(grad, pt, batch, pt.x); !ok {
		c.log.gap(Derivative, cross.name, "the differences of GradG fail at point %d", pt.index)
	} else if got, ok := c.eval(cross, pt, batch); ok {
		all = append(all, c.comparison(Derivative, cross, pt, batch, got, against, jx))
	}
	if jy, ok := c.slopes(grad, pt, batch, pt.y); !ok {
		c.log.gap(Derivative, hess.name, "the differences of GradG fail at point %d", pt.index)
	} else {
		got, ok := c.eval(hess, pt, batch)
		c.reportRough(Symmetry, grad, jy.rough(maxAbs(got)))
		c.symmetric(grad, pt, batch, jy, "∂g_y/∂y")
		if ok {
			// One triangle is enough, and says nothing where g_y itself is not symmetric.
			for i := range c.dy {
				for j := range c.dy {
					k, t := i*c.dy+j, j*c.dy+i
					if j > i || !(math.Abs(jy.d[k]-jy.d[t]) <= jy.tol[k]+jy.tol[t]) {
						jy.tol[k] = math.Inf(1)
					}
				}
			}
			all = append(all, c.comparison(Derivative, hess, pt, batch, got, against, jy))
		}
	}
	c.judgeSecond(grad, all)
}

// judgeSecond judges g_xy and g_yy, unless g_y is wrong: g says so, it is not symmetric, or both
// miss it by one factor.
func (c *checker) judgeSecond(grad *oracle, all []comparison) {
	if c.log.wrong(Derivative, grad.name) || c.log.wrong(Symmetry, grad.name) {
		for _, m := range all {
			if len(m.wrong()) > 0 {
				c.log.gap(Derivative, m.o.name, "it differs from the differences of GradG, which is wrong itself")
			} else {
				c.judge(m)
			}
		}
		return
	}
	if len(all) == 2 && len(all[0].wrong()) > 0 && len(all[1].wrong()) > 0 && !c.log.clean(Derivative, grad.name) {
		r0, ok0 := all[0].ratio()
		r1, ok1 := all[1].ratio()
		if ok0 && ok1 && math.Abs(r0-r1) < 1e-4*math.Abs(r0) {
			f := grad.finding(Derivative, all[0].pt, all[0].batch, 0)
			f.I, f.Got, f.Want, f.Tol = -1, 1, r0, 1e-4
			f.Message = fmt.Sprintf("both g_xy and g_yy are %.3g times its differences: the factor is missing "+
				"here, or wrong in both", r0)
			c.log.find(f)
			return
		}
	}
	for _, m := range all {
		c.judge(m)
	}
}

// derivativeXG compares g_x with differences of g; without Values, by mixed.
func (c *checker) derivativeXG() {
	grad, value, cross := c.oracle("GradXG"), c.oracle("ValueG"), c.oracle("CrossG")
	if grad == nil || !c.usable(grad, Derivative) {
		return
	}
	valued := c.valued(grad, value, "only its Jacobian in y is checked, which does not see what depends on x alone")
	for _, pt := range c.points {
		for _, batch := range c.batches(grad, pt) {
			if !valued {
				c.mixed(grad, cross, pt, batch)
				continue
			}
			jx, ok := c.slopes(value, pt, batch, pt.x)
			if got, ok1 := c.eval(grad, pt, batch); ok && ok1 {
				c.compare(Derivative, grad, pt, batch, got, "the differences of ValueG", jx)
			}
		}
	}
}

func (c *checker) mixed(grad, cross *oracle, pt point, batch []bilevel.Sample) {
	if why := c.doubt(cross.name); why != "" {
		c.log.gap(Symmetry, grad.name, "%s", why)
		return
	}
	want, ok := c.eval(cross, pt, batch)
	jy, ok1 := c.slopes(grad, pt, batch, pt.y)
	if !ok || !ok1 {
		c.log.gap(Symmetry, grad.name, "its differences fail at point %d", pt.index)
		return
	}
	c.reportRough(Symmetry, grad, jy.rough(maxAbs(want)))
	shown := &oracle{name: grad.name, blocks: []*block{newBlock("∂g_x/∂y", dense, c.dx, c.dy)}}
	m := comparison{check: Symmetry, o: shown, pt: pt, batch: batch, against: "CrossG",
		got: make([]float64, len(want)), want: want, tol: make([]float64, len(want))}
	for i := range c.dx {
		for j := range c.dy {
			k, t := i*c.dy+j, j*c.dx+i
			m.got[k], m.tol[k] = jy.d[t], jy.tol[t]
		}
	}
	c.judge(m)
}

// batches are those for differences: two single samples, and a simulator's exact value.
func (c *checker) batches(o *oracle, pt point) [][]bilevel.Sample {
	s := pt.names[o.stream]
	b := [][]bilevel.Sample{{s[0]}, {s[1]}}
	if c.sizes[o.stream] == 0 && !o.noExact {
		b = append(b, nil)
	}
	return b
}

// slopes differentiates o in z, which is pt.x or pt.y.
func (c *checker) slopes(o *oracle, pt point, batch []bilevel.Sample, z []float64) (*jacobian, bool) {
	eval := func() ([]float64, bool) { return c.eval(o, pt, batch) }
	if &z[0] == &pt.y[0] {
		return c.differentiate(eval, z, c.stepsY(z))
	}
	steps, inside := c.stepsX(z)
	c.outside = !inside
	defer func() { c.outside = false }()
	return c.differentiate(eval, z, steps)
}

func (c *checker) jacobians(o *oracle, pt point, batch []bilevel.Sample) (jx, jy *jacobian, ok bool) {
	jx, ok1 := c.slopes(o, pt, batch, pt.x)
	jy, ok2 := c.slopes(o, pt, batch, pt.y)
	if !ok1 || !ok2 {
		c.log.gap(Derivative, o.name, "its differences fail at point %d", pt.index)
	}
	return jx, jy, ok1 && ok2
}

// compare judges the values of an oracle by the derivatives that they should be, in the same order.
func (c *checker) compare(check string, o *oracle, pt point, batch []bilevel.Sample, got []float64, against string,
	js ...*jacobian) bool {
	return c.judge(c.comparison(check, o, pt, batch, got, against, js...))
}

func (c *checker) comparison(check string, o *oracle, pt point, batch []bilevel.Sample, got []float64, against string,
	js ...*jacobian) comparison {
	m := comparison{check: check, o: o, pt: pt, batch: batch, got: got, against: against}
	rough := 0
	for _, j := range js {
		rough += j.rough(maxAbs(got))
		m.want, m.tol = append(m.want, j.d...), append(m.tol, j.tol...)
	}
	c.reportRough(check, o, rough)
	return m
}

func (c *checker) reportRough(check string, o *oracle, n int) {
	if n > 0 {
		c.log.gap(check, o.name,
			"differences are too rough to judge by, for %d entries or more: is it smooth on the scales ScaleX "+
				"and ScaleY?", n)
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

// usable reports whether o can be checked, and notes it if not.
func (c *checker) usable(o *oracle, check string) bool {
	if o.bad != "" {
		c.log.gap(check, o.name, "%s", o.bad)
	}
	return o.bad == ""
}
