package plot

import "math"

// scale maps values to the unit interval: t(v) = v or log10 v, then (t − lo)/(hi − lo).
type scale struct {
	log    bool
	lo, hi float64 // of t; lo < hi
}

// t is the transformed value, NaN for a value that cannot be drawn.
func transform(v float64, log bool) float64 {
	if !finite(v) || log && v <= 0 {
		return math.NaN()
	}
	if log {
		return math.Log10(v)
	}
	return v
}

func (s scale) unit(v float64) float64 {
	return (transform(v, s.log) - s.lo) / (s.hi - s.lo)
}

// value is the inverse of unit.
func (s scale) value(u float64) float64 {
	t := s.lo + u*(s.hi-s.lo)
	if s.log {
		return math.Pow(10, t)
	}
	return t
}

// extent is the range of the transformed values seen so far; lo > hi means none.
type extent struct{ lo, hi float64 }

func noExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

// add takes a transformed value; NaN is ignored.
func (e *extent) add(t float64) {
	if t < e.lo {
		e.lo = t
	}
	if t > e.hi {
		e.hi = t
	}
}

func (e extent) empty() bool { return e.lo > e.hi }

// ranges returns the ranges of the drawable points of p; x and y are empty when there is none.
// Bands extend y, but on a logarithmic axis by at most one decade below the curves: a lower end
// near zero is noise and would flatten the curves.
func (p *Panel) ranges() (x, y extent) {
	x, y = noExtent(), noExtent()
	band := noExtent()
	for _, s := range p.Series {
		for i := range s.X {
			tx, ty := transform(s.X[i], p.X.Log), transform(s.Y[i], p.Y.Log)
			if math.IsNaN(tx) || math.IsNaN(ty) {
				continue
			}
			x.add(tx)
			y.add(ty)
			if len(s.Lo) > 0 {
				band.add(transform(s.Lo[i], p.Y.Log))
				band.add(transform(s.Hi[i], p.Y.Log))
			}
		}
	}
	if y.empty() {
		return x, y
	}
	if p.Y.Log {
		band.lo = math.Max(band.lo, y.lo-1)
	}
	if !band.empty() {
		y.add(band.lo)
		y.add(band.hi)
	}
	for _, l := range p.Lines {
		if l.P == 0 {
			y.add(transform(l.C, p.Y.Log))
		}
	}
	return x, y
}

// fit returns the scale of an axis for data in e: the range, padded by the share pad, unless Min
// and Max say otherwise. A range too narrow for float64 is widened, by a tenth of the value on a
// linear axis and by half a decade each way on a logarithmic one.
func (a Axis) fit(e extent, pad float64) scale {
	if e.empty() {
		e = extent{0, 1}
	}
	given := a.Min != 0 || a.Max != 0
	if given && (!a.Log || a.Min != 0) {
		e.lo = transform(a.Min, a.Log)
	}
	if given && (!a.Log || a.Max != 0) {
		e.hi = transform(a.Max, a.Log)
	}
	size := math.Max(math.Abs(e.lo), math.Abs(e.hi))
	switch {
	case e.hi-e.lo > 1e-12*size && e.hi-e.lo > 1e-300:
		margin := pad * (e.hi - e.lo)
		if !given || a.Log && a.Min == 0 {
			e.lo -= margin
		}
		if !given || a.Log && a.Max == 0 {
			e.hi += margin
		}
	case a.Log && a.Min != 0: // the data end below Min, or at it
		e.hi = e.lo + 1
	case a.Log && a.Max != 0:
		e.lo = e.hi - 1
	case a.Log:
		mid := (e.lo + e.hi) / 2
		e = extent{mid - 0.5, mid + 0.5}
	case size < 1e-290:
		e = extent{-1, 1}
	default:
		mid := e.lo + (e.hi-e.lo)/2
		e = extent{mid - 0.1*size, mid + 0.1*size}
	}
	return scale{log: a.Log, lo: e.lo, hi: e.hi}
}
