package plot

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNiceStep(t *testing.T) {
	for _, c := range []struct {
		raw  float64
		m    float64
		k    int
		name string
	}{
		{1, 1, 0, "exact"}, {1.01, 2, 0, ""}, {2, 2, 0, ""}, {2.5, 5, 0, ""}, {5.1, 1, 1, "next decade"},
		{0.03, 5, -2, ""}, {0.1, 1, -1, "inexact power"}, {7e-300, 1, -299, "tiny"}, {3e299, 5, 299, "large"},
	} {
		m, k := niceStep(c.raw)
		assert.Equal(t, c.m, m, "%g %s", c.raw, c.name)
		assert.Equal(t, c.k, k, "%g %s", c.raw, c.name)
	}
}

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		limit  int
		labels string
		note   string
	}{
		{0, 1, 6, "0.0 0.2 0.4 0.6 0.8 1.0", ""},
		{0, 1, 5, "0.0 0.5 1.0", ""},
		{-10.2, 10.2, 6, "−10 −5 0 5 10", ""},
		{-0.3, 0.3, 5, "−0.2 0.0 0.2", ""},
		{0, 400, 5, "0 100 200 300 400", ""},
		{0, 1e5, 6, "0.0 0.2 0.4 0.6 0.8 1.0", "×10^{5}"},
		{-3e-5, 3e-5, 4, "−2 0 2", "×10^{−5}"},
		{1 - 1e-9, 1 + 1e-9, 5, "−1.0 −0.5 0.0 0.5 1.0", "×10^{−9} + 1"},
		{1000000, 1000004, 5, "0 1 2 3 4", "+ 1×10^{6}"},
		{-1000004, -1000000, 5, "−4 −3 −2 −1 0", "− 1×10^{6}"},
		{0.4, 1.9, 2, "0.5 1.0 1.5", ""}, // a limit of two would leave the tick at 1 alone
	} {
		got := linearTicks(c.lo, c.hi, c.limit)
		assert.Equal(t, c.labels, strings.Join(got.labels, " "), "[%g, %g]", c.lo, c.hi)
		assert.Equal(t, c.note, got.note, "[%g, %g]", c.lo, c.hi)
		assert.Empty(t, got.minor)
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64 // decades
		limit  int
		labels string
		minor  int
	}{
		{-4, 0, 9, "10^{−4} 10^{−3} 10^{−2} 10^{−1} 10^{0}", 4 * 8},
		{0, 12, 9, "10^{0} 10^{2} 10^{4} 10^{6} 10^{8} 10^{10} 10^{12}", 6},
		{-300, 300, 5, "10^{−200} 10^{0} 10^{200}", 0},
		{0, 1, 9, "1 2 5 10", 6},
		{-2, -0.5, 9, "0.01 0.02 0.05 0.1 0.2", 9 + 3 - 5},
		{0, 1.9, 5, "1 3 10 30", 9 + 7 - 4},
		{0, 1.9, 3, "1 10", 9 + 7 - 2},
		{6, 7, 9, "10^{6} 2×10^{6} 5×10^{6} 10^{7}", 6},
		{-7, -6, 9, "10^{−7} 2×10^{−7} 5×10^{−7} 10^{−6}", 6},
		{math.Log10(2.1), math.Log10(4.9), 4, "3 4", 0},
		{math.Log10(21), math.Log10(24.1), 4, "21 22 23 24", 0},
	} {
		got := logTicks(c.lo, c.hi, c.limit)
		assert.Equal(t, c.labels, strings.Join(got.labels, " "), "[%g, %g]", c.lo, c.hi)
		assert.Len(t, got.minor, c.minor, "[%g, %g]", c.lo, c.hi)
	}
}

// TestTicksOfRandomRanges checks what every axis needs: two ticks or more, not too many, in order,
// inside, and with labels that say where they stand.
func TestTicksOfRandomRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ranges := 3000
	if testing.Short() {
		ranges = 800
	}
	for range ranges {
		limit := 3 + rng.IntN(7)
		s := scale{log: rng.IntN(2) == 0}
		mid := math.Copysign(math.Pow(10, 20*rng.Float64()-10), rng.Float64()-0.5)
		width := math.Abs(mid) * math.Pow(10, 8*rng.Float64()-4)
		if s.log {
			mid, width = 40*rng.Float64()-20, math.Pow(10, 4*rng.Float64()-2.5)
		}
		s.lo, s.hi = mid-width, mid+width
		got := s.ticks(limit)
		require.GreaterOrEqual(t, len(got.major), 2, "%+v limit %d", s, limit)
		require.LessOrEqual(t, len(got.major), max(limit, 5), "%+v limit %d", s, limit)
		require.Len(t, got.labels, len(got.major))
		slack := 1e-6 * width
		for i, at := range got.major {
			require.GreaterOrEqual(t, at, s.lo-slack, "%+v", s)
			require.LessOrEqual(t, at, s.hi+slack, "%+v", s)
			if i > 0 {
				require.Greater(t, at, got.major[i-1], "%+v", s)
				require.NotEqual(t, got.labels[i], got.labels[i-1], "%+v", s)
			}
			if value, ok := read(got.labels[i], got.note); ok {
				require.InDelta(t, at, transform(value, s.log), slack+1e-9*math.Abs(at), "%+v: %s %s",
					s, got.labels[i], got.note)
			}
		}
		for _, at := range got.minor {
			require.True(t, at >= s.lo-slack && at <= s.hi+slack, "%+v", s)
		}
	}
}

// read is the number that a label and a note stand for; not ok with an offset in the note.
func read(label, note string) (float64, bool) {
	if strings.ContainsAny(note, " (") || strings.HasPrefix(note, "+") || strings.HasPrefix(note, "− ") {
		return 0, false
	}
	s := strings.NewReplacer("−", "-", "×10^{", "e", "10^{", "1e", "}", "").Replace(label)
	if note != "" {
		s += strings.NewReplacer("−", "-", "×10^{", "e", "}", "").Replace(note)
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func TestFitWidensAndObeys(t *testing.T) {
	none := noExtent()
	for _, c := range []struct {
		name   string
		axis   Axis
		data   extent
		lo, hi float64
	}{
		{"padded", Axis{}, extent{0, 10}, -1, 11},
		{"one value", Axis{}, extent{5, 5}, 4.5, 5.5},
		{"one negative value", Axis{}, extent{-5, -5}, -5.5, -4.5},
		{"zero", Axis{}, extent{0, 0}, -1, 1},
		{"one ulp", Axis{}, extent{1, math.Nextafter(1, 2)}, 0.9, 1.1},
		{"one value, log", Axis{Log: true}, extent{-3, -3}, -3.5, -2.5},
		{"no data", Axis{}, none, -0.1, 1.1},
		{"given", Axis{Min: -2, Max: 3}, extent{0, 10}, -2, 3},
		{"given from zero", Axis{Max: 1}, extent{0.2, 0.3}, 0, 1},
		{"given below, log", Axis{Log: true, Min: 1e-8}, extent{-12, 0}, -8, 0.8},
		{"data below Min, log", Axis{Log: true, Min: 1e-8}, extent{-12, -11}, -8, -7},
		{"data above Max, log", Axis{Log: true, Max: 1e-8}, extent{0, 1}, -9, -8},
	} {
		s := c.axis.fit(c.data, 0.1)
		assert.InDelta(t, c.lo, s.lo, 1e-9, c.name)
		assert.InDelta(t, c.hi, s.hi, 1e-9, c.name)
	}
}
