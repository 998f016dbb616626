package plot

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Sizes of text in points; distance of lines and width of a character relative to them.
const (
	panelSize = 8.0 // of the titles of panels and the labels of axes
	smallSize = 7.0
	lead      = 1.22
	em        = 0.58
)

const (
	mm        = 72 / 25.4 // points in a millimetre
	margin    = 3.0       // around the figure
	tickLen   = 3.0
	gap       = 12.0 // between panels
	sampleLen = 20.0 // of the line in front of a name in the legend
)

type page struct {
	w, h    float64
	caption []string
	frames  []frame
	legend  struct {
		entries []entry
		cols    int
		x, y    float64 // upper left corner
		column  float64 // distance of columns
	}
}

// frame is a panel with scales, ticks and looks, and the place of its plot area.
type frame struct {
	*Panel
	sx, sy        scale
	xt, yt        []tick
	title, xlabel []string // wrapped
	x, y, w, h    float64  // plot area
	looks         []look
	empty         bool // nothing to draw
}

func (f *Figure) layout() (*page, error) {
	n := len(f.Panels)
	cols := f.Columns
	if cols == 0 {
		cols = 3
	}
	cols = min(cols, n)
	pg := &page{w: 178 * mm, frames: make([]frame, n)}
	if cols == 1 {
		pg.w = 85 * mm
	}
	height := f.Height * mm
	if height == 0 {
		height = 0.62 * (pg.w - float64(cols-1)*gap) / float64(cols)
	}
	looks, entries := f.looks()
	drawable, left := false, 0.0
	for i := range pg.frames {
		fr := &pg.frames[i]
		fr.Panel, fr.h, fr.looks = &f.Panels[i], height, looks[i]
		x, y := fr.values()
		fr.empty = len(x) == 0
		drawable = drawable || !fr.empty
		fr.sx, fr.sy = fr.X.fit(x, 0.02), fr.Y.fit(y, 0.05)
		fr.yt = fr.sy.ticks(int(min(max(height/16, 3), 9)))
		left = max(left, fr.left())
	}
	if !drawable {
		return nil, ErrEmpty
	}
	column := (pg.w - 2*margin) / float64(cols)
	if column-left-gap < 40 {
		return nil, fmt.Errorf("plot: no room for %d columns with these labels", cols)
	}
	y := pg.arrange(cols, column, left, height)
	y = pg.placeLegend(entries, y)
	if pg.caption = wrap(f.Caption, pg.w-2*margin, smallSize); len(pg.caption) > 0 {
		y += 3 + float64(len(pg.caption))*smallSize*lead
	}
	pg.h = y + margin
	return pg, nil
}

// arrange places the plot areas, all of one size, and returns their lower end.
func (pg *page) arrange(cols int, column, left, height float64) float64 {
	titles, labels := 0, 0
	for i := range pg.frames {
		f := &pg.frames[i]
		f.x, f.w = margin+float64(i%cols)*column+left, column-left-gap
		f.xt = f.sx.fitting(f.w)
		f.title, f.xlabel = wrap(f.Title, f.w+gap, panelSize), wrap(f.X.Label, f.w, panelSize)
		titles, labels = max(titles, len(f.title)), max(labels, len(f.xlabel))
	}
	above := 6 + float64(titles)*panelSize*lead
	row := above + height + tickLen + 6 + smallSize*lead + float64(labels)*panelSize*lead
	for i := range pg.frames {
		pg.frames[i].y = margin + float64(i/cols)*row + above
	}
	return margin + float64((len(pg.frames)+cols-1)/cols)*row
}

// left is the space for the labels left of the plot area.
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

func (s scale) fitting(width float64) (list []tick) {
	used := math.Inf(1)
	for limit := 9; limit >= 3 && used > width; limit-- {
		list, used = s.ticks(limit), 0
		for _, t := range list {
			if t.label != "" {
				used += textWidth(t.label, smallSize) + smallSize
			}
		}
	}
	return list
}

// placeLegend puts the legend below y and returns its lower end.
func (pg *page) placeLegend(entries []entry, y float64) float64 {
	if len(entries) == 0 {
		return y
	}
	l := &pg.legend
	l.entries, l.y = entries, y+2
	for _, e := range entries {
		l.column = max(l.column, sampleLen+4+textWidth(e.name, smallSize)+12)
	}
	fits := min(max(int((pg.w-2*margin)/l.column), 1), len(entries))
	rows := (len(entries) + fits - 1) / fits
	l.cols = (len(entries) + rows - 1) / rows
	l.x = max((pg.w-float64(l.cols)*l.column+12)/2, margin)
	return l.y + float64(rows)*smallSize*lead
}

// span is text on the base line (level 0), raised (1) or lowered (-1).
type span struct {
	text  string
	level int
}

// spans splits marked-up text: ^{…} is raised, _{…} lowered.
func spans(s string) (out []span) {
	plain := 0
	for i := 0; i+1 < len(s); i++ {
		level := map[string]int{"^{": 1, "_{": -1}[s[i:i+2]]
		n := strings.IndexByte(s[i:], '}')
		if level == 0 || n < 0 {
			continue
		}
		if i > plain {
			out = append(out, span{s[plain:i], 0})
		}
		out = append(out, span{s[i+2 : i+n], level})
		plain = i + n + 1
		i = plain - 1
	}
	if plain < len(s) {
		out = append(out, span{s[plain:], 0})
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

// wrap breaks text at spaces into lines of about width; empty text has none.
func wrap(s string, width, size float64) (lines []string) {
	for _, word := range strings.Fields(s) {
		if k := len(lines) - 1; k >= 0 && textWidth(lines[k]+" "+word, size) <= width {
			lines[k] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
