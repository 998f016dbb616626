// Package plot draws line figures as SVG and writes their numbers as CSV. Lengths are millimetres.
//
// Curves differ in colour (Okabe, Ito, "Color universal design", 2008, without yellow) and dashes. A
// figure is only read, and always gives the same bytes.
package plot

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrEmpty says that no panel has a point that can be drawn.
var ErrEmpty = errors.New("plot: nothing to draw")

// Figure is a grid of panels over a legend and a caption: 85 mm wide with one column, else 178 mm. A
// single row has a legend for each part that shares no series with the others.
// Text may hold superscripts and subscripts, "k^{−1/2}" and "y_{k}".
type Figure struct {
	Caption string
	Panels  []Panel
	Columns int     // in a row; 0: at most 3
	Height  float64 // mm, of a plot area; 0: 0.62 of a column's width
}

// Panel draws its first series last, on top.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
	Lines  []Line
}

type Axis struct {
	Label string
	Log   bool
	Min   float64  // 0, or without a place: with the data. Curves that end below have an arrow there
	Names []string // of the values 1, 2, …; nil: numbers
}

// Series is a curve through (X[i], Y[i]) with an optional band from Lo[i] to Hi[i].
//
// NaN, values beyond ±1e300, and those below 1e-300 on a logarithmic axis break the line; there, a
// band with Lo ≤ 0 < Hi reaches the bottom. Series of one name share a look and a legend entry.
type Series struct {
	Name    string
	X, Y    []float64
	Lo, Hi  []float64 // both empty, or as long as X
	Markers bool
	Bare    bool // markers alone
	Held    bool // Y is as it was until the next X
	Style   int  // k ≥ 1: the k-th look; 0: by the order of first appearance
	Faint   bool // behind the others, in grey, under one entry of the legend
}

// Line is y = C·x^P, straight from From to To, both 0 for all the width: of slope P on logarithmic
// axes, or horizontal, P = 0, then within the y axis, and named in the legend, where no curve crosses it.
type Line struct {
	Label    string
	C, P     float64
	From, To float64
}

// huge is the largest magnitude drawn; differences do not overflow.
const huge = 1e300

func finite(v float64) bool { return math.Abs(v) <= huge }

type look struct{ colour, stroke string }

// faint is the look of series behind the others, without band and dots.
var faint = look{"#BDBDBD", ` stroke="#BDBDBD" stroke-width=".6"`}

var ruled = look{"#707070", ` stroke="#707070" stroke-width=".7"`} // of a Line

// The numbers of colours and dashes are coprime, so 35 looks differ.
var (
	colours = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}
	dashes  = []string{"none", "4.5 1.6", "1.2 1.3", "6 1.4 1.2 1.4", "6 1.2 1.2 1.2 1.2 1.2"}
)

func numbered(colour, dash int) look {
	c := colours[colour%len(colours)]
	return look{c, fmt.Sprintf(` stroke="%s" stroke-width="1.05" stroke-dasharray="%s"`, c, dashes[dash%len(dashes)])}
}

type entry struct {
	name             string
	look             look
	band, dots, bare bool
	first, last      int // panels
}

func (f *Figure) looks() (all [][]look, legend []entry) {
	for i, p := range f.Panels {
		looks := make([]look, len(p.Series))
		for j, s := range p.Series {
			if s.Faint {
				s.Name = "others"
			}
			looks[j] = enter(&legend, s, i)
		}
		all = append(all, looks)
	}
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			if e := (entry{name: l.Label, look: ruled, last: len(f.Panels)}); l.P == 0 && !slices.Contains(legend, e) {
				legend = append(legend, e)
			}
		}
	}
	return all, legend
}

// enter adds a series to a legend; no colour comes twice while there are others.
func enter(legend *[]entry, s Series, panel int) look {
	i := slices.IndexFunc(*legend, func(e entry) bool { return e.name == s.Name })
	if i < 0 {
		i = len(*legend)
		k, l := cmp.Or(s.Style, i+1)-1, faint
		for n := 0; !s.Faint && n <= len(colours); n++ {
			if l = numbered(k+n, k); !slices.ContainsFunc(*legend, func(e entry) bool { return e.look.colour == l.colour }) {
				break
			}
		}
		*legend = append(*legend, entry{name: s.Name, look: l, bare: s.Bare, first: panel})
	}
	e := &(*legend)[i]
	e.last, e.band = panel, e.band || len(s.Lo) > 0 && !s.Faint
	e.dots = e.dots || s.Markers && !s.Faint
	return e.look
}

// WriteCSV writes panel,series,x,y,lo,hi, exactly; panels without a title have a number from 1.
func (f *Figure) WriteCSV(w io.Writer) error {
	exact := func(v []float64, k int) string {
		if k >= len(v) {
			return ""
		}
		return strconv.FormatFloat(v[k], 'g', -1, 64)
	}
	rows := [][]string{{"panel", "series", "x", "y", "lo", "hi"}}
	for i, p := range f.Panels {
		panel := cmp.Or(p.Title, strconv.Itoa(i+1))
		for _, s := range p.Series {
			for k := range s.X {
				rows = append(rows, []string{panel, s.Name, exact(s.X, k), exact(s.Y, k), exact(s.Lo, k), exact(s.Hi, k)})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// Lengths are points; lead and em are relative to the size of text.
const (
	panelSize = 8.0 // of the titles of panels and the labels of axes
	smallSize = 7.0
	lead      = 1.22 // distance of lines
	em        = 0.58 // width of a character
	mm        = 72 / 25.4
	margin    = 3.0 // around the figure
	tickLen   = 3.0
	gap       = 12.0 // between panels
	sampleLen = 20.0 // of the line in front of a name in the legend
)

type page struct {
	w, h    float64
	caption []string
	frames  []frame
}

type legend struct {
	entries []entry
	cols    int
	x, y    float64 // upper left corner
	column  float64 // distance of columns
}

type frame struct {
	*Panel
	sx, sy        scale
	xt, yt        []tick
	title, xlabel []string // wrapped
	x, y, w, h    float64  // plot area
	looks         []look
	legend        legend // also of frames to the right
	empty         bool   // nothing to draw
}

func (f *Figure) layout() (*page, error) {
	n := len(f.Panels)
	cols := min(cmp.Or(f.Columns, 3), n)
	pg := &page{w: map[bool]float64{true: 85 * mm, false: 178 * mm}[cols == 1], frames: make([]frame, n)}
	height := cmp.Or(f.Height*mm, 0.62*(pg.w-float64(cols-1)*gap)/float64(cols))
	looks, entries := f.looks()
	left := 0.0
	for i := range pg.frames {
		fr := &pg.frames[i]
		fr.Panel, fr.h, fr.looks = &f.Panels[i], height, looks[i]
		x, y := fr.values()
		fr.empty = len(x) == 0
		fr.sx, fr.sy = fr.X.fit(x, 0.02), fr.Y.fit(y, 0.05)
		fr.yt = fr.Y.named(fr.sy.ticks(int(min(max(height/16, 3), 9))))
		left = max(left, fr.left())
	}
	if !slices.ContainsFunc(pg.frames, func(f frame) bool { return !f.empty }) {
		return nil, ErrEmpty
	}
	column := (pg.w - 2*margin) / float64(cols)
	y := pg.arrange(cols, column, left, height)
	top, from := y, 0
	for to := 1; to <= cols; to++ {
		if to < cols && (n > cols || slices.ContainsFunc(entries, func(e entry) bool {
			return e.first < to && to <= e.last || e.width() > column
		})) {
			continue
		}
		l := &pg.frames[from].legend
		l.entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.first < from || e.first >= to && to < cols })
		y, from = max(y, l.place(margin+float64(from)*column, top, float64(to-from)*column)), to
	}
	if pg.caption = wrap(f.Caption, pg.w-2*margin, smallSize); len(pg.caption) > 0 {
		y += 3 + float64(len(pg.caption))*smallSize*lead
	}
	pg.h = y + margin
	return pg, nil
}

func (pg *page) arrange(cols int, column, left, height float64) float64 {
	y := margin
	for first := 0; first < len(pg.frames); first += cols {
		row := pg.frames[first:min(first+cols, len(pg.frames))]
		titles, labels := 0, 0
		for i := range row {
			f := &row[i]
			f.x, f.w = margin+float64(i)*column+left, column-left-gap
			f.xt = f.X.named(f.sx.fitting(f.w))
			f.title, f.xlabel = wrap(f.Title, f.w+gap, panelSize), wrap(f.X.Label, f.w, panelSize)
			titles, labels = max(titles, len(f.title)), max(labels, len(f.xlabel))
		}
		y += 6 + float64(titles)*panelSize*lead
		for i := range row {
			row[i].y = y
		}
		y += height + tickLen + 6 + smallSize*lead + float64(labels)*panelSize*lead
	}
	return y
}

func (f *frame) left() float64 {
	w := gap
	for _, t := range f.yt {
		w = max(w, tickLen+2+textWidth(t.label, smallSize))
	}
	if f.Y.Label != "" {
		w += 3 + panelSize*lead
	}
	return w
}

func (a Axis) named(list []tick) []tick {
	for i, name := range a.Names {
		list = append(list[:i], tick{float64(i + 1), cut(name, 20)})
	}
	return list
}

func (s scale) fitting(length float64) (list []tick) {
	for limit := 9; limit >= 3; limit-- {
		list = s.ticks(limit)
		end, whole := math.Inf(-1), true
		for i, t := range list {
			if t.label == "" {
				continue
			}
			at, half := length*(t.at-s.lo)/(s.hi-s.lo), (textWidth(t.label, smallSize)+smallSize/2)/2
			if at-half < end {
				whole, list[i].label = false, ""
			} else {
				end = at + half
			}
		}
		if whole {
			break
		}
	}
	return list
}

func (e entry) width() float64 { return sampleLen + 4 + textWidth(e.name, smallSize) + 12 }

func (l *legend) place(x, y, width float64) float64 {
	if len(l.entries) == 0 {
		return y
	}
	l.y = y + 2
	for _, e := range l.entries {
		l.column = max(l.column, e.width())
	}
	fits := min(max(int(width/l.column), 1), len(l.entries))
	rows := (len(l.entries) + fits - 1) / fits
	l.cols = (len(l.entries) + rows - 1) / rows
	l.x = x + max((width-float64(l.cols)*l.column+12)/2, 0)
	return l.y + float64(rows)*smallSize*lead
}

// span is text on the base line (level 0), raised (1) or lowered (-1).
type span struct {
	text  string
	level int
}

var shifted = regexp.MustCompile(`[\^_]\{[^}]*\}`)

// spans splits marked-up text: ^{…} is raised, _{…} lowered.
func spans(s string) (out []span) {
	for s != "" {
		at := shifted.FindStringIndex(s)
		if at == nil {
			return append(out, span{s, 0})
		}
		if at[0] > 0 {
			out = append(out, span{s[:at[0]], 0})
		}
		out = append(out, span{s[at[0]+2 : at[1]-1], map[byte]int{'^': 1, '_': -1}[s[at[0]]]})
		s = s[at[1]:]
	}
	return out
}

func textWidth(s string, size float64) float64 {
	n := 0
	for _, sp := range spans(s) {
		n += utf8.RuneCountInString(sp.text)
	}
	return em * size * float64(n)
}

func cut(text string, most int) string {
	name := []rune(text)
	if n := len(name); n > most {
		name = slices.Concat(name[:most/2], []rune("…"), name[n-most/2+1:])
	}
	return string(name)
}

func wrap(s string, width, size float64) (lines []string) {
	for _, word := range strings.Fields(s) {
		word = cut(word, max(2, int(width/(em*size))))
		if k := len(lines) - 1; k >= 0 && textWidth(lines[k]+" "+word, size) <= width {
			lines[k] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
