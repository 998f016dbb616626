package plot

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

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
	legend  legend
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
	empty         bool // nothing to draw
}

func (f *Figure) layout() (*page, error) {
	n := len(f.Panels)
	cols := min(cmp.Or(f.Columns, 3), n)
	pg := &page{w: 178 * mm, frames: make([]frame, n)}
	if cols == 1 {
		pg.w = 85 * mm
	}
	height := cmp.Or(f.Height*mm, 0.62*(pg.w-float64(cols-1)*gap)/float64(cols))
	looks, entries := f.looks()
	drawable, left := false, 0.0
	for i := range pg.frames {
		fr := &pg.frames[i]
		fr.Panel, fr.h, fr.looks = &f.Panels[i], height, looks[i]
		x, y := fr.values()
		fr.empty = len(x) == 0
		drawable = drawable || !fr.empty
		fr.sx, fr.sy = fr.X.fit(x, 0.02), fr.Y.fit(y, 0.05)
		fr.yt = fr.Y.named(fr.sy.ticks(int(min(max(height/16, 3), 9))))
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
	pg.legend.entries = entries
	y = pg.legend.place(margin, y, pg.w-2*margin)
	if pg.caption = wrap(f.Caption, pg.w-2*margin, smallSize); len(pg.caption) > 0 {
		y += 3 + float64(len(pg.caption))*smallSize*lead
	}
	pg.h = y + margin
	return pg, nil
}

// arrange places the panels, and returns their lower end.
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
		list = append(list[:i], tick{float64(i + 1), name})
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

// place puts the legend below y, and returns its lower end.
func (l *legend) place(x, y, width float64) float64 {
	if len(l.entries) == 0 {
		return y
	}
	l.y = y + 2
	for _, e := range l.entries {
		l.column = max(l.column, sampleLen+4+textWidth(e.name, smallSize)+12)
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

// wrap breaks text at spaces.
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
