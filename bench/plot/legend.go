package plot

import "math"

// legend is the list of entries with its place: inside the plot area of the only panel, or below
// all panels.
type legend struct {
	entries []entry
	names   [][]string // wrapped
	cols    int
	x, y    float64 // upper left corner
	w, h    float64
	column  float64 // distance of columns
	rows    []float64
}

const (
	sampleLen = 20.0 // of the line in front of a name
	sampleGap = 4.0
	legendPad = 3.0
)

// placeLegend puts the legend of a single panel into its emptiest corner, if it covers nothing
// there; else below the panels, whose lower end is y. It returns the lower end of both.
func (pg *page) placeLegend(entries []entry, y float64) float64 {
	if len(entries) == 0 {
		return y
	}
	l := &pg.legend
	if len(pg.frames) == 1 {
		f := &pg.frames[0]
		if l.arrange(entries, 1, math.Inf(1)); l.h <= 0.6*f.h && l.w <= 0.6*f.w && l.inside(f) {
			return y
		}
	}
	width := pg.w - 2*margin
	longest := 0.0
	for _, e := range entries {
		longest = max(longest, textWidth(e.name, legendSize))
	}
	fits := int(width / (sampleLen + sampleGap + longest + 12))
	fits = min(max(fits, 1), len(entries))
	rows := (len(entries) + fits - 1) / fits
	l.arrange(entries, (len(entries)+rows-1)/rows, width)
	l.x, l.y = max((pg.w-l.w)/2, margin), y
	if len(pg.frames) == 1 { // centred below the plot area rather than the figure, where there is room
		f := &pg.frames[0]
		l.x = min(max(f.x+(f.w-l.w)/2, margin), max(pg.w-margin-l.w, margin))
	}
	return y + l.h
}

// arrange sets the names in the given number of columns, row by row, no wider than width.
func (l *legend) arrange(entries []entry, cols int, width float64) {
	room := width/float64(cols) - sampleLen - sampleGap - 2*legendPad
	*l = legend{entries: entries, cols: cols}
	text := 0.0
	for i, e := range entries {
		lines := wrap(e.name, room, legendSize)
		l.names = append(l.names, lines)
		text = max(text, widest(lines, legendSize))
		h := float64(max(len(lines), 1)) * legendSize * lead
		if i%cols == 0 {
			l.rows = append(l.rows, 0)
		}
		l.rows[i/cols] = max(l.rows[i/cols], h)
	}
	l.column = sampleLen + sampleGap + text + 12
	l.w = float64(cols)*l.column - 12 + 2*legendPad
	l.h = 2 * legendPad
	for _, h := range l.rows {
		l.h += h
	}
}

// inside puts the legend into a corner of f, or the middle of its upper or lower side, where it
// covers no ink.
func (l *legend) inside(f *frame) bool {
	const edge = 3.0
	right, bottom := f.w-l.w-edge, f.h-l.h-edge
	for _, c := range []point{
		{right, edge}, {right, bottom}, {edge, bottom}, {edge, edge}, {right / 2, edge}, {right / 2, bottom},
	} {
		if f.ink.cost(c.x, c.y+l.h, l.w, l.h, 0) == 0 {
			f.ink.box(c.x, c.y, l.w, l.h)
			l.x, l.y = f.x+c.x, f.y+c.y
			return true
		}
	}
	return false
}
