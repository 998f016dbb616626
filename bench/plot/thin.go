package plot

import "math"

// point is a place in the plot area, in points (1/72 inch) from its upper left corner; NaN: nothing
// to draw.
type point struct{ x, y float64 }

func (p point) ok() bool { return !math.IsNaN(p.x) && !math.IsNaN(p.y) }

// A line of more than maxPoints points is thinned; all thinned lines of a figure together keep
// about budget points.
const (
	maxPoints = 600
	budget    = 16_000
)

// thinner cuts a plot area into columns.
type thinner struct {
	width   float64
	columns int
}

// newThinner returns the thinner for a plot area of the given width in a figure with these panels.
// Columns are as wide as a line, or wider where the figure has many long lines.
func newThinner(panels []Panel, width float64) thinner {
	kept := 0 // points in one column of all long series
	for _, p := range panels {
		for _, s := range p.Series {
			switch {
			case len(s.X) <= maxPoints:
			case len(s.Lo) > 0:
				kept += 4 + 3 + 3 // line and two edges
			default:
				kept += 4
			}
		}
	}
	return thinner{width, max(min(budget/max(kept, 1), int(width)), 50)}
}

// extremes says which of the points in one column stay besides the first and the last.
type extremes struct{ top, bottom bool }

var bothEnds = extremes{top: true, bottom: true}

// runs splits pts at the points that cannot be drawn into unbroken lines. With more than maxPoints
// points it also thins them: of consecutive points in one column the first, the extremes and the
// last stay, in their order. A gap within one column, about as narrow as the line, is closed.
//
// A line whose x ascends keeps at most 4·(columns+2) points, for the columns and the space on
// either side of them.
func (t thinner) runs(pts []point, keep extremes) [][]point {
	thin := len(pts) > maxPoints
	var out [][]point
	var run, group []point // group: the consecutive points of one column, not yet in run
	gap := false
	for _, p := range pts {
		if !p.ok() {
			gap = true
			continue
		}
		if thin && len(group) > 0 && t.column(group[0].x) == t.column(p.x) {
			group = append(group, p)
			gap = false
			continue
		}
		run = appendThinned(run, group, keep)
		if gap && len(run) > 0 {
			out = append(out, run)
			run = nil
		}
		group = append(group[:0], p)
		gap = false
	}
	if run = appendThinned(run, group, keep); len(run) > 0 {
		out = append(out, run)
	}
	return out
}

// column is the number of the column of x: -1 on the left of the plot area, columns on its right.
func (t thinner) column(x float64) int {
	n := float64(t.columns)
	return int(math.Floor(min(max(x/t.width*n, -1), n)))
}

// appendThinned appends the first, the extreme and the last points of group to run.
func appendThinned(run, group []point, keep extremes) []point {
	if len(group) <= 2 {
		return append(run, group...)
	}
	top, bottom := 0, 0
	for i, p := range group {
		if p.y < group[top].y {
			top = i
		}
		if p.y > group[bottom].y {
			bottom = i
		}
	}
	for i, p := range group {
		if i == 0 || i == len(group)-1 || i == top && keep.top || i == bottom && keep.bottom {
			run = append(run, p)
		}
	}
	return run
}
