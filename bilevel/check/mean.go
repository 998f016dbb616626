package check

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/eig"
	"stable/mat"
)

// average is the mean of an oracle's single samples at a point.
type average struct {
	mean  []float64
	whole bool // over the whole sum
	n     int

	// Of draws only: the standard error, and how many draws count, (Σd²)²/Σd⁴ for deviations d from
	// the mean.
	se, effective []float64
}

// many returns every sample of a finite sum that is not too long, or Options.Samples draws.
func (c *checker) many(o *oracle) (names []bilevel.Sample) {
	n := c.sizes[o.stream]
	if !c.enumerable(o) {
		n = uint64(c.o.Samples)
	}
	for i := range n {
		if names = append(names, bilevel.Sample(i)); !c.enumerable(o) {
			names[i] = c.name(o.stream)
		}
	}
	return names
}

// singles averages single samples at a point, by powers of deviations from the first, in units of
// its largest entry: no cancellation, no overflow.
func (c *checker) singles(o *oracle, pt point) (*average, bool) {
	names := c.many(o)
	a, m := &average{n: len(names), whole: c.enumerable(o)}, o.size()
	origin, unit := make([]float64, m), 1.0
	var s [4][]float64
	for k := range s {
		s[k] = make([]float64, m)
	}
	for i, name := range names {
		out, ok := c.eval(o, pt.of(name))
		if !ok {
			return nil, false
		}
		if i == 0 {
			origin = out
			if top := maxAbs(out); top > 0 {
				unit = top
			}
		}
		for e, v := range out {
			d := (v - origin[e]) / unit
			s[0][e] += d
			s[1][e] += d * d
			s[2][e] += d * d * d
			s[3][e] += d * d * d * d
		}
	}
	n := float64(a.n)
	a.mean, a.se, a.effective = make([]float64, m), make([]float64, m), make([]float64, m)
	for e := range m {
		d := s[0][e] / n
		a.mean[e] = origin[e] + unit*d
		// Central moments from those about the origin.
		m2 := max(s[1][e]/n-d*d, 0)
		m4 := s[3][e]/n - 4*d*s[2][e]/n + 6*d*d*s[1][e]/n - 3*d*d*d*d
		a.se[e] = unit * math.Sqrt(m2/(n-1))
		if m4 > 0 {
			a.effective[e] = n * m2 * m2 / m4
		}
	}
	return a, true
}

// unbiased compares exact values with means over samples. Bonferroni: FalseAlarm is shared out among
// all entries of the two-sided tests.
func (c *checker) unbiased() {
	pt, entries := c.points[0], 0
	for _, o := range c.oracles {
		if o.bad == "" && !o.noExact && !c.enumerable(o) {
			entries += o.size()
		}
	}
	z := math.Sqrt2 * math.Erfcinv(FalseAlarm/float64(max(entries, 1)))
	for _, o := range c.oracles {
		if o.noExact || !c.usable(o, Unbiased) {
			continue
		}
		if exact, ok := c.eval(o, pt); ok {
			if a, ok := c.singles(o, pt); ok {
				c.judgeMean(o, pt, exact, a, z)
			}
		}
	}
}

func (c *checker) enumerable(o *oracle) bool {
	n := c.sizes[o.stream]
	return n > 0 && n <= c.o.MaxTerms
}

func (c *checker) judgeMean(o *oracle, pt point, exact []float64, a *average, z float64) {
	const few = 100 // effective draws
	least := float64(few)
	m := comparison{check: Unbiased, o: o, pt: pt, got: exact, want: a.mean, tol: make([]float64, len(exact)),
		against: "the mean over all samples"}
	limit := 1e-9 * c.o.Tol * max(maxAbs(exact), maxAbs(a.mean))
	rare := 0
	for e := range m.tol {
		m.tol[e] = limit
		if a.whole {
			continue
		}
		m.tol[e] += z * c.o.Tol * a.se[e]
		constant := a.se[e]*math.Sqrt(float64(a.n)) <= limit
		switch {
		case constant && c.sizes[o.stream] == 0: // no noise there, as far as the draws can tell
		case constant && math.Abs(exact[e]-a.mean[e]) <= limit:
		case a.effective[e] < few:
			m.tol[e] = math.Inf(1)
			rare++
			least = min(least, a.effective[e])
		}
	}
	if !a.whole {
		m.against = "the mean over draws"
	}
	if rare > 0 {
		c.log.gap(Unbiased, o.name, "%d of %d entries have too few draws that count, the least %.0f of %d: %s",
			rare, len(m.tol), least, a.n, c.more(o, least/few))
	}
	c.judge(m)
}

// more says what to raise where a share of the draws that it takes were there: a half more.
func (c *checker) more(o *oracle, share float64) string {
	text := "raise Samples"
	if n := 1.5 * float64(c.o.Samples) / share; n < 1e9 {
		text += fmt.Sprintf(" to %.0f or more", math.Ceil(n/100)*100)
	}
	if n := c.sizes[o.stream]; n > 0 {
		text += fmt.Sprintf(", or MaxTerms to %d", n)
	}
	return text
}

// meanOf returns the exact value of o, or the mean over a finite sum.
func (c *checker) meanOf(o *oracle, pt point) ([]float64, bool) {
	if out, ok := c.eval(o, pt.of()); ok {
		return out, true
	}
	if o.bad != "" || !c.enumerable(o) {
		return nil, false
	}
	if a, ok := c.singles(o, pt); ok {
		return a.mean, true
	}
	return nil, false
}

// convexity checks the smallest eigenvalue of the mean of g_yy, up to four standard errors of
// draws: it moves by at most the Frobenius norm of the error (Weyl).
func (c *checker) convexity() {
	o := c.oracle("HessG")
	if !c.usable(o, Convexity) {
		return
	}
	for _, pt := range c.points {
		mean, ok := c.meanOf(o, pt)
		noise := 0.0
		if !ok {
			a, ok := c.singles(o, pt)
			if !ok {
				continue
			}
			mean, noise = a.mean, 4*mat.Norm(a.se)
		}
		// Without MuG, an eigenvalue within rounding of 0 is not positive; one within noise of 0 may be.
		message := "g is not as strongly convex in y as it should be"
		if c.o.MuG == 0 {
			message = "g is not strongly convex in y: the smallest eigenvalue must be above 0"
		}
		c.least(&oracle{name: o.name}, pt, mean, noise, c.o.MuG, c.o.MuG == 0, message)
	}
}

// least wants the smallest eigenvalue of h to be at least want up to noise and rounding, or, if
// strict, above it where there is no noise.
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
	f := o.whole(Convexity, "λ_min(g_yy)", pt, message)
	f.Got, f.Want, f.Tol, f.severity = least, want, slack, want-least
	c.log.find(f)
}

func (c *checker) promise() {
	p, ok := c.p.(bilevel.StronglyConvex)
	hess := c.oracle("HessG")
	if !ok || !c.usable(hess, Convexity) {
		return
	}
	o := &oracle{name: "ConvexityAt"}
	for _, pt := range c.points {
		var s float64
		copy(c.x, pt.x)
		if err := guard(func() error { s = p.ConvexityAt(c.x); return nil }); err != nil {
			c.log.find(o.whole(Call, "s", pt, err.Error()))
			return
		}
		c.unmodified(o, pt, "x", c.x, pt.x)
		switch {
		case math.IsNaN(s) || math.IsInf(s, 1):
			f := o.whole(Finite, "s", pt, "want a number, or −Inf for no promise")
			f.Got = s
			c.log.find(f)
			return
		case math.IsInf(s, -1):
			continue // there is nothing to hold
		}
		for _, name := range pt.names[lower] {
			if h, ok := c.eval(hess, pt.of(name)); ok {
				c.least(o, pt.of(name), h, 0, s, false, "g of one sample is less convex in y than promised")
			}
		}
	}
}
