package plot

import (
	"math"
	"slices"
)

// curve is a series in places of the plot area, thinned.
type curve struct {
	look        look
	lines       [][]point
	top, bottom [][]point // edges of the band; same number of runs
	marks       []point
}

// frame is a panel with its scales, ticks and curves, and the place of its plot area in the figure.
type frame struct {
	*Panel
	sx, sy         scale
	xt, yt         ticks
	title          []string // wrapped
	xlabel, ylabel []string // wrapped
	x, y, w, h     float64  // plot area
	curves         []curve
	refs           []reference
	empty          bool // nothing to draw
	thin           thinner
	ink            *occupied
}

// far bounds places outside of the plot area, so that numbers stay short; the slope of a line that
// leaves it is not visibly changed.
const far = 1e4

// place is the place of the values (x, y).
func (f *frame) place(x, y float64) point {
	p := point{f.sx.unit(x) * f.w, (1 - f.sy.unit(y)) * f.h}
	return point{min(max(p.x, -far), far), min(max(p.y, -far), far)} // min and max keep NaN
}

// prepare turns all series and reference lines into places and marks the ink.
func (f *frame) prepare(looks []look) {
	f.ink = newOccupied(f.w, f.h)
	for i := range f.Series {
		c := f.curve(&f.Series[i], looks[i])
		for j := range c.top {
			f.ink.band(f.edge(c.top[j]), f.edge(c.bottom[j]))
		}
		for _, run := range c.lines {
			f.ink.line(run)
		}
		for _, m := range c.marks {
			f.ink.box(m.x-2, m.y-2, 4, 4)
		}
		f.curves = append(f.curves, c)
	}
	for _, l := range f.Lines {
		r := reference{Line: l, lines: f.thin.runs(f.sample(l), bothEnds)}
		for _, run := range r.lines {
			f.ink.line(run)
		}
		f.refs = append(f.refs, r)
	}
}

func (f *frame) curve(s *Series, l look) curve {
	c := curve{look: l}
	pts := make([]point, len(s.X))
	for i := range s.X {
		pts[i] = f.place(s.X[i], s.Y[i])
	}
	c.lines = f.thin.runs(pts, bothEnds)
	if l == faint {
		return c
	}
	if s.Markers {
		c.marks = f.marks(c.lines, l)
	}
	if len(s.Lo) == 0 {
		return c
	}
	nowhere := point{math.NaN(), math.NaN()}
	top, bottom := make([]point, len(pts)), make([]point, len(pts))
	for i := range pts {
		lo, hi := f.place(s.X[i], s.Lo[i]), f.place(s.X[i], s.Hi[i])
		if f.sy.log && s.Lo[i] <= 0 && s.Lo[i] >= -huge {
			lo = point{pts[i].x, f.h + 10} // below the axis
		}
		if top[i], bottom[i] = hi, lo; !pts[i].ok() || !lo.ok() || !hi.ok() {
			top[i], bottom[i] = nowhere, nowhere
		}
	}
	c.top = f.thin.runs(top, extremes{top: true})
	c.bottom = f.thin.runs(bottom, extremes{bottom: true})
	return c
}

// edge resamples the edge of a band at every cell, for the ink.
func (f *frame) edge(run []point) []point {
	var out []point
	i := 0
	for x := max(run[0].x, 0); x <= min(run[len(run)-1].x, f.w); x += cell {
		for i+1 < len(run)-1 && run[i+1].x < x {
			i++
		}
		p, q := run[i], run[min(i+1, len(run)-1)]
		u := 0.0
		if q.x > p.x {
			u = min(max((x-p.x)/(q.x-p.x), 0), 1)
		}
		out = append(out, point{x, p.y + u*(q.y-p.y)})
	}
	return out
}

// marks chooses the points to mark: all of at most 24; of more about a dozen, evenly spaced,
// staggered by look so that the marks of close curves do not cover each other.
func (f *frame) marks(lines [][]point, l look) []point {
	var in []point
	for _, run := range lines {
		for _, p := range run {
			if p.x >= -.01 && p.x <= f.w+.01 && p.y >= -.01 && p.y <= f.h+.01 {
				in = append(in, p)
			}
		}
	}
	if len(in) <= 24 {
		return in
	}
	step := f.w / 12
	next := step * (0.3 + math.Mod(0.382*float64(l), 1)*0.7)
	var out []point
	for _, p := range in {
		if p.x >= next {
			out = append(out, p)
			next += step * math.Ceil((p.x-next)/step+1e-9)
		}
	}
	return out
}

// reference is a reference line in places, with the place and the angle of its label.
type reference struct {
	Line
	lines [][]point
	at    point // lower left corner of the label
	angle float64
}

// sample is y = C·x^P at both ends where it is straight, else at 65 places.
func (f *frame) sample(l Line) []point {
	from, to := 0.0, 1.0
	if l.From != 0 || l.To != 0 {
		from, to = f.sx.unit(l.From), f.sx.unit(l.To)
		if math.IsNaN(from) { // not positive on a logarithmic axis
			from = 0
		}
	}
	n := 64
	if l.P == 0 || f.sx.log && f.sy.log {
		n = 1
	}
	pts := make([]point, 0, n+1)
	for i := range n + 1 {
		u := from + float64(i)/float64(n)*(to-from)
		x := f.sx.value(u)
		y := l.C * math.Pow(x, l.P)
		if l.P < 0 && x <= 0 {
			y = math.NaN()
		}
		pts = append(pts, point{u * f.w, f.place(x, y).y})
	}
	return pts
}

// labelAway lists the distances from the line at which a label is tried, and what each adds to the
// cost. A label stands away from its line only where it would otherwise cover a curve.
var labelAway = []struct {
	d    float64
	cost int
}{{2.2, 0}, {7, curveInk / 2}, {12, curveInk - 1}, {18, 2 * curveInk}}

// label chooses the place along the line, above or below it, where the label covers least; of equal
// places, the rightmost.
func (f *frame) label(r *reference, size float64) bool {
	const halo = 1.5                                            // of white around the text
	w, h, deep := textWidth(r.Label, size), size*0.8, size*0.22 // deep: below the base line
	best := math.MaxInt
	for _, run := range r.lines {
		for x := f.w - w - 2; x >= 0; x -= 3 {
			a, ok1 := along(run, x)
			b, ok2 := along(run, x+w)
			if !ok1 || !ok2 {
				continue
			}
			angle := math.Atan2(b-a, w) * 180 / math.Pi
			sin, cos := math.Sincos(angle * math.Pi / 180)
			for _, away := range labelAway {
				for _, off := range []float64{away.d + deep, -h - away.d} {
					at := point{x + off*sin, a - off*cos}
					corner := point{at.x - halo*cos - (halo+deep)*sin, at.y - halo*sin + (halo+deep)*cos}
					if cost := away.cost + f.ink.cost(corner.x, corner.y, w+2*halo, h+deep+2*halo, angle); cost < best {
						best, r.at, r.angle = cost, at, angle
					}
				}
			}
		}
	}
	if best == math.MaxInt {
		return false
	}
	sin, cos := math.Sincos(r.angle * math.Pi / 180)
	for d := 0.0; d <= w; d += cell {
		f.ink.box(r.at.x+d*cos, r.at.y+d*sin-h, cell, h)
	}
	return true
}

// along is the height of a run at x.
func along(run []point, x float64) (float64, bool) {
	i, _ := slices.BinarySearchFunc(run, x, func(p point, x float64) int {
		if p.x < x {
			return -1
		}
		return 1
	})
	if i == 0 || i == len(run) {
		return 0, false
	}
	p, q := run[i-1], run[i]
	return p.y + (x-p.x)/(q.x-p.x)*(q.y-p.y), true
}
