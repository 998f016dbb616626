package plot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func noisy(n int, width float64) []point {
	rng := rand.New(rand.NewPCG(1, 9))
	pts := make([]point, n)
	for i := range pts {
		pts[i] = point{width * float64(i) / float64(n-1), 100 + 30*rng.NormFloat64()}
	}
	return pts
}

func TestRunsKeepExtremes(t *testing.T) {
	const width = 150.0
	type summary struct {
		first, last point
		top, bottom float64
	}
	summarise := func(pts []point) map[float64]summary {
		m := map[float64]summary{}
		for _, p := range pts {
			c := math.Floor(p.x)
			s, ok := m[c]
			if !ok {
				s = summary{first: p, top: p.y, bottom: p.y}
			}
			s.last, s.top, s.bottom = p, min(s.top, p.y), max(s.bottom, p.y)
			m[c] = s
		}
		return m
	}
	few := noisy(600, width)
	assert.Equal(t, [][]point{few}, runs(few, width))
	pts := noisy(100_000, width)
	pts[54_321].y = -1e4 // one peak
	got := runs(pts, width)
	require.Len(t, got, 1)
	assert.LessOrEqual(t, len(got[0]), int(4*(width+2)))
	assert.Equal(t, summarise(pts), summarise(got[0]))
	for i := 1; i < len(got[0]); i++ {
		require.Greater(t, got[0][i].x, got[0][i-1].x, "order")
	}
}

func TestRunsBreak(t *testing.T) {
	a, b, c, hole := point{0, 1}, point{1, 2}, point{2, 3}, point{1.5, math.NaN()}
	assert.Equal(t, [][]point{{a, b}, {c}}, runs([]point{hole, a, b, hole, hole, c, hole}, 150))
	assert.Empty(t, runs([]point{hole, {math.NaN(), 1}}, 150))
	assert.Empty(t, runs(nil, 150))
}

func TestTrace(t *testing.T) {
	assert.Equal(t, "M0 0L1 0.5L0.75 -0.5L-0.25 -0.5", trace([]point{{0, 0}, {1, .5}, {.75, -.5}, {.75, -.501}, {-.25, -.5}}))
}
