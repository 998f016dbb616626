package check

import (
	"cmp"
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
	start, y, f, df := make([]float64, c.dy), newVec("y*", c.dy), newScalar("F"), newVec("∇F", c.dx)
	solution := &oracle{name: "Solution", blocks: []*block{y}, call: func() error {
		copy(y.row(0), start)
		return p.Solution(y.row(0), c.x)
	}}
	value := &oracle{name: "Objective", blocks: []*block{f}, call: func() (err error) {
		*f.at(0), err = p.Objective(nil, c.x)
		return err
	}}
	gradient := &oracle{name: "Objective", blocks: []*block{df, f}, fill: math.NaN(), call: func() (err error) {
		*f.at(0), err = p.Objective(df.row(0), c.x)
		return err
	}}
	for _, pt := range c.points {
		copy(start, pt.y)
		star := pt
		if star.y = c.eval(solution, pt); star.y == nil {
			c.unknown(solution)
			continue
		}
		clear(start)
		scale := max(maxAbs(star.y), c.o.ScaleY)
		solved := c.close(solution, star, c.eval(solution, pt), star.y, scale, "the solution from another start") &&
			c.stationary(solution, star, scale)
		c.objective(value, gradient, star)
		if solved {
			c.hypergradient(gradient, star)
		}
	}
}

func (c *checker) unknown(o *oracle) {
	c.log.gap(Truth, o.name, "%s", cmp.Or(o.bad, "it returns ErrNoExact"))
}

func (c *checker) close(o *oracle, pt point, got, want []float64, scale float64, against string) bool {
	return c.judge(comparison{check: Truth, o: o, pt: pt, got: got, want: want, tol: c.level(len(got), 1e-8*scale),
		against: against})
}

// factor factors the mean of g_yy, and is nil where there is none, or it is not positive definite.
func (c *checker) factor(pt point) *chol.Cholesky {
	h, f := c.meanOf(c.oracle("HessG"), pt), new(chol.Cholesky)
	if h == nil || f.Factor(mat.SymOf(c.dy, h)) != nil {
		return nil
	}
	return f
}

func (c *checker) stationary(solution *oracle, star point, scale float64) bool {
	if !c.usable(Truth, solution, "GradG", "HessG") {
		return false
	}
	want, f := c.meanOf(c.oracle("GradG"), star), c.factor(star)
	if want == nil || f == nil {
		c.log.gap(Truth, solution.name, "no mean of g_y and positive definite mean of g_yy to hold it against")
		return false
	}
	f.SolveVec(want, want)
	for j, y := range star.y {
		want[j] = y - want[j]
	}
	return c.close(solution, star, star.y, want, scale, "a Newton step on g_y = 0")
}

func (c *checker) objective(value, gradient *oracle, star point) {
	both, alone, n := c.eval(gradient, star), c.eval(value, star), c.dx
	if both == nil || alone == nil {
		c.unknown(gradient)
		return
	}
	scale := max(math.Abs(both[n]), maxAbs(both[:n])*c.o.ScaleX)
	c.close(value, star, alone, both[n:], scale, "the value that comes with the gradient")
	if o := c.oracle("ValueF"); o != nil && c.doubt("ValueF", "GradF") == "" && !c.log.wrong(Truth, "Solution") {
		c.close(value, star, alone, c.meanOf(o, star), scale, "f(x, y*(x))")
	}
	c.judge(c.against(Truth, gradient, star, both[:n], "the differences of F", c.jacobian(value, star, true, false)))
}

// hypergradient compares ∇F with f_x − g_xy g_yy⁻¹ f_y at (x, y*(x)) (proposition 1 of the paper).
func (c *checker) hypergradient(gradient *oracle, star point) {
	if !c.usable(Truth, gradient, "GradF", "CrossG", "HessG") {
		return
	}
	grad, cross, f := c.meanOf(c.oracle("GradF"), star), c.meanOf(c.oracle("CrossG"), star), c.factor(star)
	got := c.eval(gradient, star)
	if grad == nil || cross == nil || f == nil || got == nil {
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
	c.close(gradient, star, got[:c.dx], want, scale, "f_x − g_xy g_yy⁻¹ f_y")
}
