package check

import (
	"math"

	"stable/bilevel"
	"stable/chol"
	"stable/mat"
)

func (c *checker) truth() {
	p, ok := c.p.(bilevel.Truth)
	if !ok {
		return
	}
	if c.o.NoTruth {
		c.log.skip(Skip{Truth, "Objective", "Options.NoTruth", false})
		return
	}
	start := make([]float64, c.dy)
	ys := newBlock("y*", vector, 1, c.dy)
	solution := &oracle{name: "Solution", blocks: []*block{ys}}
	solution.call = func(x, y []float64, _ []bilevel.Sample) error {
		copy(ys.vec(), start)
		return p.Solution(ys.vec(), x)
	}
	f := newBlock("F", scalar, 1, 1)
	df := newBlock("∇F", vector, 1, c.dx)
	value := &oracle{name: "Objective", blocks: []*block{f}}
	value.call = func(x, _ []float64, _ []bilevel.Sample) (err error) {
		f.vec()[0], err = p.Objective(nil, x)
		return err
	}
	gradient := &oracle{name: "Objective", blocks: []*block{df, f}, fill: math.NaN()}
	gradient.call = func(x, _ []float64, _ []bilevel.Sample) (err error) {
		f.vec()[0], err = p.Objective(df.vec(), x)
		return err
	}
	for _, pt := range c.points {
		copy(start, pt.y)
		y, ok := c.eval(solution, pt)
		if !ok {
			c.log.gap(Truth, solution.name, "%s", reason(solution))
			continue
		}
		star := point{index: pt.index, x: pt.x, y: y, names: pt.names}
		clear(start)
		again, ok := c.eval(solution, pt)
		solved := ok && c.close(solution, star, again, y, max(maxAbs(y), c.o.ScaleY),
			"the solution from another start") &&
			c.stationary(solution, star)
		c.objective(value, gradient, star)
		if solved {
			c.hypergradient(gradient, star)
		}
	}
}

func reason(o *oracle) string {
	if o.bad != "" {
		return o.bad
	}
	return "it returns ErrNoExact"
}

func (c *checker) close(o *oracle, pt point, got, want []float64, scale float64, against string) bool {
	return c.judge(comparison{check: Truth, o: o, pt: pt, got: got, want: want, tol: c.level(len(got), 1e-8*scale),
		against: against})
}

func (c *checker) factor(pt point) (*chol.Cholesky, bool) {
	h, ok := c.meanOf(c.oracle("HessG"), pt)
	if !ok {
		return nil, false
	}
	f := new(chol.Cholesky)
	return f, f.Factor(mat.SymOf(c.dy, h)) == nil
}

func (c *checker) stationary(solution *oracle, star point) bool {
	if why := c.doubt("GradG", "HessG"); why != "" {
		c.log.gap(Truth, solution.name, "%s", why)
		return false
	}
	gy, ok := c.meanOf(c.oracle("GradG"), star)
	f, ok1 := c.factor(star)
	if !ok || !ok1 {
		c.log.gap(Truth, solution.name, "no mean of g_y and positive definite mean of g_yy to hold it against")
		return false
	}
	f.SolveVec(gy, gy)
	want := make([]float64, c.dy)
	for j := range want {
		want[j] = star.y[j] - gy[j]
	}
	return c.close(solution, star, star.y, want, max(maxAbs(star.y), c.o.ScaleY), "a Newton step on g_y = 0")
}

// objective compares F with gradient, F without, f(x, y*(x)), and ∇F with differences of F.
func (c *checker) objective(value, gradient *oracle, star point) {
	both, ok := c.eval(gradient, star)
	alone, ok1 := c.eval(value, star)
	if !ok || !ok1 {
		c.log.gap(Truth, gradient.name, "%s", reason(gradient))
		return
	}
	n := c.dx
	scale := max(math.Abs(both[n]), maxAbs(both[:n])*c.o.ScaleX)
	c.close(value, star, alone, both[n:], scale, "the value that comes with the gradient")
	if o := c.oracle("ValueF"); o != nil && c.doubt("ValueF", "GradF") == "" && !c.log.wrong(Truth, "Solution") {
		if f, ok := c.meanOf(o, star); ok {
			c.close(value, star, alone, f, scale, "f(x, y*(x))")
		}
	}
	if j, ok := c.jacobian(value, star, true, false); ok {
		only := &oracle{name: gradient.name, blocks: gradient.blocks[:1]}
		c.judge(c.against(Truth, only, star, both[:n], "the differences of F", j))
	}
}

// hypergradient compares ∇F with f_x − g_xy g_yy⁻¹ f_y at (x, y*(x)) (proposition 1 of the paper).
func (c *checker) hypergradient(gradient *oracle, star point) {
	if why := c.doubt("GradF", "CrossG", "HessG"); why != "" {
		c.log.gap(Truth, gradient.name, "%s", why)
		return
	}
	grad, ok := c.meanOf(c.oracle("GradF"), star)
	cross, ok1 := c.meanOf(c.oracle("CrossG"), star)
	f, ok2 := c.factor(star)
	got, ok3 := c.eval(gradient, star)
	if !ok || !ok1 || !ok2 || !ok3 {
		c.log.gap(Truth, gradient.name, "no means of f_x, f_y, g_xy and g_yy to hold ∇F against")
		return
	}
	want, fy := grad[:c.dx], grad[c.dx:]
	f.SolveVec(fy, fy)
	scale := maxAbs(want)
	for i := range want {
		for j, v := range fy {
			want[i] -= cross[i*c.dy+j] * v
			scale = max(scale, math.Abs(cross[i*c.dy+j]*v))
		}
	}
	only := &oracle{name: gradient.name, blocks: gradient.blocks[:1]}
	c.close(only, star, got[:c.dx], want, scale, "f_x − g_xy g_yy⁻¹ f_y")
}
