package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ticks of an axis; places are transformed values (see scale).
type ticks struct {
	major  []float64
	labels []string // one for each of major
	minor  []float64
	note   string // factor and offset common to all labels, "×10^{3}"; mostly empty
}

// ticks returns at least two major ticks, and at most limit or, where these would be fewer than
// two, 5.
func (s scale) ticks(limit int) ticks {
	if s.log {
		return logTicks(s.lo, s.hi, limit)
	}
	return linearTicks(s.lo, s.hi, limit)
}

// niceStep returns the smallest m·10^k ≥ raw with m in {1, 2, 5}.
func niceStep(raw float64) (m float64, k int) {
	k = int(math.Floor(math.Log10(raw)))
	for {
		for _, m := range []float64{1, 2, 5} {
			if scaled(m, k) >= raw*(1-1e-9) {
				return m, k
			}
		}
		k++
	}
}

// scaled is v·10^k, correctly rounded where the power is exact; a negative power is divided, since
// 10^-k is not exact.
func scaled(v float64, k int) float64 {
	switch {
	case k < -300:
		return v / 1e300 / math.Pow10(-k-300)
	case k < 0:
		return v / math.Pow10(-k)
	}
	return v * math.Pow10(k)
}

// steps chooses the step m·10^k of linear ticks at i·m·10^k for i = first, ..., last in [lo, hi].
func steps(lo, hi float64, limit int) (m float64, k int, first, last float64) {
	const slack = 1e-9
	for ; ; limit++ {
		// A range of exactly limit steps has limit+1 ticks when it begins at one; the next longer
		// step has fewer.
		for _, intervals := range []float64{float64(limit), float64(limit) - 0.999} {
			m, k = niceStep((hi - lo) / intervals)
			step := scaled(m, k)
			first, last = math.Ceil(lo/step-slack), math.Floor(hi/step+slack)
			if n := last - first + 1; n >= 2 && n <= float64(limit) {
				return m, k, first, last
			}
		}
		if limit >= 5 { // two whole steps at least
			return m, k, first, last
		}
	}
}

// linearTicks places ticks at the multiples of a 1-2-5 step in [lo, hi].
//
// Labels are decimal numbers. Where they would be longer than six digits because all values are
// nearly the same, an offset is subtracted; where all are large or small, a power of ten is taken
// out. Both go into the note.
func linearTicks(lo, hi float64, limit int) ticks {
	m, k, first, last := steps(lo, hi, limit)
	var t ticks
	var counts []float64 // tick values in units of 10^k
	largest := 0.0
	for i := first; i <= last; i++ {
		t.major = append(t.major, scaled(i*m, k))
		counts = append(counts, i*m)
		largest = math.Max(largest, math.Abs(i*m))
	}
	offset := ""
	if largest >= 1e6 {
		unit := int(math.Ceil(math.Log10(hi - lo)))
		base := math.Round((lo/2 + hi/2) / scaled(1, unit)) // in units of 10^unit
		offset = signed(scaled(base, unit))
		largest = 0
		for i := range counts {
			counts[i] -= base * math.Pow10(unit-k)
			largest = math.Max(largest, math.Abs(counts[i]))
		}
	}
	factor := 0
	if largest > 0 {
		e := k + int(math.Floor(math.Log10(largest))) // exponent of the largest label
		if e >= 5 || e <= -4 {
			factor = e
		}
	}
	digits := max(0, factor-k)
	if largest == 0 { // zero alone
		digits = 0
	}
	for _, c := range counts {
		t.labels = append(t.labels, decimal(scaled(c, k-factor), digits))
	}
	if factor != 0 {
		t.note = "×" + power(factor)
	}
	if offset != "" {
		t.note = strings.TrimSpace(t.note + " " + offset)
	}
	return t
}

// logTicks places ticks on the decades between 10^lo and 10^hi, or on every second, third, fifth
// ... of them where there are many. Below two decades 2 and 5 are labelled as well; where even
// these are few, logTicks uses the 1-2-5 rule of a linear axis.
func logTicks(lo, hi float64, limit int) ticks {
	const slack = 1e-9
	if hi-lo < 2 {
		return shortLogTicks(lo, hi, limit)
	}
	stride := 1
	for _, next := range []int{2, 3, 5, 10, 20, 30, 50, 100, 200, 500} {
		if decades(lo, hi, stride) <= limit {
			break
		}
		stride = next
	}
	var t ticks
	for k := int(math.Floor(lo)); k <= int(math.Ceil(hi)); k++ {
		for d := 1; d <= 9; d++ {
			at := float64(k) + math.Log10(float64(d))
			switch {
			case at < lo-slack || at > hi+slack:
			case d == 1 && k%stride == 0:
				t.major = append(t.major, at)
				t.labels = append(t.labels, power(k))
			case d == 1 && hi-lo <= 60, stride == 1 && hi-lo <= 10:
				t.minor = append(t.minor, at)
			}
		}
	}
	return t
}

// decades counts the multiples of stride in [lo, hi].
func decades(lo, hi float64, stride int) int {
	const slack = 1e-9
	return int(math.Floor(hi/float64(stride)+slack)-math.Ceil(lo/float64(stride)-slack)) + 1
}

// shortLogTicks is logTicks for less than two decades.
func shortLogTicks(lo, hi float64, limit int) ticks {
	for _, digits := range [][]int{{1, 2, 5}, {1, 3}} {
		if t := digitTicks(lo, hi, digits); len(t.major) >= 3 && len(t.major) <= limit {
			return t
		}
	}
	if t := digitTicks(lo, hi, []int{1}); hi-lo > 1 && len(t.major) >= 2 {
		return t // too little room for more
	}
	// Within about a decade: the ticks of the values themselves. Far from 1 they are taken relative
	// to a power of ten.
	base := int(math.Floor(lo + 1e-9))
	if base >= -3 && base <= 3 {
		base = 0
	}
	t := linearTicks(math.Pow(10, lo-float64(base)), math.Pow(10, hi-float64(base)), limit)
	keep := 0
	for i, v := range t.major {
		if v > 0 {
			t.major[keep], t.labels[keep] = float64(base)+math.Log10(v), t.labels[i]
			keep++
		}
	}
	t.major, t.labels = t.major[:keep], t.labels[:keep]
	switch {
	case base != 0 && t.note != "":
		t.note = "(" + t.note + ")×" + power(base)
	case base != 0:
		t.note = "×" + power(base)
	}
	return t
}

// digitTicks places major ticks at d·10^k for d in digits, minor ticks at the other d of 1..9.
// Labels are decimals as long as all of them are in [0.001, 10000).
func digitTicks(lo, hi float64, digits []int) ticks {
	const slack = 1e-9
	var t ticks
	first, last := int(math.Floor(lo)), int(math.Ceil(hi))
	plain := math.Floor(lo+slack) >= -3 && hi < 4+slack
	for k := first; k <= last; k++ {
		for d := 1; d <= 9; d++ {
			at := float64(k) + math.Log10(float64(d))
			if at < lo-slack || at > hi+slack {
				continue
			}
			if !slices.Contains(digits, d) {
				t.minor = append(t.minor, at)
				continue
			}
			t.major = append(t.major, at)
			switch {
			case plain:
				t.labels = append(t.labels, decimal(scaled(float64(d), k), max(0, -k)))
			case d == 1:
				t.labels = append(t.labels, power(k))
			default:
				t.labels = append(t.labels, strconv.Itoa(d)+"×"+power(k))
			}
		}
	}
	return t
}

// power is 10^k as marked-up text, with a true minus sign.
func power(k int) string { return fmt.Sprintf("10^{%s}", minus(strconv.Itoa(k))) }

// decimal is v with the given number of digits after the point.
func decimal(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return minus(s)
}

// signed is v with its sign in front, as in "+ 1.5".
func signed(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'g', -1, 64)
	if head, exp, ok := strings.Cut(s, "e"); ok {
		k, _ := strconv.Atoi(exp)
		s = head + "×" + power(k)
	}
	switch {
	case v == 0:
		return ""
	case v < 0:
		return "− " + s
	}
	return "+ " + s
}

// minus replaces the hyphen by the minus sign.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }
