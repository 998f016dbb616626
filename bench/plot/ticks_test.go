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

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		limit  int
		labels string
	}{
		{0, 1, 6, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 1, 5, "0.0 0.5 1.0"},
		{-10.2, 10.2, 6, "−10 −5 0 5 10"},
		{0, 400, 5, "0 100 200 300 400"},
		{0, 1e6, 6, "0 2×10^{5} 4×10^{5} 6×10^{5} 8×10^{5} 10^{6}"},
		{-3e-5, 3e-5, 4, "−2×10^{−5} 0 2×10^{−5}"},
		{1000000, 1000004, 5, "10^{6} 1.000001×10^{6} 1.000002×10^{6} 1.000003×10^{6} 1.000004×10^{6}"},
		{0.4, 1.9, 2, "0.5 1.0 1.5"}, // a limit of two would leave the tick at 1 alone
	} {
		labels, minor := texts(linearTicks(c.lo, c.hi, c.limit))
		assert.Equal(t, c.labels, labels, "[%g, %g]", c.lo, c.hi)
		assert.Zero(t, minor)
	}
}

func texts(list []tick) (string, int) {
	var labels []string
	for _, t := range list {
		if t.label != "" {
			labels = append(labels, t.label)
		}
	}
	return strings.Join(labels, " "), len(list) - len(labels)
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
		{6, 7, 9, "10^{6} 2×10^{6} 5×10^{6} 10^{7}", 6},
		{-7, -6, 9, "10^{−7} 2×10^{−7} 5×10^{−7} 10^{−6}", 6},
		{math.Log10(2.1), math.Log10(4.9), 4, "3 4", 0},
		{math.Log10(21), math.Log10(24.1), 4, "21 22 23 24", 0},
	} {
		labels, minor := texts(logTicks(c.lo, c.hi, c.limit))
		assert.Equal(t, c.labels, labels, "[%g, %g]", c.lo, c.hi)
		assert.Equal(t, c.minor, minor, "[%g, %g]", c.lo, c.hi)
	}
}

func TestTicksOfRandomRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 800 {
		limit := 3 + rng.IntN(7)
		s := scale{log: rng.IntN(2) == 0}
		mid := math.Copysign(math.Pow(10, 20*rng.Float64()-10), rng.Float64()-0.5)
		width := math.Abs(mid) * math.Pow(10, 8*rng.Float64()-4)
		if s.log {
			mid, width = 40*rng.Float64()-20, math.Pow(10, 4*rng.Float64()-2.5)
		}
		s.lo, s.hi = mid-width, mid+width
		slack := 1e-6 * width
		labels, last := 0, s.lo-slack
		for _, tick := range s.ticks(limit) {
			require.True(t, tick.at >= last && tick.at <= s.hi+slack, "%+v", s)
			last = tick.at
			if tick.label == "" {
				continue
			}
			labels++
			value, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "×10^{", "e", "10^{", "1e", "}", "").Replace(tick.label), 64)
			require.NoError(t, err)
			require.InDelta(t, tick.at, transform(value, s.log), slack+1e-9*math.Abs(tick.at), "%+v: %s", s, tick.label)
		}
		require.True(t, labels >= 2 && labels <= max(limit, 5), "%+v limit %d: %d", s, limit, labels)
	}
}

func TestFitWidensAndObeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		axis   Axis
		data   []float64
		lo, hi float64
	}{
		{"padded", Axis{}, []float64{10, 0}, -1, 11},
		{"one value", Axis{}, []float64{5}, 4.5, 5.5},
		{"one ulp", Axis{}, []float64{1, math.Nextafter(1, 2)}, 0.9, 1.1},
		{"one value, log", Axis{Log: true}, []float64{-3}, -3.5, -2.5},
		{"no data", Axis{}, nil, -0.1, 1.1},
		{"given", Axis{Min: -2}, []float64{0, 8}, -2, 9},
		{"given, log", Axis{Log: true, Min: 1e-8}, []float64{-12, 0}, -8, 0.8},
		{"no place for Min", Axis{Log: true, Min: -1}, []float64{-12, -11}, -12.1, -10.9},
		{"data below Min", Axis{Log: true, Min: 1e-8}, []float64{-12, -11}, -8, -7.5},
	} {
		s := c.axis.fit(c.data, 0.1)
		assert.InDelta(t, c.lo, s.lo, 1e-9, c.name)
		assert.InDelta(t, c.hi, s.hi, 1e-9, c.name)
	}
}
