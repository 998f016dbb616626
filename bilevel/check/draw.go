package check

import "math"

// basics calls o with every kind of batch at every point, for the checks of eval.
func (c *checker) basics(o *oracle) {
	for _, pt := range c.points {
		s := pt.names[o.stream]
		for _, pt := range []point{pt.of(s[0]), pt.of(s[1]), pt.of(s[0], s[1], s[1]), pt.of()} {
			if _, ok := c.eval(o, pt); ok {
				for _, check := range []string{Call, Finite, Overwrite, Inputs} {
					c.log.pass(check, o.name, o.size())
				}
			}
		}
	}
	if o.noExact {
		c.log.skip(Skip{Unbiased, o.name, "it returns ErrNoExact", false})
	}
}

// sameDraw evaluates each sample twice, again after a visit elsewhere, and at a point close by.
func (c *checker) sameDraw(o *oracle) {
	for _, pt := range c.points {
		for _, s := range pt.names[o.stream] {
			if o.bad == "" {
				c.sameDrawAt(o, pt.of(s))
			}
		}
	}
	if o.bad != "" {
		c.log.gap(SameDraw, o.name, "%s", o.bad)
	}
}

func (c *checker) sameDrawAt(o *oracle, pt point) {
	var out [5][]float64
	for i, at := range [5]point{pt, pt, c.shifted(pt, 1e-4), pt, c.shifted(pt, 1e-7)} {
		var ok bool
		if out[i], ok = c.eval(o, at); !ok {
			return
		}
	}
	first, second, atFar, third, atNear := out[0], out[1], out[2], out[3], out[4]
	if k := firstDifference(first, second); k >= 0 {
		c.notSameDraw(o, pt, k, second[k], first[k],
			"another value at the second call with the same arguments: a sample must name its draw")
		return
	}
	if k := firstDifference(first, third); k >= 0 {
		c.notSameDraw(o, pt, k, third[k], first[k],
			"another value after a visit to another point: a sample must name its draw, not the calls before")
		return
	}
	// A smooth function changes a thousand times less at the near point than at the far one; with a
	// fresh draw it changes as much. Rounding is too small to look like a fresh draw.
	top := maxAbs(first)
	for k := range first {
		n, f := math.Abs(atNear[k]-first[k]), math.Abs(atFar[k]-first[k])
		if n > 0.05*f && n > 1e-6*top*c.o.Tol {
			c.notSameDraw(o, pt, k, atNear[k], first[k],
				"jumps between points that are 1e-7 apart: a sample must be the same draw at all points")
			return
		}
	}
	c.log.pass(SameDraw, o.name, len(first))
}

func (c *checker) notSameDraw(o *oracle, pt point, k int, got, want float64, message string) {
	f := o.finding(SameDraw, pt, k)
	f.Got, f.Want, f.Message = got, want, message
	c.log.find(f)
	o.bad = "a sample does not name its draw"
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
	if o.bad != "" {
		c.log.gap(BatchMean, o.name, "%s", o.bad)
		return
	}
	for _, pt := range c.points {
		s := pt.names[o.stream]
		batch := pt.of(s[0], s[1], s[1])
		got, ok := c.eval(o, batch)
		a, ok1 := c.eval(o, pt.of(s[0]))
		b, ok2 := c.eval(o, pt.of(s[1]))
		if !ok || !ok1 || !ok2 {
			continue
		}
		want := make([]float64, len(got))
		for k := range want {
			want[k] = (a[k] + 2*b[k]) / 3
		}
		c.judge(comparison{check: BatchMean, o: o, pt: batch, got: got, want: want,
			tol: c.level(len(got), 1e-9*max(maxAbs(a), maxAbs(b))), against: "the mean of its singles"})
	}
}
