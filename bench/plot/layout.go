package plot

import (
	"fmt"
	"math"
)

// Sizes of text, in points, and the distance of lines relative to them.
const (
	titleSize  = 9.0
	panelSize  = 8.0
	labelSize  = 8.0
	tickSize   = 7.0
	legendSize = 7.0
	noteSize   = 7.0
	lead       = 1.22
	bold       = 1.1 // width of bold text relative to upright text
)

const (
	mm       = 72 / 25.4 // points in a millimetre
	margin   = 3.0       // around the figure
	tickLen  = 3.0
	minorLen = 1.8
	gap      = 10.0 // between panels
)

// page is a figure with all places fixed.
type page struct {
	w, h    float64
	title   []string
	caption []string
	frames  []frame
	legend  legend
}

// layout fixes all places: first what stands left of the plot areas, then their width, then the
// rows from the top.
func (f *Figure) layout() (*page, error) {
	n := len(f.Panels)
	cols := f.Columns
	if cols == 0 {
		cols = 3
	}
	cols = min(cols, n)
	pg := &page{w: f.Width * mm, frames: make([]frame, n)}
	if pg.w == 0 {
		pg.w = 178 * mm
		if cols == 1 {
			pg.w = 85 * mm
		}
	}
	height := f.Height * mm
	if height == 0 {
		height = 0.62 * (pg.w - float64(cols-1)*gap) / float64(cols)
	}
	if drawable := pg.scales(f.Panels, height); !drawable {
		return nil, ErrEmpty
	}
	if err := pg.columns(cols); err != nil {
		return nil, err
	}

	pg.title = wrap(f.Title, pg.w-2*margin, bold*titleSize)
	y := margin + float64(len(pg.title))*titleSize*lead
	if len(pg.title) > 0 {
		y += 3
	}
	for first := 0; first < n; first += cols {
		y = layoutRow(pg.frames[first:min(first+cols, n)], y)
	}

	looks, entries := f.looks()
	for i := range pg.frames {
		fr := &pg.frames[i]
		fr.thin = newThinner(f.Panels, fr.w)
		fr.prepare(looks[i])
	}
	y = pg.placeLegend(entries, y)
	pg.labelLines()
	pg.caption = wrap(f.Caption, pg.w-2*margin, noteSize)
	if len(pg.caption) > 0 {
		y += 3 + float64(len(pg.caption))*noteSize*lead
	}
	pg.h = y + margin
	return pg, nil
}

// scales sets the scales of all panels and whether any of them has something to draw.
func (pg *page) scales(panels []Panel, height float64) (drawable bool) {
	for i := range pg.frames {
		f := &pg.frames[i]
		f.Panel, f.h = &panels[i], height
		x, y := f.ranges()
		f.empty = x.empty()
		drawable = drawable || !f.empty
		f.sx, f.sy = f.X.fit(x, 0.02), f.Y.fit(y, 0.05)
		limit := height / 20
		if f.sy.log {
			limit = height / 16
		}
		f.yt = f.sy.ticks(int(min(max(limit, 3), 9)))
		f.ylabel = wrap(f.Y.Label, height, labelSize)
	}
	return drawable
}

// left is the space for the labels on the left of the plot area.
func (f *frame) left() float64 {
	w := tickLen + 2 + widest(f.yt.labels, tickSize)
	if len(f.ylabel) > 0 {
		w += 3 + float64(len(f.ylabel))*labelSize*lead
	}
	return w
}

// columns sets the widths and the ticks of the x axes. Plot areas are equally wide, and aligned in
// each column.
func (pg *page) columns(cols int) error {
	left := make([]float64, cols)
	for i := range pg.frames {
		left[i%cols] = max(left[i%cols], pg.frames[i].left())
	}
	right := 4.0
	var w float64
	for range 2 { // the second time with the space that the labels of the x axes need beyond their ends
		sum := 0.0
		for _, l := range left {
			sum += l
		}
		w = (pg.w - 2*margin - sum - right - float64(cols-1)*max(gap, right)) / float64(cols)
		if w < 40 {
			return fmt.Errorf("plot: Figure.Width = %.0f mm is too small for %d columns with these labels",
				pg.w/mm, cols)
		}
		for i := range pg.frames {
			f := &pg.frames[i]
			f.w = w
			f.xt = f.xticks()
			before, after := f.overhang()
			left[i%cols], right = max(left[i%cols], before), max(right, after)
		}
	}
	x := margin
	for c := range left {
		x += left[c]
		for i := c; i < len(pg.frames); i += cols {
			pg.frames[i].x = x
		}
		x += w + max(gap, right)
	}
	for i := range pg.frames {
		f := &pg.frames[i]
		f.title = wrap(f.Title, f.w, bold*panelSize)
		room := f.w
		if f.xt.note != "" { // the note stands at the right end of the same line, the label in the middle
			room = max(room-2*textWidth(f.xt.note, tickSize)-8, room/3)
		}
		f.xlabel = wrap(f.X.Label, room, labelSize)
	}
	return nil
}

// xticks returns as many ticks as fit side by side.
func (f *frame) xticks() ticks {
	limit := int(min(max(f.w/22, 3), 9))
	for ; ; limit-- {
		t := f.sx.ticks(limit)
		end, fits := math.Inf(-1), true
		for i, v := range t.major {
			at, half := f.w*(v-f.sx.lo)/(f.sx.hi-f.sx.lo), textWidth(t.labels[i], tickSize)/2
			fits = fits && at-half >= end+4
			end = at + half
		}
		if fits || limit <= 3 {
			return t
		}
	}
}

// overhang is how far the labels of the x axis reach beyond the plot area on its left and right.
func (f *frame) overhang() (before, after float64) {
	for i, v := range f.xt.major {
		at, half := f.w*(v-f.sx.lo)/(f.sx.hi-f.sx.lo), textWidth(f.xt.labels[i], tickSize)/2
		before, after = max(before, half-at), max(after, at+half-f.w)
	}
	return before, after
}

// layoutRow places one row of panels below y and returns its lower end.
func layoutRow(row []frame, y float64) float64 {
	above, below := 4.0, 0.0
	for i := range row {
		f := &row[i]
		top := 4.0
		if len(f.title) > 0 {
			top = 5 + float64(len(f.title))*panelSize*lead
		}
		if f.yt.note != "" {
			top += tickSize * lead
		}
		above = max(above, top)
		bottom := tickLen + 1 + tickSize*lead
		if len(f.xlabel) > 0 || f.xt.note != "" {
			bottom += 2 + float64(max(len(f.xlabel), 1))*labelSize*lead
		}
		below = max(below, bottom)
	}
	for i := range row {
		row[i].y = y + above
	}
	return y + above + row[0].h + below + 4
}

// labelLines places the labels of the reference lines; a label without a place is dropped with an
// empty string.
func (pg *page) labelLines() {
	for i := range pg.frames {
		f := &pg.frames[i]
		for j := range f.refs {
			if r := &f.refs[j]; r.Label != "" && !f.label(r, tickSize) {
				r.Label = ""
			}
		}
	}
}
