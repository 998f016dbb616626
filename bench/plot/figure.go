package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEmpty says that no panel has a point that can be drawn.
var ErrEmpty = errors.New("plot: nothing to draw")

// Figure is a grid of panels over one legend and one caption: 85 mm wide with one column, else 178
// mm. Text may hold superscripts and subscripts, "k^{−1/2}" and "y_{k}".
type Figure struct {
	Caption string  // empty: none
	Panels  []Panel // row by row
	Columns int     // panels in a row; 0: at most 3. Valid: ≥ 0
	Height  float64 // mm, of the plot area of one panel; 0: 0.62 of a column's width. Valid: 15 to 1000
}

// Panel is one pair of axes. The first series is drawn last, on top.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
	Lines  []Line
}

// Axis shows the range of the data.
type Axis struct {
	Label string
	Log   bool
	Min   float64 // where the axis begins; 0: with the data. Positive on a logarithmic axis
}

// Series is a curve through (X[i], Y[i]) with an optional band from Lo[i] to Hi[i].
//
// NaN, values beyond ±1e300, and those below 1e-300 on a logarithmic axis break the line; there, a
// band with Lo ≤ 0 < Hi reaches the bottom. More than 600 points are thinned in the picture. Series
// of one name share a look and a legend entry, also without points; one without a name has none.
type Series struct {
	Name    string
	X, Y    []float64
	Lo, Hi  []float64 // both empty, or as long as X
	Markers bool      // mark the points with dots
	Style   int       // k ≥ 1: the k-th look, for equal looks in several figures; 0: by the order of first appearance
	Faint   bool      // stands behind the others, in grey, under one entry of the legend for all such series
}

// Line is y = C·x^P with its label along the right end: horizontal for P = 0, then extending the y
// axis; of slope P on logarithmic axes; for P < 0 at x > 0.
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
	case f.Height != 0 && !(f.Height >= 15 && f.Height <= 1000):
		return fmt.Errorf("plot: Figure.Height = %g mm is not in [15, 1000]", f.Height)
	}
	for i, p := range f.Panels {
		err := cmp.Or(p.X.check("X"), p.Y.check("Y"))
		for j, s := range p.Series {
			if e := s.check(); err == nil && e != nil {
				err = fmt.Errorf("series %d (%q): %w", j+1, s.Name, e)
			}
		}
		for j, l := range p.Lines {
			if err == nil && !(finite(l.C) && finite(l.P) && finite(l.From) && finite(l.To) && l.From <= l.To) {
				err = fmt.Errorf("line %d (%q): C, P, From, To must be finite, From ≤ To", j+1, l.Label)
			}
		}
		if err != nil {
			return fmt.Errorf("plot: panel %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Series) check() error {
	n := len(s.X)
	switch {
	case len(s.Y) != n:
		return fmt.Errorf("%d values in X, %d in Y", n, len(s.Y))
	case len(s.Lo) != len(s.Hi) || len(s.Lo) != 0 && len(s.Lo) != n:
		return fmt.Errorf("%d values in X, %d in Lo, %d in Hi", n, len(s.Lo), len(s.Hi))
	case s.Style < 0:
		return fmt.Errorf("Style = %d is negative", s.Style)
	}
	return nil
}

func (a Axis) check(name string) error {
	if !finite(a.Min) || a.Log && a.Min < 0 {
		return fmt.Errorf("%s.Min = %g: not finite, or negative on a logarithmic axis", name, a.Min)
	}
	return nil
}

// huge is the largest magnitude drawn; differences do not overflow.
const huge = 1e300

func finite(v float64) bool { return math.Abs(v) <= huge }

type look struct{ colour, stroke string }

// faint is the look of series behind the others, without band and dots.
var faint = look{"#BDBDBD", ` stroke="#BDBDBD" stroke-width=".6"`}

// Seven colours and five dashes: the numbers are coprime, so 35 looks differ.
var (
	colours = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}
	dashes  = []string{"none", "4.5 1.6", "1.2 1.3", "6 1.4 1.2 1.4", "6 1.2 1.2 1.2 1.2 1.2"}
)

func numbered(k int) look {
	colour := colours[k%len(colours)]
	return look{colour, fmt.Sprintf(` stroke="%s" stroke-width="1.05" stroke-dasharray="%s"`, colour, dashes[k%len(dashes)])}
}

type entry struct {
	name       string
	look       look
	band, dots bool
}

// looks returns each series' look, panel by panel, and the legend's entries in order of appearance.
// A series without a name counts with its place.
func (f *Figure) looks() ([][]look, []entry) {
	var entries []entry
	all := make([][]look, len(f.Panels))
	for i, p := range f.Panels {
		for j, s := range p.Series {
			name, l := s.Name, numbered(j)
			switch {
			case s.Faint:
				name, l = "others", faint
			case s.Style > 0:
				l = numbered(s.Style - 1)
			case name != "":
				l = numbered(len(entries))
			}
			if name != "" {
				k := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
				if k < 0 {
					k = len(entries)
					entries = append(entries, entry{name: name, look: l})
				}
				e := &entries[k]
				e.band = e.band || len(s.Lo) > 0 && !s.Faint
				e.dots = e.dots || s.Markers && !s.Faint
				l = e.look
			}
			all[i] = append(all[i], l)
		}
	}
	return all, entries
}
