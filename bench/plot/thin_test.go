package plot

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noisy is n points over [0, width] with ascending x.
func noisy(n int, width float64) []point {
	rng := rand.New(rand.NewPCG(1, 9))
	pts := make([]point, n)
	for i := range pts {
		pts[i] = point{width * float64(i) / float64(n-1), 100 + 30*rng.NormFloat64()}
	}
	return pts
}

func TestRunsKeepFewPoints(t *testing.T) {
	pts := noisy(maxPoints, 200)
	assert.Equal(t, [][]point{pts}, thinner{200, 50}.runs(pts, bothEnds))
}

// TestRunsKeepExtremes compares, column by column, the first, last, lowest and highest points
// before and after.
func TestRunsKeepExtremes(t *testing.T) {
	const width, columns = 200.0, 150
	th := thinner{width, columns}
	type summary struct {
		first, last point
		top, bottom float64
	}
	summarise := func(pts []point) map[int]summary {
		m := map[int]summary{}
		for _, p := range pts {
			c := th.column(p.x)
			s, ok := m[c]
			if !ok {
				s = summary{first: p, top: p.y, bottom: p.y}
			}
			s.last, s.top, s.bottom = p, min(s.top, p.y), max(s.bottom, p.y)
			m[c] = s
		}
		return m
	}
	pts := noisy(100_000, width)
	pts[54_321].y = -1e4 // one peak
	got := th.runs(pts, bothEnds)
	require.Len(t, got, 1)
	assert.LessOrEqual(t, len(got[0]), 4*(columns+2))
	assert.Equal(t, summarise(pts), summarise(got[0]))
	for i := 1; i < len(got[0]); i++ {
		require.Greater(t, got[0][i].x, got[0][i-1].x, "order")
	}

	top := th.runs(pts, extremes{top: true})[0]
	assert.LessOrEqual(t, len(top), 3*(columns+2))
	for c, s := range summarise(pts) {
		assert.Equal(t, s.top, summarise(top)[c].top)
	}
}

func TestRunsBreak(t *testing.T) {
	nan := math.NaN()
	a, b, c := point{0, 1}, point{1, 2}, point{2, 3}
	hole := point{1.5, nan}
	th := thinner{width: 150, columns: 150}
	assert.Equal(t, [][]point{{a, b}, {c}}, th.runs([]point{hole, a, b, hole, hole, c, hole}, bothEnds))
	assert.Empty(t, th.runs([]point{hole, {nan, 1}}, bothEnds))
	assert.Empty(t, th.runs(nil, bothEnds))

	// Thinned: a hole of one point among 100 in a column closes, a hole of ten columns stays.
	pts := noisy(15_000, th.width)
	for i := range pts {
		if i%10 == 3 || i >= 5000 && i < 6000 {
			pts[i].y = nan
		}
	}
	got := th.runs(pts, bothEnds)
	require.Len(t, got, 2)
	assert.InDelta(t, 50, got[0][len(got[0])-1].x, 0.1)
	assert.InDelta(t, 60, got[1][0].x, 0.1)
}

func TestTraceRoundsWithoutDrift(t *testing.T) {
	assert.Equal(t, "M0 0l1 .5l-.25-1l-1 0", trace([]point{{0, 0}, {1, .5}, {.75, -.5}, {.75, -.501}, {-.25, -.5}}))
	pts := make([]point, 1001) // steps of a third of the resolution: the end is at 3.33
	for i := range pts {
		pts[i].x = float64(i) / 300
	}
	assert.Equal(t, "M0 0"+strings.Repeat("l.01 0", 333), trace(pts))
}
