package check

import (
	"math"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// convexity checks the smallest eigenvalue of the mean of g_yy, up to four standard errors of
// draws: it moves by at most the Frobenius norm of the error (Weyl).
func (c *checker) convexity() {
	o := c.oracle("HessG")
	if !c.usable(Convexity, o) {
		return
	}
	for _, pt := range c.points {
		mean, noise := c.meanOf(o, pt), 0.0
		if mean == nil {
			a := c.singles(o, pt)
			if a == nil {
				continue
			}
			mean, noise = a.mean, 4*mat.Norm(a.se)
		}
		message := "g is not as strongly convex in y as it should be"
		if c.o.MuG == 0 {
			message = "g is not strongly convex in y: the smallest eigenvalue must be above 0"
		}
		c.least(&oracle{name: o.name}, pt, mean, noise, c.o.MuG, c.o.MuG == 0, message)
	}
}

// least wants the smallest eigenvalue of h to be at least want up to noise and rounding, or, if
// strict, above it by more than rounding where there is no noise.
func (c *checker) least(o *oracle, pt point, h []float64, noise, want float64, strict bool, message string) {
	var j eig.Jacobi
	if err := j.Factor(mat.SymOf(c.dy, h)); err != nil {
		c.log.gap(Convexity, o.name, "%v", err)
		return
	}
	least, top := j.Values()[0], maxAbs(j.Values())
	slack := noise + 16*float64(c.dy)*eps*top*c.o.Tol
	if least >= want-slack && (!strict || slack > 1e-9*top || least > slack) {
		c.log.pass(Convexity, o.name, 1)
		return
	}
	c.log.find(o.whole(Convexity, "λ_min(g_yy)", pt, message), least, want, slack)
}

// promise holds single samples to ConvexityAt.
func (c *checker) promise() {
	p, ok := c.p.(bilevel.StronglyConvex)
	hess := c.oracle("HessG")
	if !ok || !c.usable(Convexity, hess) {
		return
	}
	o := &oracle{name: "ConvexityAt"}
	for _, pt := range c.points {
		var s float64
		copy(c.x, pt.x)
		if err := guard(func() error { s = p.ConvexityAt(c.x); return nil }); err != nil {
			c.log.find(o.whole(Call, "s", pt, err.Error()), 0, 0, 0)
			return
		}
		c.unmodified(o, pt, "x", c.x, pt.x)
		if math.IsNaN(s) || math.IsInf(s, 1) {
			c.log.find(o.whole(Finite, "s", pt, "want a number, or −Inf for no promise"), s, 0, 0)
			return
		}
		for _, name := range pt.names[lower] {
			if h := c.eval(hess, pt.of(name)); h != nil && !math.IsInf(s, -1) {
				c.least(o, pt.of(name), h, 0, s, false, "g of one sample is less convex in y than promised")
			}
		}
	}
}
