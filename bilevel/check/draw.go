package check

import "math"

// basics calls o with every kind of batch, for the checks of eval.
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

// sameDraw evaluates each sample twice, again after a visit elsewhere, and at a point close by.
func (c *checker) sameDraw(o *oracle) {
	for _, pt := range c.places(o, false) {
		if o.bad == "" {
			c.sameDrawAt(o, pt)
		}
	}
	c.usable(SameDraw, o)
}

func (c *checker) sameDrawAt(o *oracle, pt point) {
	var out [5][]float64
	for i, at := range [5]point{pt, pt, c.shifted(pt, 1e-4), pt, c.shifted(pt, 1e-7)} {
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
		differs(k, out[3],
			"another value after a visit to another point: a sample must name its draw, not the calls before")
		return
	}
	// A smooth function changes a thousand times less at the near point than at the far one.
	top := maxAbs(first)
	for k := range first {
		n, f := math.Abs(near[k]-first[k]), math.Abs(far[k]-first[k])
		if n > 0.05*f && n > 1e-6*top*c.o.Tol {
			differs(k, near, "jumps between points that are 1e-7 apart: a sample must be the same draw at all points")
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
		q.x[i] = v + d*max(math.Abs(v), c.o.ScaleX)
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
	if !c.usable(BatchMean, o) {
		return
	}
	for _, pt := range c.points {
		s := pt.names[o.stream]
		batch := pt.of(s[0], s[1], s[1])
		got, a, b := c.eval(o, batch), c.eval(o, pt.of(s[0])), c.eval(o, pt.of(s[1]))
		if a == nil || b == nil {
			continue
		}
		want := make([]float64, len(a))
		for k := range want {
			want[k] = (a[k] + 2*b[k]) / 3
		}
		c.judge(comparison{check: BatchMean, o: o, pt: batch, got: got, want: want,
			tol: c.level(len(got), 1e-9*max(maxAbs(a), maxAbs(b))), against: "the mean of its singles"})
	}
}
