package check

import (
	"fmt"
	"math"

	"stable/bilevel"
)

// average is the mean of an oracle's single samples at a point.
type average struct {
	mean []float64
	n    int

	// Of draws: the standard error, and how many count, (Σd²)²/Σd⁴ for deviations d from the mean.
	se, effective []float64
}

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

func (c *checker) enumerable(o *oracle) bool {
	n := c.sizes[o.stream]
	return n > 0 && n <= c.o.MaxTerms
}

// singles averages single samples at a point, by powers of deviations from the first, in units of
// its largest entry: no cancellation, no overflow. It is nil if an evaluation fails.
func (c *checker) singles(o *oracle, pt point) *average {
	m, unit := o.size(), 1.0
	var origin []float64
	var s [4][]float64
	for k := range s {
		s[k] = make([]float64, m)
	}
	names := c.many(o)
	for _, name := range names {
		out := c.eval(o, pt.of(name))
		if out == nil {
			return nil
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
	n := float64(len(names))
	a := &average{mean: make([]float64, m), n: len(names), se: make([]float64, m), effective: make([]float64, m)}
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
	return a
}

// meanOf returns the exact value of o, or the mean over a finite sum.
func (c *checker) meanOf(o *oracle, pt point) []float64 {
	if out := c.eval(o, pt.of()); out != nil || !c.enumerable(o) {
		return out
	}
	if a := c.singles(o, pt); a != nil {
		return a.mean
	}
	return nil
}

// unbiased shares FalseAlarm out among all entries of the two-sided tests (Bonferroni).
func (c *checker) unbiased() {
	pt, entries := c.points[0], 0
	for _, o := range c.oracles {
		if o.bad == "" && !o.noExact && !c.enumerable(o) {
			entries += o.size()
		}
	}
	z := math.Sqrt2 * math.Erfcinv(FalseAlarm/float64(max(entries, 1)))
	for _, o := range c.oracles {
		if o.noExact || !c.usable(Unbiased, o) {
			continue
		}
		if exact := c.eval(o, pt); exact != nil {
			if a := c.singles(o, pt); a != nil {
				c.judgeMean(o, pt, exact, a, z)
			}
		}
	}
}

func (c *checker) judgeMean(o *oracle, pt point, exact []float64, a *average, z float64) {
	m := comparison{check: Unbiased, o: o, pt: pt, got: exact, want: a.mean, against: "the mean over all samples"}
	limit := 1e-9 * max(maxAbs(exact), maxAbs(a.mean))
	m.tol = c.level(len(exact), limit)
	if !c.enumerable(o) {
		m.against = "the mean over draws"
		c.loosen(m, a, z)
	}
	c.judge(m)
}

// loosen adds z standard errors to the tolerances, and leaves out where too few draws count.
func (c *checker) loosen(m comparison, a *average, z float64) {
	const few = 100 // effective draws
	least, rare := float64(few), 0
	for e, limit := range m.tol {
		m.tol[e] += z * c.o.Tol * a.se[e]
		constant := a.se[e]*math.Sqrt(float64(a.n)) <= limit
		switch {
		case constant && c.sizes[m.o.stream] == 0: // no noise there, as far as the draws can tell
		case constant && math.Abs(m.got[e]-a.mean[e]) <= limit:
		case a.effective[e] < few:
			m.tol[e] = math.Inf(1)
			rare++
			least = min(least, a.effective[e])
		}
	}
	if rare > 0 {
		c.log.gap(Unbiased, m.o.name, "%d of %d entries have too few draws that count, the least %.0f of %d: %s",
			rare, len(m.tol), least, a.n, c.more(m.o, least/few))
	}
}

// more says what to raise where only a share of the draws was there.
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
