package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
)

func (c *checker) basics(o *oracle) {
	for _, pt := range c.points {
		s := pt.names[o.stream]
		for _, pt := range []point{pt.of(s[0]), pt.of(s[1]), pt.of(s[0], s[1], s[1]), pt.of()} {
			if c.eval(o, pt) == nil {
				continue
			}
			for _, check := range []string{Call, Finite, Overwrite, Inputs} {
				c.log.pass(check, o.name, o.size())
			}
		}
	}
	if o.noExact {
		c.log.skip(Skip{Unbiased, o.name, "it returns ErrNoExact", false})
	}
}

// sameDraw evaluates a sample twice, after a visit elsewhere, and close by.
func (c *checker) sameDraw(o *oracle) {
	for _, pt := range c.places(o, false) {
		c.sameDrawAt(o, pt)
	}
	c.usable(SameDraw, o)
}

func (c *checker) sameDrawAt(o *oracle, pt point) {
	var out [13][]float64
	away, close := c.shifted(pt, 1e-4), c.shifted(pt, 1e-7)
	x, y := away, away
	x.y, y.x = pt.y, pt.x
	for i, at := range [13]point{pt, pt, away, pt, close, pt, x, away, x, pt, y, away, y} {
		if out[i] = c.eval(o, at); out[i] == nil {
			return
		}
	}
	first, far, near := out[0], out[2], out[4]
	differs := func(k int, got []float64, message string) {
		c.log.find(o.finding(SameDraw, pt, k, message), got[k], first[k], 0)
		o.bad = "a sample does not name its draw"
	}
	if k := firstDifference(first, out[1]); k >= 0 {
		differs(k, out[1], "another value at the second call with the same arguments: a sample must name its draw")
		return
	}
	if k := firstDifference(first, out[3]); k >= 0 {
		differs(k, out[3], "another value after a visit to another point: a sample must name its draw, not the calls before")
		return
	}
	for _, i := range []int{6, 10} {
		if k := firstDifference(out[i], out[i+2]); k >= 0 {
			first = out[i]
			differs(k, out[i+2], "another value where x or y alone had changed: what is kept from call to call hangs on both")
			return
		}
	}
	// A smooth function changes a thousand times less at the near point than at the far one.
	top, wide := maxAbs(first), true
	for i, v := range pt.x {
		wide = wide && math.Abs(close.x[i]-v) <= 0.01*math.Abs(away.x[i]-v)
	}
	for k := 0; k < len(first) && wide; k++ {
		n, f := math.Abs(near[k]-first[k]), math.Abs(far[k]-first[k])
		if n > 0.05*f && n > 1e-6*top {
			differs(k, near, "jumps between points that are 1e-7 apart: a sample must be the same draw at all points; or lower ScaleX, ScaleY")
			return
		}
	}
	c.log.pass(SameDraw, o.name, len(first))
}

// shifted returns a point at relative distance d in every coordinate, in X if pt is well inside.
func (c *checker) shifted(pt point, d float64) point {
	q := pt
	q.x, q.y = make([]float64, c.dx), make([]float64, c.dy)
	for i, v := range pt.x {
		q.x[i] = v + max(d*c.o.ScaleX, 0x1p-40*math.Abs(v))
	}
	c.o.Set.Project(q.x, q.x)
	for j, v := range pt.y {
		q.y[j] = v - d*max(math.Abs(v), c.o.ScaleY)
	}
	return q
}

func firstDifference(a, b []float64) int {
	for k := range a {
		if math.Float64bits(a[k]) != math.Float64bits(b[k]) {
			return k
		}
	}
	return -1
}

func (c *checker) batchMean(o *oracle) {
	const many = 70 // more than a rule asks at once
	if !c.usable(BatchMean, o) {
		return
	}
	for _, pt := range c.points {
		s := pt.names[o.stream]
		batch := pt.of(append([]bilevel.Sample{s[0]}, slices.Repeat(s[1:2], many-1)...)...)
		got, a, b := c.eval(o, batch), c.eval(o, pt.of(s[0])), c.eval(o, pt.of(s[1]))
		if a == nil || b == nil {
			continue
		}
		want := make([]float64, len(a))
		for k := range want {
			want[k] = a[k]/many + b[k]*(many-1)/many
		}
		c.judge(comparison{check: BatchMean, o: o, pt: batch, got: got, want: want, tol: o.rounding(a, b),
			against: "the mean of its singles"})
	}
}

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

// singles averages samples by powers of deviations from the first, in units of its largest entry:
// no cancellation, no overflow; nil if an evaluation fails.
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
			origin, unit = out, cmp.Or(maxAbs(out), 1)
		}
		for e, v := range out {
			d := (v - origin[e]) / unit
			power := d
			for k := range s {
				s[k][e] += power
				power *= d
			}
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
		a.se[e] = unit * math.Sqrt(m2/max(n-1, 1))
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
		exact, a := c.eval(o, pt), c.singles(o, pt)
		silent := false
		for e := range exact {
			silent = silent || a != nil && a.se[e] == 0 && math.Abs(exact[e]-a.mean[e]) > 1e-9*maxAbs(exact)
		}
		if silent && !c.enumerable(o) {
			c.o.Samples *= 10 // a rare event?
			a = c.singles(o, pt)
			c.o.Samples /= 10
		}
		if exact != nil && a != nil {
			c.judgeMean(o, pt, exact, a, z)
		}
	}
}

// judgeMean leaves out where too few draws count.
func (c *checker) judgeMean(o *oracle, pt point, exact []float64, a *average, z float64) {
	m := comparison{check: Unbiased, o: o, pt: pt, got: exact, want: a.mean, against: "the mean over all samples"}
	m.tol = o.rounding(exact, a.mean, a.se)
	if c.enumerable(o) {
		c.judge(m)
		return
	}
	m.against = "the mean over draws"
	const few = 100 // effective draws
	least, rare := float64(few), 0
	for e, limit := range m.tol {
		m.tol[e] += z * a.se[e]
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
	if rare > 0 {
		raise := "raise Samples"
		if n := 1.5 * float64(c.o.Samples) / (least / few); n < 1e9 {
			raise += fmt.Sprintf(" to %.0f or more", math.Ceil(n/100)*100)
		}
		if n := c.sizes[o.stream]; n > 0 {
			raise += fmt.Sprintf(", or MaxTerms to %d", n)
		}
		c.log.gap(Unbiased, o.name, "%d of %d entries have too few draws that count, the least %.0f of %d, want %d: %s",
			rare, len(m.tol), least, a.n, few, raise)
	}
	c.judge(m)
}
