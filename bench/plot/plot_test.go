package plot

import (
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func decay(name string, rate float64) Series {
	s := Series{Name: name}
	for i := range 99 {
		x := float64(i) / 99
		y := math.Exp(math.Sin(999*x) - rate*x)
		s.X, s.Y, s.Lo, s.Hi = append(s.X, x), append(s.Y, y), append(s.Lo, y/2), append(s.Hi, y*2)
	}
	return s
}

func logPanel(series ...Series) Panel {
	return Panel{X: Axis{Label: "k"}, Y: Axis{Label: "F − F*", Log: true}, Series: series}
}

func gallery() map[string]Figure {
	nan, inf := math.NaN(), math.Inf(1)
	curves := []Series{decay("STABLE", 9), decay("ALSET", 6), decay("TTSA", 3)}
	var twelve []Series
	for i := range 12 {
		s := decay("method "+strconv.Itoa(i), float64(i))
		s.Markers = i%2 == 0
		twelve = append(twelve, s)
	}
	point := Panel{Series: []Series{{X: []float64{0}, Y: []float64{0}}}}
	bad := []float64{nan, inf, -inf, 0, -1, 1e308, 5e-324, 1, 2, nan, 3}
	return map[string]Figure{
		"twelve": {Caption: "c", Panels: []Panel{logPanel(twelve...)}},
		"row":    {Panels: []Panel{logPanel(curves...), logPanel(curves[1:]...), logPanel()}},
		"parts":  {Panels: []Panel{logPanel(curves[0]), logPanel(curves[1]), logPanel(curves[1:]...)}},
		"grid":   {Columns: 2, Panels: []Panel{point, logPanel(curves...), point}},
		"point":  {Panels: []Panel{point}},
		"slopes": {Panels: []Panel{{X: Axis{Log: true}, Y: Axis{Log: true},
			Series: []Series{{Name: "a", X: []float64{1, 10, 100}, Y: []float64{2, 30, 100}, Markers: true}},
			Lines: []Line{{Label: "n^{2}", C: 1, P: 2}, {Label: "limit", C: 1e3},
				{Label: "short", C: 1, P: 1, From: 2, To: 50}, {Label: "nowhere", C: -1, P: 1}}}}},
		"bad values": {Panels: []Panel{{Series: []Series{{X: bad, Y: bad, Lo: bad, Hi: bad, Markers: true}}},
			{X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{{X: bad, Y: bad, Lo: bad, Hi: bad}}}}},
		"extreme": {Panels: []Panel{{X: Axis{Log: true},
			Series: []Series{{X: []float64{5e-324, 1e300}, Y: []float64{-1e300, 1e300}}}},
			{Series: []Series{{X: []float64{1, math.Nextafter(1, 2)}, Y: []float64{0, 5e-324}}}}}},
		"zoomed": {Panels: []Panel{{X: Axis{Min: 0.3}, Y: Axis{Log: true, Min: 1e-9},
			Series: []Series{{Name: "out",
				X: []float64{0, 0.2, 0.4, 1e300}, Y: []float64{-1e300, 1, 2, 1e300}, Markers: true}}}}},
		"texts": {Caption: `]]> <&>"' &amp; open ^{brace _{ and }` + "\x00\x0b bell", Panels: []Panel{{
			Title: strings.Repeat("very long title ", 20), X: Axis{Label: strings.Repeat("unbreakable", 20)},
			Y: Axis{Label: strings.Repeat("long ", 40)},
			Series: []Series{{Name: strings.Repeat("a & b < c ", 20), X: []float64{1, 2}, Y: []float64{1, 2}},
				{Name: "\xff bytes"}}}}},
	}
}

func render(t *testing.T, f Figure) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, f.WriteSVG(&b))
	return b.String()
}

func TestEveryFigure(t *testing.T) {
	for name, f := range gallery() {
		t.Run(name, func(t *testing.T) {
			svg := render(t, f)
			require.NoError(t, xml.Unmarshal([]byte(svg), new(any)))
			assert.Equal(t, svg, render(t, f), "same figure, same bytes")
			// Nothing unprintable, no format whose arguments differ, no number that runs away.
			assert.NotRegexp(t, `NaN|Inf|%!|[0-9]{7}`, svg)

			pg, err := f.layout()
			require.NoError(t, err)
			if name == "parts" {
				assert.Equal(t, []int{1, 2, 0}, []int{len(pg.frames[0].legend.entries), len(pg.frames[1].legend.entries), len(pg.frames[2].legend.entries)})
			}
			lowest := 0.0
			for i, fr := range pg.frames {
				assert.True(t, fr.x >= fr.left() && fr.x+fr.w+gap <= pg.w, "panel %d", i)
				below := tickLen + smallSize + float64(len(fr.xlabel))*panelSize*lead
				lowest = max(lowest, fr.y+fr.h+below)
				assert.Less(t, lowest, pg.h)
				for _, other := range pg.frames[:i] {
					beside := other.x+other.w+gap <= fr.x-fr.left()+0.01
					under := fr.y - float64(len(fr.title))*panelSize*lead
					assert.True(t, beside || other.y+other.h+below <= under, "panel %d", i)
				}
			}
			for _, fr := range pg.frames {
				l := fr.legend
				if len(l.entries) == 0 {
					continue
				}
				lines := (len(l.entries)+l.cols-1)/l.cols + len(pg.caption)
				assert.Greater(t, l.y, lowest)
				assert.LessOrEqual(t, l.y+float64(lines)*smallSize*lead, pg.h)
				assert.GreaterOrEqual(t, l.x, margin+fr.x-pg.frames[0].x)
				assert.True(t, l.cols == 1 || l.x+float64(l.cols)*l.column-12 <= pg.w)
			}
		})
	}
}

func TestLonePointIsADot(t *testing.T) {
	nan := math.NaN()
	for _, y := range [][]float64{{1}, {nan, 1, nan}, {1, 2, nan, 3}} {
		svg := render(t, Figure{Panels: []Panel{{Series: []Series{{X: []float64{1, 2, 3, 4}[:len(y)], Y: y}}}}})
		assert.Equal(t, 1, strings.Count(svg, `h0"`), y)
	}
}

// Lines of the gallery: y = C·x^P from From to To, with a label beside it, if it is in the plot area; a
// horizontal one's is in the legend, once.
func TestLine(t *testing.T) {
	f := gallery()["slopes"]
	pg, err := f.layout()
	require.NoError(t, err)
	fr, svg := &pg.frames[0], render(t, f)
	assert.Greater(t, fr.sy.hi, 3.0, "the horizontal line at 1000 is in the range")
	assert.NotContains(t, svg, ">nowhere<", "a negative line has no place on a logarithmic axis")
	place := func(svg, label string) (p point) {
		text := regexp.MustCompile(`<text x=\S+ y=\S+ .* text-anchor="end" .*>` + label + `<`).FindString(svg)
		_, err := fmt.Sscanf(text, `<text x="%g" y="%g"`, &p.x, &p.y)
		require.NoError(t, err, label)
		return p
	}
	for i, label := range []string{"n", "", "short"} {
		l := fr.Lines[i]
		a, b := fr.ends(l)
		assert.Contains(t, svg, `<path d="`+trace([]point{a, b})+`" fill="none"`+ruled.stroke)
		x := []float64{fr.sx.value(a.x / fr.w), fr.sx.value(b.x / fr.w)}
		for k, p := range []point{a, b} {
			assert.InEpsilon(t, l.C*math.Pow(x[k], l.P), fr.sy.value(1-p.y/fr.h), 1e-9, l.Label)
		}
		if l.To > 0 {
			assert.InDeltaSlice(t, []float64{l.From, l.To}, x, 1e-9)
		} else {
			assert.InDeltaSlice(t, []float64{0, fr.w}, []float64{a.x, b.x}, 1e-9)
		}
		if label != "" {
			at := place(svg, label)
			off := math.Abs((b.x-a.x)*(at.y-a.y)-(b.y-a.y)*(at.x-a.x)) / math.Hypot(b.x-a.x, b.y-a.y)
			assert.InDelta(t, 4.75, off, 2.3, "beside the line, not on it")
			assert.True(t, at.x > (a.x+b.x)/2 && at.x <= b.x && at.y > 0 && at.y < fr.h, l.Label)
		}
	}
	f.Panels[0].Series = append(f.Panels[0].Series, Series{X: []float64{10, 30}, Y: []float64{120, 990}}) // beside n²
	assert.NotEqual(t, place(svg, "n"), place(render(t, f), "n"), "the label goes where there is room")
	f.Panels = append(f.Panels, f.Panels[0])
	_, legend := f.looks()
	assert.Equal(t, entry{name: "limit", look: ruled, last: 2}, legend[len(legend)-1])
	assert.Equal(t, 1, strings.Count(render(t, f), ">limit<"))
}

func TestArrow(t *testing.T) {
	series := []Series{{X: []float64{0, 1, 2, 3, 4}, Y: []float64{10, 9, 1e-9, 1, 1e-9}}, {X: []float64{0, 3}, Y: []float64{1, 2}},
		{X: []float64{0, 1, 2}, Y: []float64{1e-9, 1e-9, 1}}}
	for least, want := range map[float64]int{0: 0, 0.1: 2} {
		svg := render(t, Figure{Panels: []Panel{{Y: Axis{Log: true, Min: least}, Series: series}}})
		assert.Equal(t, want, strings.Count(svg, "h6l-3 6z"))
	}
}

func TestTickLabelsDoNotOverlap(t *testing.T) {
	for _, s := range []scale{{true, 3.6, 4.8}, {false, 0, 1e5}, {true, -300, 300}} {
		for _, width := range []float64{60, 90, 300} {
			end := math.Inf(-1)
			for _, tick := range s.fitting(width) {
				if half := textWidth(tick.label, smallSize) / 2; half > 0 {
					at := width * (tick.at - s.lo) / (s.hi - s.lo)
					assert.Greater(t, at-half, end, "%v at %g", s, width)
					end = at + half
				}
			}
			assert.False(t, math.IsInf(end, -1))
		}
	}
}

func TestSpans(t *testing.T) {
	for s, want := range map[string][]span{
		"":           nil,
		"10^{−3} s":  {{"10", 0}, {"−3", 1}, {" s", 0}},
		"x_{k}^{2}":  {{"x", 0}, {"k", -1}, {"2", 1}},
		"^{open":     {{"^{open", 0}},
		"a^b {c} d_": {{"a^b {c} d_", 0}},
	} {
		assert.Equal(t, want, spans(s), s)
	}
}

func TestWrap(t *testing.T) {
	text := "some words, a verylongword and x^{a} Ωμέγα"
	for _, width := range []float64{1, 50, 80, 200, 1e6} {
		lines := wrap(text, width, 8)
		assert.Equal(t, width >= 80, text == strings.Join(lines, " "), "nothing lost at %g", width)
		for _, l := range lines {
			assert.True(t, textWidth(l, 8) <= max(width, 10), "%q at %g", l, width)
		}
	}
}

func TestEmptyFigure(t *testing.T) {
	nan := math.NaN()
	for name, panels := range map[string][]Panel{
		"no panel":       nil,
		"no series":      {{}, {}},
		"empty series":   {{Series: []Series{{Name: "a"}}}},
		"not a number":   {{Series: []Series{{X: []float64{1, nan}, Y: []float64{nan, 1}}}}},
		"log of nothing": {{Y: Axis{Log: true}, Series: []Series{{X: []float64{1, 2}, Y: []float64{0, -1}}}}},
		"line alone":     {{Lines: []Line{{C: 1}}}},
	} {
		var b strings.Builder
		f := Figure{Panels: panels}
		assert.ErrorIs(t, f.WriteSVG(&b), ErrEmpty, name)
		assert.Zero(t, b.Len(), name)
	}
}

func TestLooks(t *testing.T) {
	f := Figure{Panels: []Panel{
		{Series: []Series{{Name: "a"}, {Name: "b", Style: 5}}},
		{Series: []Series{{Name: "b", Markers: true}, {Name: "c"}, {Name: "a", Lo: []float64{}}}},
		{Series: []Series{{Name: "d", Style: 3}, {Name: "e", Style: 5}}},
	}}
	looks, legend := f.looks()
	a, b, c, d, e := numbered(0, 0), numbered(4, 4), numbered(2, 2), numbered(3, 2), numbered(5, 4)
	assert.Equal(t, [][]look{{a, b}, {b, c, a}, {d, e}}, looks)
	assert.Equal(t, []entry{{name: "a", look: a, last: 1}, {name: "b", look: b, dots: true, last: 1}, {name: "c", look: c, first: 1, last: 1},
		{name: "d", look: d, first: 2, last: 2}, {name: "e", look: e, first: 2, last: 2}}, legend)

	seen, colour := map[look]bool{}, map[string]bool{}
	for l := range 35 {
		seen[numbered(l, l)] = true
	}
	assert.Len(t, seen, 35, "all looks differ")
	legend = nil
	for i := range colours { // all of one style
		colour[enter(&legend, Series{Name: strconv.Itoa(i), Style: 8}, 0).colour] = true
	}
	assert.Len(t, colour, len(colours), "colours tell series apart")
}

func TestBandOnLogAxis(t *testing.T) {
	s := Series{X: []float64{0, 1, 2}, Y: []float64{1, 2, 3}, Lo: []float64{-1, 0, 1e-200}, Hi: []float64{2, 3, 4}}
	f := Figure{Panels: []Panel{logPanel(s)}}
	pg, err := f.layout()
	require.NoError(t, err)
	assert.Greater(t, pg.frames[0].sy.lo, -1.2)
	m := regexp.MustCompile(`<path d="([^"]*)z" fill=`).FindStringSubmatch(render(t, f))
	require.NotNil(t, m)
	points := strings.Split(strings.TrimPrefix(m[1], "M"), "L")
	require.Len(t, points, 6)
	for i, p := range points {
		x, at, _ := strings.Cut(p, " ")
		assert.True(t, strings.HasPrefix(points[5-i], x+" "), "the way back ends at the start")
		y, err := strconv.ParseFloat(at, 64)
		require.NoError(t, err)
		assert.Equal(t, i >= 3, y > pg.frames[0].h, "there along the upper edge, back along the lower one")
	}
}

func TestWriteCSV(t *testing.T) {
	f := Figure{Panels: []Panel{
		{Title: "one, two", Series: []Series{{Name: `"q"`, X: []float64{1, 0.1}, Y: []float64{math.NaN(), 1. / 3}}}},
		{Series: []Series{{Name: "b", X: []float64{1e-300}, Y: []float64{2}, Lo: []float64{1}, Hi: []float64{math.Inf(1)}}}},
	}}
	var b strings.Builder
	require.NoError(t, f.WriteCSV(&b))
	assert.Equal(t, `panel,series,x,y,lo,hi
"one, two","""q""",1,NaN,,
"one, two","""q""",0.1,0.3333333333333333,,
2,b,1e-300,2,1,+Inf
`, b.String())
}

func TestFaint(t *testing.T) {
	x, y := []float64{1, 2, 3}, []float64{3, 2, 1}
	fig := Figure{Panels: []Panel{{Series: []Series{
		{Name: "STABLE", X: x, Y: y, Style: 1},
		{Name: "a", X: x, Y: y, Lo: y, Hi: y, Markers: true, Faint: true},
		{Name: "b", X: x, Y: y, Style: 4, Faint: true},
	}}}}
	svg := render(t, fig)
	assert.Equal(t, 1, strings.Count(svg, ">others</tspan>"))
	assert.NotContains(t, svg, ">a<")
	assert.Equal(t, 3, strings.Count(svg, `stroke="#BDBDBD" stroke-width=".6"`), "two curves and the legend")
	assert.NotContains(t, svg, "fill-opacity")
	assert.Less(t, strings.Index(svg, "#BDBDBD"), strings.Index(svg, colours[0]), "behind")
	var b strings.Builder
	require.NoError(t, fig.WriteCSV(&b))
	assert.Contains(t, b.String(), ",b,", "numbers keep the names")
}

func TestTrace(t *testing.T) {
	held := (&Series{X: []float64{1, 2, 4}, Y: []float64{9, 8, 7}, Held: true}).stairs()
	assert.Equal(t, []float64{1, 2, 2, 4, 4}, held.X)
	assert.Equal(t, []float64{9, 9, 8, 8, 7}, held.Y)
	assert.Equal(t, "M0 0L1 0.5L0.75 -0.5L-0.25 -0.5", trace([]point{{0, 0}, {1, .5}, {.75, -.5}, {.75, -.501}, {-.25, -.5}}))
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale  scale // its ends are decades where it is logarithmic
		limit  int
		labels string
		minor  int
	}{
		{scale{false, 0, 1}, 6, "0.0 0.2 0.4 0.6 0.8 1.0", 0},
		{scale{false, 0, 1}, 5, "0.0 0.5 1.0", 0},
		{scale{false, -10.2, 10.2}, 6, "−10 −5 0 5 10", 0},
		{scale{false, 0, 400}, 5, "0 100 200 300 400", 0},
		{scale{false, 0, 1e6}, 6, "0 2×10^{5} 4×10^{5} 6×10^{5} 8×10^{5} 10^{6}", 0},
		{scale{false, -3e-5, 3e-5}, 4, "−2×10^{−5} 0 2×10^{−5}", 0},
		{scale{false, 1000000, 1000004}, 5,
			"10^{6} 1.000001×10^{6} 1.000002×10^{6} 1.000003×10^{6} 1.000004×10^{6}", 0},
		{scale{false, 0.4, 1.9}, 2, "0.5 1.0 1.5", 0}, // a limit of two would leave the tick at 1 alone
		{scale{true, -4, 0}, 9, "10^{−4} 10^{−3} 10^{−2} 10^{−1} 10^{0}", 4 * 8},
		{scale{true, 0, 12}, 9, "10^{0} 10^{2} 10^{4} 10^{6} 10^{8} 10^{10} 10^{12}", 6},
		{scale{true, -300, 300}, 5, "10^{−200} 10^{0} 10^{200}", 0},
		{scale{true, 0, 1}, 9, "1 2 5 10", 6},
		{scale{true, -2, -0.5}, 9, "0.01 0.02 0.05 0.1 0.2", 9 + 3 - 5},
		{scale{true, 0, 1.9}, 5, "1 3 10 30", 9 + 7 - 4},
		{scale{true, 6, 7}, 9, "10^{6} 2×10^{6} 5×10^{6} 10^{7}", 6},
		{scale{true, -7, -6}, 9, "10^{−7} 2×10^{−7} 5×10^{−7} 10^{−6}", 6},
		{scale{true, math.Log10(2.1), math.Log10(4.9)}, 4, "3 4", 0},
		{scale{true, math.Log10(21), math.Log10(24.1)}, 4, "21 22 23 24", 0},
	} {
		var labels []string
		ticks := c.scale.ticks(c.limit)
		for _, tick := range ticks {
			if tick.label != "" {
				labels = append(labels, tick.label)
			}
		}
		assert.Equal(t, c.labels, strings.Join(labels, " "), "%+v", c.scale)
		assert.Equal(t, c.minor, len(ticks)-len(labels), "%+v", c.scale)
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
