package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale maps values to the unit interval: t(v) = v or log10 v, then (t − lo)/(hi − lo).
type scale struct {
	log    bool
	lo, hi float64 // of t; lo < hi
}

func transform(v float64, log bool) float64 {
	if !finite(v) || log && v < 1/huge {
		return math.NaN()
	}
	if log {
		return math.Log10(v)
	}
	return v
}

func (s scale) unit(v float64) float64 { return (transform(v, s.log) - s.lo) / (s.hi - s.lo) }

func (s scale) value(u float64) float64 {
	t := s.lo + u*(s.hi-s.lo)
	if s.log {
		return math.Pow(10, t)
	}
	return t
}

// values returns the transformed values that the axes show, with at most a decade of a band below.
func (p *Panel) values() (x, y []float64) {
	var bands []float64
	for _, s := range p.Series {
		for i := range s.X {
			tx, ty := transform(s.X[i], p.X.Log), transform(s.Y[i], p.Y.Log)
			if math.IsNaN(tx + ty) {
				continue
			}
			x, y = append(x, tx), append(y, ty)
			if len(s.Lo) > 0 {
				bands = append(bands, transform(s.Lo[i], p.Y.Log), transform(s.Hi[i], p.Y.Log))
			}
		}
	}
	if len(y) == 0 {
		return x, y
	}
	least := math.Inf(-1)
	if p.Y.Log {
		least = slices.Min(y) - 1
	}
	for _, v := range bands {
		y = append(y, max(v, least)) // keeps NaN
	}
	for _, l := range p.Lines {
		if l.P == 0 {
			y = append(y, transform(l.C, p.Y.Log))
		}
	}
	return x, slices.DeleteFunc(y, math.IsNaN)
}

// fit returns the scale for transformed values: from Min or their range, padded, or wider if thin.
func (a Axis) fit(values []float64, pad float64) scale {
	lo, hi := 0.0, 1.0
	if len(values) > 0 {
		lo, hi = slices.Min(values), slices.Max(values)
	}
	begin := transform(a.Min, a.Log)
	given := a.Min != 0 && finite(begin)
	if given {
		lo = begin
	}
	size, width := max(math.Abs(lo), math.Abs(hi)), hi-lo
	below, above := pad*width, pad*width
	if !(width > 1e-12*size && width > 1/huge) {
		half := 0.5
		if !a.Log && size > 1/huge {
			half = 0.1 * size
		}
		hi, below, above = max(lo, hi), half, half // data may end below Min
	}
	if given {
		below = 0
	}
	return scale{a.Log, lo - below, hi + above}
}

type tick struct {
	at    float64
	label string
}

const slack = 1e-9 // of a tick beyond the end of its axis

// ticks returns two labels at least, and at most limit, or 5 if these would be fewer.
func (s scale) ticks(limit int) []tick {
	if s.log {
		return logTicks(s.lo, s.hi, limit)
	}
	return linearTicks(s.lo, s.hi, limit)
}

// linearTicks are the multiples of the least step 1, 2 or 5·10^k of which at most limit are there.
func linearTicks(lo, hi float64, limit int) []tick {
	for k := int(math.Floor(math.Log10(hi/float64(limit) - lo/float64(limit)))); ; k++ {
		for _, m := range []float64{1, 2, 5} {
			step := scaled(m, k)
			first, last := math.Ceil(lo/step-slack), math.Floor(hi/step+slack)
			if last-first >= float64(limit) {
				continue
			}
			if last <= first {
				return linearTicks(lo, hi, max(limit+1, 5))
			}
			largest := scaled(m*max(math.Abs(first), math.Abs(last)), k)
			var list []tick
			for i := first; i <= last; i++ {
				list = append(list, tick{scaled(i*m, k), number(i*m, k, largest >= 1e-4 && largest < 1e6)})
			}
			return list
		}
	}
}

// logTicks labels every, second, third … power of ten; below two decades 1, 2, 5 or 1, 3 of each;
// within about a decade, linear ones.
func logTicks(lo, hi float64, limit int) []tick {
	if hi-lo < 2 {
		for _, digits := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			list, labels := digitTicks(lo, hi, digits, 1)
			if labels >= 3 && labels <= limit || len(digits) == 1 && hi-lo > 1 && labels >= 2 {
				return list
			}
		}
		list := linearTicks(math.Pow(10, lo), math.Pow(10, hi), limit)
		for i := range list {
			list[i].at = transform(list[i].at, true)
		}
		return slices.DeleteFunc(list, func(t tick) bool { return math.IsNaN(t.at) })
	}
	for _, stride := range []int{1, 2, 3, 5, 10, 20, 30, 50, 100, 200} {
		if list, labels := digitTicks(lo, hi, []float64{1}, stride); labels <= limit || stride == 200 {
			return list
		}
	}
	panic("unreachable")
}

// digitTicks labels d·10^k, d in digits, k a multiple of stride; others are minor, unless many.
func digitTicks(lo, hi float64, digits []float64, stride int) (list []tick, labels int) {
	plain := hi-lo < 2 && lo+slack >= -3 && hi-slack < 4
	for k := int(math.Floor(lo)); k <= int(math.Ceil(hi)); k++ {
		for d := 1.0; d <= 9; d++ {
			at := float64(k) + math.Log10(d)
			switch {
			case at < lo-slack || at > hi+slack:
			case slices.Contains(digits, d) && k%stride == 0:
				list = append(list, tick{at, number(d, k, plain)})
				labels++
			case d == 1 && hi-lo <= 60, stride == 1 && hi-lo <= 10:
				list = append(list, tick{at, ""})
			}
		}
	}
	return list, labels
}

func scaled(v float64, k int) float64 {
	if k < 0 {
		return v / math.Pow10(-k)
	}
	return v * math.Pow10(k)
}

// number is c·10^k, c whole, as a decimal or, if not plain, as a·10^b.
func number(c float64, k int, plain bool) string {
	switch {
	case c == 0 && !plain:
		return "0"
	case plain:
		c += 0 // no −0
		return minus(strconv.FormatFloat(scaled(c, k), 'f', max(0, -k), 64))
	}
	head, exp, _ := strings.Cut(strconv.FormatFloat(c, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exp)
	return minus(strings.TrimPrefix(head+"×", "1×") + "10^{" + strconv.Itoa(k+e) + "}")
}

func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }
