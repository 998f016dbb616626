package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/eig"
	"stable/mat"
)

// products compares products with one vector v, entry by entry.
func (c *checker) products() {
	for _, p := range []struct{ vec, matrix string }{{"HessVecG", "HessG"}, {"CrossVecG", "CrossG"}} {
		vec, matrix := c.oracle(p.vec), c.oracle(p.matrix)
		if vec == nil || !c.usable(Product, vec, p.matrix) {
			continue
		}
		for _, pt := range c.places(vec, true) {
			got, a := c.eval(vec, pt), c.eval(matrix, pt)
			if got == nil || a == nil {
				continue
			}
			want := make([]float64, len(got))
			mat.MulVec(want, mat.DenseOf(len(got), c.dy, a), c.vec)
			tol := 1e-9 * maxAbs(a) * maxAbs(c.vec) * math.Sqrt(float64(c.dy))
			m := comparison{check: Product, o: vec, pt: pt, got: got, want: want, tol: level(len(got), tol)}
			if bad, _ := m.wrong(); len(bad) == 0 {
				c.judge(m)
			} else if c.columns(vec, matrix, pt, a) {
				c.log.find(vec.whole(Product, vec.blocks[0].quantity, pt,
					"it is not linear in v: right for unit vectors, wrong for their sums"), 0, 0, 0)
			}
		}
	}
}

func (c *checker) joint() {
	o := c.oracle("JointG")
	if o == nil || !c.usable(Product, o, "GradG", "HessVecG", "CrossVecG") {
		return
	}
	for _, pt := range c.places(o, true) {
		var want []float64
		for _, name := range []string{"GradG", "HessVecG", "CrossVecG"} {
			want = append(want, c.eval(c.oracle(name), pt)...)
		}
		if len(want) == o.size() {
			c.judge(comparison{check: Product, o: o, pt: pt, got: c.eval(o, pt), want: want,
				tol: level(len(want), 0), against: "the entry by itself"})
		}
	}
}

func (c *checker) columns(vec, matrix *oracle, pt point, a []float64) bool {
	v, rows := slices.Clone(c.vec), vec.size()
	defer copy(c.vec, v)
	m := comparison{check: Product, o: shown(vec, matrix.blocks[0].quantity, rows, c.dy), pt: pt,
		got: make([]float64, rows*c.dy), want: a, tol: level(rows*c.dy, 1e-9*maxAbs(a)),
		against: "the entry of " + matrix.name}
	for j := range c.dy {
		clear(c.vec)
		c.vec[j] = 1
		column := c.eval(vec, pt)
		if column == nil {
			return false
		}
		for i, e := range column {
			m.got[i*c.dy+j] = e
		}
	}
	return c.judge(m)
}

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

// least wants the smallest eigenvalue of h ≥ want up to noise and rounding, or, if strict and
// without noise, above it by more than rounding.
func (c *checker) least(o *oracle, pt point, h []float64, noise, want float64, strict bool, message string) {
	var j eig.Jacobi
	s, d := mat.SymOf(c.dy, slices.Clone(h)), make([]float64, c.dy)
	for i := range d {
		if d[i] = 1; strict && noise == 0 && s.At(i, i) > 0 { // else, where units differ, it would be rounding
			d[i] = 1 / math.Sqrt(s.At(i, i))
		}
		for k := range i + 1 {
			s.Set(i, k, s.At(i, k)*d[i]*d[k])
		}
	}
	if err := j.Factor(s); err != nil {
		c.log.gap(Convexity, o.name, "%v", err)
		return
	}
	least, top := j.Values()[0], maxAbs(j.Values())
	slack := noise + 16*float64(c.dy)*eps*top
	if least >= want-slack && (!strict || slack > 1e-9*top || least > slack) {
		c.log.pass(Convexity, o.name, 1)
		return
	}
	c.log.find(o.whole(Convexity, "λ_min(g_yy)", pt, message), least, want, slack)
}

// promise holds single samples to ConvexityAt, unless that is −Inf.
func (c *checker) promise() {
	p, ok := c.p.(bilevel.StronglyConvex)
	hess, s := c.oracle("HessG"), newScalar("s")
	if !ok || !c.usable(Convexity, hess) {
		return
	}
	none := false
	o := &oracle{name: "ConvexityAt", blocks: []*block{s}, want: "want a number, or −Inf for no promise"}
	o.call = func() error {
		*s.at(0) = p.ConvexityAt(c.x)
		if none = math.IsInf(*s.at(0), -1); none {
			*s.at(0) = 0
		}
		return nil
	}
	for _, pt := range c.points {
		least := c.eval(o, pt)
		for _, name := range pt.names[lower] {
			if h := c.eval(hess, pt.of(name)); h != nil && least != nil && !none {
				c.least(o, pt.of(name), h, 0, least[0], false, "g of one sample is less convex in y than promised")
			}
		}
	}
}

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

func (c *checker) truth() {
	p, ok := c.p.(bilevel.Truth)
	if !ok {
		return
	}
	if err := guard(func() error { return p.Solution(slices.Clone(c.points[0].y), c.points[0].x) }); errors.Is(err, bilevel.ErrMissing) {
		return
	}
	start, y, f, df := make([]float64, c.dy), newVec("y*", c.dy), newScalar("F"), newVec("∇F", c.dx)
	solution := &oracle{name: "Solution", blocks: []*block{y}, call: func() error {
		copy(y.row(0), start)
		return p.Solution(y.row(0), c.x)
	}}
	value := &oracle{name: "Objective", blocks: []*block{f},
		call: func() error { return f.set(p.Objective(nil, c.x)) }}
	gradient := &oracle{name: "Objective", blocks: []*block{df, f}, fill: math.NaN(),
		call: func() error { return f.set(p.Objective(df.row(0), c.x)) }}
	for _, pt := range c.points {
		copy(start, pt.y)
		star := pt
		if star.y = c.eval(solution, pt); star.y == nil {
			c.unknown(solution)
			continue
		}
		clear(start)
		scale := max(maxAbs(star.y), c.o.ScaleY)
		same := c.close(solution, star, c.eval(solution, pt), star.y, scale, "the solution from another start")
		both, alone := c.eval(gradient, star), c.eval(value, star)
		if both == nil || alone == nil {
			c.unknown(gradient)
		} else {
			size := max(math.Abs(both[c.dx]), maxAbs(both[:c.dx])*c.o.ScaleX)
			c.close(value, star, alone, both[c.dx:], size, "the value that comes with the gradient")
			j := c.jacobian(value, star, true, false)
			c.judge(c.against(Truth, gradient, star, both[:c.dx], "the differences of F", j))
		}
		if same {
			c.implicit(solution, value, gradient, star, scale, alone, both)
		}
	}
}

func (c *checker) unknown(o *oracle) {
	c.log.gap(Truth, o.name, "%s", cmp.Or(o.bad, "it returns ErrNoExact"))
}

func (c *checker) close(o *oracle, pt point, got, want []float64, scale float64, against string) bool {
	return c.judge(comparison{check: Truth, o: o, pt: pt, got: got, want: want, tol: level(len(got), 1e-8*scale),
		against: against})
}

func (c *checker) implicit(solution, value, gradient *oracle, star point, scale float64, alone, both []float64) {
	if !c.usable(Truth, solution, "GradG", "HessG") {
		return
	}
	f, x, y, want, fStar := implicit.New(c.p), slices.Clone(star.x), slices.Clone(star.y), make([]float64, c.dx), 0.0
	for batch, o := range map[*[]bilevel.Sample]*oracle{&f.Xi: c.oracle("GradF"), &f.Phi: c.oracle("GradG")} {
		if c.enumerable(o) {
			*batch = c.many(o)
		}
	}
	if err := guard(func() error { return f.Solve(y, x, 0) }); err != nil {
		c.log.gap(Truth, solution.name, "nothing to hold it against: %v", err)
		return
	}
	solved := c.close(solution, star, star.y, y, scale, "Newton's method on g_y = 0")
	if both == nil || !solved || !c.usable(Truth, gradient, "GradF", "CrossG", "CrossVecG") {
		return
	}
	err := guard(func() (err error) { fStar, err = f.Gradient(want, x, y); return err })
	if err != nil {
		c.log.gap(Truth, gradient.name, "nothing to hold it against: %v", err)
		return
	}
	top := max(maxAbs(want), maxAbs(c.meanOf(c.oracle("GradF"), star)))
	c.close(gradient, star, both[:c.dx], want, top, "f_x − g_xy g_yy⁻¹ f_y")
	if c.oracle("ValueF") != nil && c.doubt("ValueF") == "" {
		c.close(value, star, alone, []float64{fStar}, max(math.Abs(fStar), top*c.o.ScaleX), "f(x, y*(x))")
	}
}
