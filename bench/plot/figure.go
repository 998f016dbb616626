package plot

import (
	"errors"
	"fmt"
	"math"
)

// ErrEmpty says that no panel has a point that can be drawn.
var ErrEmpty = errors.New("plot: nothing to draw")

// Figure is a grid of panels under one title, with one caption.
//
// Every text may hold superscripts and subscripts, as in "k^{−1/2}" and "y_{k}".
type Figure struct {
	Title   string  // above all panels; empty: none
	Caption string  // below all panels, in small print; empty: none
	Panels  []Panel // row by row
	Columns int     // panels in a row; 0: at most 3. Valid: ≥ 0
	Width   float64 // mm, of the whole figure; 0: 85 with one column, else 178. Valid: 40 to 1000
	Height  float64 // mm, of the plot area of one panel; 0: 0.62 of a column's width. Valid: 15 to 1000
}

// Panel is one pair of axes with what is drawn on them. The first series is drawn last, on top of
// the others.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
	Lines  []Line
}

// Axis is one axis of a panel.
//
// On a linear axis Min and Max form a pair: if both are 0 the axis shows the range of the data,
// otherwise the range from Min to Max. On a logarithmic axis, each one that is 0 comes from the
// data.
type Axis struct {
	Label    string
	Log      bool
	Min, Max float64 // the range shown; Min < Max, and both positive where given on a logarithmic axis
}

// Series is a curve through the points (X[i], Y[i]) with an optional band from Lo[i] to Hi[i].
//
// A point with a NaN, an infinite value, a value beyond ±1e300, or a value ≤ 0 on a logarithmic
// axis is skipped, and the line is broken there. On a logarithmic y axis a band with Lo ≤ 0 < Hi
// reaches to the bottom. A series of more than 600 points is thinned for the picture; this bounds
// the size of the file where X ascends.
//
// Series of one name look the same in all panels of a figure and share one entry of the legend; a
// series without a name has no entry. A series without points is still in the legend.
type Series struct {
	Name    string
	X, Y    []float64
	Lo, Hi  []float64 // both empty, or as long as X
	Markers bool      // mark the points; of many points about a dozen, evenly spaced
	Style   int       // k ≥ 1: the k-th look, for equal looks in several figures; 0: by the order of first appearance
	Faint   bool      // stands behind the others, in grey, under one entry of the legend for all such series
}

// Line is the reference line y = C·x^P: horizontal for P = 0, of slope P where both axes are
// logarithmic. A horizontal line extends the range of the y axis; others do not. For P < 0 it is
// drawn where x > 0. The label stands along the line where it covers least, and is left out where
// the visible part of the line is shorter.
type Line struct {
	Label    string
	C, P     float64
	From, To float64 // range of x; both 0: the whole axis
}

// check returns an error that names a field which cannot be drawn.
func (f *Figure) check() error {
	switch {
	case f.Columns < 0:
		return fmt.Errorf("plot: Figure.Columns = %d is negative", f.Columns)
	case f.Width != 0 && !(f.Width >= 40 && f.Width <= 1000):
		return fmt.Errorf("plot: Figure.Width = %g mm is not in [40, 1000]", f.Width)
	case f.Height != 0 && !(f.Height >= 15 && f.Height <= 1000):
		return fmt.Errorf("plot: Figure.Height = %g mm is not in [15, 1000]", f.Height)
	}
	for i := range f.Panels {
		if err := f.Panels[i].check(); err != nil {
			return fmt.Errorf("plot: panel %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *Panel) check() error {
	if err := p.X.check("X"); err != nil {
		return err
	}
	if err := p.Y.check("Y"); err != nil {
		return err
	}
	for i, s := range p.Series {
		n := len(s.X)
		switch {
		case len(s.Y) != n:
			return fmt.Errorf("series %d (%q): %d values in X, %d in Y", i+1, s.Name, n, len(s.Y))
		case len(s.Lo) != len(s.Hi) || len(s.Lo) != 0 && len(s.Lo) != n:
			return fmt.Errorf("series %d (%q): %d values in X, %d in Lo, %d in Hi",
				i+1, s.Name, n, len(s.Lo), len(s.Hi))
		case s.Style < 0:
			return fmt.Errorf("series %d (%q): Style = %d is negative", i+1, s.Name, s.Style)
		}
	}
	for i, l := range p.Lines {
		if !finite(l.C) || !finite(l.P) || !finite(l.From) || !finite(l.To) || l.From > l.To {
			return fmt.Errorf("line %d (%q): C, P, From, To must be finite, From ≤ To", i+1, l.Label)
		}
	}
	return nil
}

// check returns an error that names a field of the axis which cannot be drawn.
func (a Axis) check(name string) error {
	switch {
	case !finite(a.Min):
		return fmt.Errorf("%s.Min = %g is not finite", name, a.Min)
	case !finite(a.Max):
		return fmt.Errorf("%s.Max = %g is not finite", name, a.Max)
	case a.Log && (a.Min < 0 || a.Max < 0):
		return fmt.Errorf("%s.Min, Max = %g, %g: negative on a logarithmic axis", name, a.Min, a.Max)
	case a.Log && (a.Min == 0 || a.Max == 0):
		return nil
	case a.Min > a.Max, a.Min == a.Max && a.Min != 0:
		return fmt.Errorf("%s.Min = %g is not below Max = %g", name, a.Min, a.Max)
	}
	return nil
}

// huge is the largest magnitude that is drawn; differences of such values do not overflow.
const huge = 1e300

func finite(v float64) bool { return math.Abs(v) <= huge }

// look is how a series is drawn: indices into colours, dashes and marks, each taken modulo their
// number.
type look int

// faint is the look of series that stand behind the others: grey, thin, without band and marks.
const faint look = -1

// Seven colours, five dashes and six marks: the numbers are coprime, so 210 looks differ.
var (
	colours = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}
	dashes  = []string{"", "4.5 1.6", "1.2 1.3", "6 1.4 1.2 1.4", "6 1.2 1.2 1.2 1.2 1.2"}
)

const markShapes = 6

func (l look) colour() string {
	if l == faint {
		return "#BDBDBD"
	}
	return colours[int(l)%len(colours)]
}

func (l look) dash() string {
	if l == faint {
		return ""
	}
	return dashes[int(l)%len(dashes)]
}

// entry is one line of the legend.
type entry struct {
	name string
	look look
	band bool
	mark bool
}

// faintName is the entry of all faint series in the legend.
const faintName = "others"

// looks returns the look of every series, panel by panel, and the entries of the legend in order of
// first appearance. A series without a name counts with its place in the panel.
func (f *Figure) looks() ([][]look, []entry) {
	var entries []entry
	index := map[string]int{}
	all := make([][]look, len(f.Panels))
	for i, p := range f.Panels {
		all[i] = make([]look, len(p.Series))
		for j, s := range p.Series {
			l := look(j)
			name := s.Name
			if s.Faint { // all under one entry
				name = faintName
			}
			k, seen := index[name]
			if name != "" {
				if !seen {
					k = len(entries)
					index[name] = k
					entries = append(entries, entry{name: name, look: look(k)})
					switch {
					case s.Faint:
						entries[k].look = faint
					case s.Style > 0:
						entries[k].look = look(s.Style - 1)
					}
				}
				l = entries[k].look
				entries[k].band = entries[k].band || len(s.Lo) > 0 && !s.Faint
				entries[k].mark = entries[k].mark || s.Markers && !s.Faint
			} else if s.Style > 0 {
				l = look(s.Style - 1)
			}
			all[i][j] = l
		}
	}
	return all, entries
}
