package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

func (c *checker) derivatives() {
	c.gradient("GradF", "ValueF", true, true, "only the symmetry of its Jacobian is checked, which does not see a "+
		"wrong factor or constant", func(grad *oracle, pt point) {
		if j := c.jacobian(grad, pt, true, true); c.fit(Symmetry, grad, pt, j, 0) {
			c.symmetric(grad, pt, j, "∂(f_x,f_y)/∂(x,y)")
		}
	})
	c.gradient("GradG", "ValueG", false, true, "it is only checked together with g_xy and g_yy, which do not see a "+
		"wrong constant", nil)
	c.second()
	c.gradient("GradXG", "ValueG", true, false, "only its Jacobian in y is checked, which does not see what depends "+
		"on x alone", c.mixed)
}

// gradient compares a gradient with differences of its value; without one, compare does the rest.
func (c *checker) gradient(name, value string, inX, inY bool, left string, compare func(grad *oracle, pt point)) {
	grad, v := c.oracle(name), c.oracle(value)
	if grad == nil || !c.usable(Derivative, grad) {
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

// differentiable are the places for differences, with the exact value of a simulator, or once that of a sum
// or, if dear, a batch.
func (c *checker) differentiable(o *oracle) []point {
	n, list := c.sizes[o.stream], c.places(o, c.sizes[o.stream] == 0 && !o.noExact)
	noMean := func(f Finding) bool { return f.Check == BatchMean || f.Check == Unbiased }
	most, batch := 1e5/uint64((c.dx+c.dy)*(c.dx+c.dy)), []bilevel.Sample(nil)
	for n > most && len(batch) < int(min(100, most)) {
		batch = append(batch, c.name(o.stream))
	}
	if n > 2 && (len(batch) > 0 || n <= most && !o.noExact) && !slices.ContainsFunc(c.log.Findings, noMean) {
		list = append(list, c.points[0].of(batch...))
	}
	return list
}

func (c *checker) against(check string, o *oracle, pt point, got []float64, what string, j *jacobian) (m comparison) {
	if got != nil && c.fit(check, o, pt, j, maxAbs(got)) {
		m = comparison{check: check, o: o, pt: pt, got: got, want: j.d, tol: j.tol, against: what}
	}
	return m
}

// fit notes the derivatives that say nothing beside entries as large as top, and makes their
// tolerance +Inf; false: there are none.
func (c *checker) fit(check string, o *oracle, pt point, j *jacobian, top float64) bool {
	if j == nil {
		c.log.gap(check, o.name, "differences fail at point %d", pt.index)
		return false
	}
	n, most := 0, 1e-3*max(top, maxAbs(j.d), 1e-6*j.scale)
	for k, t := range j.tol {
		if !math.IsInf(t, 1) && t > most {
			j.tol[k] = math.Inf(1)
			n++
		}
	}
	if n > 0 {
		c.log.gap(check, o.name, "differences are too rough to judge by, for %d entries or more: is it smooth on the "+
			"scales ScaleX and ScaleY?", n)
	}
	return true
}

func (c *checker) symmetric(o *oracle, pt point, j *jacobian, quantity string) {
	m := comparison{check: Symmetry, o: shown(o, quantity, j.m, j.m), pt: pt, want: j.d, against: "the transposed entry"}
	for k, tol := range j.tol {
		t := k%j.m*j.m + k/j.m
		if k <= t {
			tol = math.Inf(1)
		}
		m.got, m.tol = append(m.got, j.d[t]), append(m.tol, tol+j.tol[t])
	}
	c.judge(m)
}

func (c *checker) mixed(grad *oracle, pt point) {
	cross := c.oracle("CrossG")
	if !c.usable(Symmetry, grad, cross.name) {
		return
	}
	want, j := c.eval(cross, pt), c.jacobian(grad, pt, false, true)
	if !c.fit(Symmetry, grad, pt, j, maxAbs(want)) {
		return
	}
	m := comparison{check: Symmetry, o: shown(grad, "∂g_x/∂y", c.dx, c.dy), pt: pt, want: want, against: cross.name}
	for k := range want {
		t := k%c.dy*c.dx + k/c.dy
		m.got, m.tol = append(m.got, j.d[t]), append(m.tol, j.tol[t])
	}
	c.judge(m)
}

// second compares g_xy and g_yy with differences of g_y, whose Jacobian in y must be symmetric.
func (c *checker) second() {
	grad, cross, hess := c.oracle("GradG"), c.oracle("CrossG"), c.oracle("HessG")
	c.usable(Derivative, cross)
	c.usable(Derivative, hess)
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
		}
		c.judgeSecond(grad, xy, c.against(Derivative, hess, pt, got, what, y))
	}
}

// judgeSecond judges g_xy and g_yy, unless g_y is wrong: g says so, it is not symmetric, or both miss it by one factor.
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

func (c *checker) doubt(names ...string) string {
	for _, name := range names {
		if o := c.oracle(name); o != nil && o.bad != "" {
			return name + ": " + o.bad
		}
		if c.log.wrong("", name) {
			return name + " is wrong itself"
		}
	}
	return ""
}

// usable notes a gap where it is false.
func (c *checker) usable(check string, o *oracle, by ...string) bool {
	why := cmp.Or(o.bad, c.doubt(by...))
	if why != "" {
		c.log.gap(check, o.name, "%s", why)
	}
	return why == ""
}

const (
	levels  = 6       // rungs of the ladder of steps
	shrink  = 4       // of one step to the next
	longest = 1e-2    // the longest step, in units of max(|z_k|, scale)
	safety  = 10      // tolerance in units of the estimated error
	floor   = 1e-8    // least tolerance relative to the entry itself
	eps     = 0x1p-52 // spacing of float64 at 1
)

// jacobian holds derivatives of m entries in n variables: d[k*m+e] = ∂out_e/∂z_k, with tolerances.
type jacobian struct {
	m      int
	d, tol []float64
	scale  float64 // of the function, by which zero derivatives are judged
}

// jacobian differentiates o; nil where that fails.
func (c *checker) jacobian(o *oracle, pt point, inX, inY bool) *jacobian {
	j, ok := new(jacobian), true
	if inX {
		steps, inside := c.steps(pt.x)
		c.outside = !inside
		for k := range pt.x {
			ok = ok && c.ladder(j, o, pt, &pt.x[k], steps[k])
		}
		c.outside = false
	}
	if inY {
		for k, v := range pt.y {
			ok = ok && c.ladder(j, o, pt, &pt.y[k], longest*max(math.Abs(v), c.o.ScaleY))
		}
	}
	if !ok {
		return nil
	}
	return j
}

// ladder adds to j the derivatives in *z, an entry of pt that it changes and restores, from the
// steps h, h/4, h/16, … It is false if an evaluation fails.
//
// D(h) = (f(z+h) − f(z−h))/2h has the error c·h² + …, which R(h) = (16 D(h/4) − D(h))/15 removes
// (Richardson; Ridders, Adv. Eng. Softw. 4, 1982). ladder takes the R with the least difference from
// its neighbour plus rounding, some eps of the largest entry or what the shortest steps show.
func (c *checker) ladder(j *jacobian, o *oracle, pt point, z *float64, h float64) bool {
	var central [levels][]float64
	var step [levels]float64
	old, scale := *z, 0.0
	defer func() { *z = old }()
	for l := range levels {
		*z = old + h
		above, width := c.eval(o, pt), *z
		*z = old - h
		below := c.eval(o, pt)
		width -= *z
		if above == nil || below == nil {
			return false
		}
		scale = max(scale, maxAbs(above), maxAbs(below))
		central[l], step[l] = make([]float64, len(above)), h
		for e := range above {
			central[l][e] = (above[e] - below[e]) / width
		}
		h /= shrink
	}
	j.m, j.scale = len(central[0]), max(j.scale, scale/step[0])
	for e := range j.m {
		noise := 8 * eps * scale
		for l := levels - 3; l < levels; l++ {
			noise = max(noise, math.Abs(central[l][e]-central[l-1][e])*step[l])
		}
		r := func(l int) float64 { return (shrink*shrink*central[l+1][e] - central[l][e]) / (shrink*shrink - 1) }
		best, least := 0.0, math.Inf(1)
		for l := range levels - 1 {
			if err := math.Abs(r(l)-r(max(l-1, 1-l))) + noise/step[l+1]; err < least {
				least, best = err, r(l)
			}
		}
		j.d, j.tol = append(j.d, best), append(j.tol, safety*least+floor*math.Abs(best))
	}
	return true
}

// steps returns the longest steps from x that stay in X; false: for some entries, hardly any would.
func (c *checker) steps(x []float64) (steps []float64, inside bool) {
	p := make([]float64, len(x))
	leaves := func(i int, h float64) bool {
		z := slices.Clone(x)
		z[i] += h
		c.o.Set.Project(p, z)
		mat.Axpy(p, -1, z)
		return maxAbs(p) > 1e-6*math.Abs(h)
	}
	inside = true
	for i, v := range x {
		long := longest * max(math.Abs(v), c.o.ScaleX)
		h, tries := long, 0
		for ; tries < 10 && (leaves(i, h) || leaves(i, -h)); tries++ {
			h /= shrink
		}
		if tries == 10 {
			h, inside = long, false
		}
		steps = append(steps, h)
	}
	return steps, inside
}
