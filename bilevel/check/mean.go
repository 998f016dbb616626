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
	if c.enumerable(o) {
		for i := range c.sizes[o.stream] {
			names = append(names, bilevel.Sample(i))
		}
		return names
	}
	for range c.o.Samples {
		names = append(names, c.name(o.stream))
	}
	return names
}

func (c *checker) singles(o *oracle, pt point) (*average, bool) {
	names := c.many(o)
	a := &average{n: len(names), whole: c.enumerable(o)}
	m := o.size()
	a.mean = make([]float64, m)
	// Powers of deviations from the first draw, in units of it: no cancellation, no overflow.
	var origin []float64
	unit := 1.0
	var s [4][]float64
	for k := range s {
		s[k] = make([]float64, m)
	}
	for _, name := range names {
		out, ok := c.eval(o, pt, []bilevel.Sample{name})
		if !ok {
			return nil, false
		}
		if origin == nil {
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
	a.se, a.effective = make([]float64, m), make([]float64, m)
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

func (c *checker) unbiased() {
	pt, entries := c.points[0], 0
	for _, o := range c.oracles {
		if o.bad == "" && !o.noExact && !c.enumerable(o) {
			entries += o.size()
		}
	}
	// Bonferroni: FalseAlarm is shared out among all entries; two-sided normal quantile.
	z := math.Sqrt2 * math.Erfcinv(FalseAlarm/float64(max(entries, 1)))
	for _, o := range c.oracles {
		if o.noExact || !c.usable(o, Unbiased) {
			continue
		}
		exact, ok := c.eval(o, pt, nil)
		if !ok {
			continue
		}
		a, ok := c.singles(o, pt)
		if !ok {
			continue
		}
		c.judgeMean(o, pt, exact, a, z)
	}
}

// enumerable reports whether the finite sum of o is averaged in full.
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

// more says what to raise where a share of the draws that it takes were there: a half more, to two
// digits.
func (c *checker) more(o *oracle, share float64) string {
	text := "raise Samples"
	if n := 1.5 * float64(c.o.Samples) / share; n < 1e9 {
		unit := math.Pow(10, math.Floor(math.Log10(n))-1)
		text += fmt.Sprintf(" to %.0f or more", unit*math.Ceil(n/unit))
	}
	if n := c.sizes[o.stream]; n > 0 {
		text += fmt.Sprintf(", or MaxTerms to %d", n)
	}
	return text
}

// meanOf returns the exact value of o, or the mean over a finite sum.
func (c *checker) meanOf(o *oracle, pt point) ([]float64, bool) {
	if out, ok := c.eval(o, pt, nil); ok {
		return out, true
	}
	if o.bad != "" || !c.enumerable(o) {
		return nil, false
	}
	a, ok := c.singles(o, pt)
	if !ok {
		return nil, false
	}
	return a.mean, true
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
		slack := 0.0
		if !ok {
			a, ok := c.singles(o, pt)
			if !ok {
				continue
			}
			mean, slack = a.mean, 4*mat.Norm(a.se)
		}
		s := mat.SymOf(c.dy, mean)
		var j eig.Jacobi
		if _, err := j.Factor(s); err != nil {
			c.log.gap(Convexity, o.name, "%v", err)
			continue
		}
		least := j.Values()[0]
		slack += float64(c.dy) * eps * maxAbs(j.Values()) * c.o.Tol
		// Without MuG, an eigenvalue within rounding of 0 is not positive; one within noise of 0
		// may be.
		bad := !(least >= c.o.MuG-slack)
		if c.o.MuG == 0 && slack <= 1e-9*maxAbs(j.Values()) {
			bad = !(least > slack)
		}
		if !bad {
			c.log.pass(Convexity, o.name, 1)
			continue
		}
		message := "g is not as strongly convex in y as it should be"
		if c.o.MuG == 0 {
			message = "g is not strongly convex in y: the smallest eigenvalue must be above 0"
		}
		c.log.find(Finding{Check: Convexity, Oracle: o.name, Quantity: "λ_min(g_yy)",
			I: -1, J: -1, Got: least, Want: c.o.MuG, Tol: slack, Point: pt.index,
			Message: message, severity: c.o.MuG - least})
	}
}

func (c *checker) promise() {
	const name = "ConvexityAt"
	p, ok := c.p.(bilevel.StronglyConvex)
	o := c.oracle("HessG")
	if !ok || !c.usable(o, Convexity) {
		return
	}
	for _, pt := range c.points {
		var s float64
		copy(c.x, pt.x)
		err := guard(func() error { s = p.ConvexityAt(c.x); return nil })
		f := Finding{Check: Call, Oracle: name, Quantity: "s", I: -1, J: -1, Point: pt.index}
		switch {
		case err != nil:
			f.Message = err.Error()
			c.log.find(f)
			return
		case math.IsNaN(s) || math.IsInf(s, 1):
			f.Check, f.Got, f.Message = Finite, s, "want a number, or −Inf for no promise"
			c.log.find(f)
			return
		}
		c.unmodified(&oracle{name: name}, pt, nil, "x", c.x, pt.x)
		if math.IsInf(s, -1) {
			continue // there is nothing to hold
		}
		for i := range pt.names[lower] {
			c.keeps(o, pt, pt.names[lower][i:i+1], s)
		}
	}
}

func (c *checker) keeps(o *oracle, pt point, batch []bilevel.Sample, s float64) {
	out, ok := c.eval(o, pt, batch)
	if !ok {
		return
	}
	var j eig.Jacobi
	if _, err := j.Factor(mat.SymOf(c.dy, out)); err != nil {
		c.log.gap(Convexity, "ConvexityAt", "%v", err)
		return
	}
	least, slack := j.Values()[0], 16*float64(c.dy)*eps*maxAbs(j.Values())*c.o.Tol
	if least >= s-slack {
		c.log.pass(Convexity, "ConvexityAt", 1)
		return
	}
	c.log.find(Finding{Check: Convexity, Oracle: "ConvexityAt", Quantity: "λ_min(g_yy)",
		I: -1, J: -1, Got: least, Want: s, Tol: slack, Point: pt.index,
		Batch: batch, Message: "g of one sample is less convex in y than promised", severity: s - least})
}
