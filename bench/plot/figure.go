// Package plot draws line figures as SVG and writes their numbers as CSV. Lengths are millimetres.
//
// Curves differ in colour (Okabe, Ito, "Color universal design", 2008, without yellow) and dashes.
// Long ones are thinned as M4 does (Jugel, Jerzak, Hackenbroich, Markl, VLDB 2014), so peaks survive.
// A figure is only read, and always gives the same bytes.
package plot

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// ErrEmpty says that no panel has a point that can be drawn.
var ErrEmpty = errors.New("plot: nothing to draw")

// Figure is a grid of panels over a legend of what they share and a caption: 85 mm wide with one column, else 178
// mm. Text may hold superscripts and subscripts, "k^{−1/2}" and "y_{k}".
type Figure struct {
	Caption string
	Panels  []Panel
	Columns int     // in a row; 0: at most 3
	Height  float64 // mm, of a plot area, 15 to 1000; 0: 0.62 of a column's width
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
	Min   float64  // 0: with the data. Curves that end below have an arrow there
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
	Style   int  // k ≥ 1: the k-th look; 0: by the order of first appearance
	Faint   bool // behind the others, in grey, under one entry of the legend
}

// Line is y = C·x^P with its label along the right end: horizontal for P = 0, then extending the y
// axis; of slope P on logarithmic axes; for P < 0 at x > 0.
type Line struct {
	Label    string
	C, P     float64
	From, To float64
}

func (f *Figure) check() error {
	if f.Columns < 0 || f.Height != 0 && !(f.Height >= 15 && f.Height <= 1000) {
		return fmt.Errorf("plot: Figure.Columns = %d is negative, or Height = %g mm not in [15, 1000]", f.Columns, f.Height)
	}
	for i, p := range f.Panels {
		for j, a := range []Axis{p.X, p.Y} {
			if !finite(a.Min) || a.Log && a.Min < 0 {
				return fmt.Errorf("plot: panel %d: %c.Min = %g: not finite, or negative on a logarithmic axis", i+1, 'X'+j, a.Min)
			}
		}
		for j, s := range p.Series {
			if n := len(s.X); len(s.Y) != n || len(s.Lo) != len(s.Hi) || len(s.Lo) != 0 && len(s.Lo) != n || s.Style < 0 {
				return fmt.Errorf("plot: panel %d: series %d (%q): %d values in X, %d in Y, %d in Lo, %d in Hi, Style = %d",
					i+1, j+1, s.Name, n, len(s.Y), len(s.Lo), len(s.Hi), s.Style)
			}
		}
		for j, l := range p.Lines {
			if !(finite(l.C) && finite(l.P) && finite(l.From) && finite(l.To) && l.From <= l.To) {
				return fmt.Errorf("plot: panel %d: line %d (%q): C, P, From, To must be finite, From ≤ To", i+1, j+1, l.Label)
			}
		}
	}
	return nil
}

// huge is the largest magnitude drawn; differences do not overflow.
const huge = 1e300

func finite(v float64) bool { return math.Abs(v) <= huge }

type look struct{ colour, stroke string }

// faint is the look of series behind the others, without band and dots.
var faint = look{"#BDBDBD", ` stroke="#BDBDBD" stroke-width=".6"`}

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
	name       string
	look       look
	band, dots bool
}

// looks returns each series' look, and legends: of each panel that shares no name, and of all others.
func (f *Figure) looks() (all [][]look, legends [][]entry) {
	legends = make([][]entry, len(f.Panels)+1)
	for i, p := range f.Panels {
		legend := &legends[len(f.Panels)]
		if f.alone(i) {
			legend = &legends[i]
		}
		looks := make([]look, len(p.Series))
		for j, s := range p.Series {
			if s.Faint {
				s.Name = "others"
			}
			if looks[j] = numbered(cmp.Or(s.Style, j+1)-1, cmp.Or(s.Style, j+1)-1); s.Name != "" {
				looks[j] = enter(legend, s)
			}
		}
		all = append(all, looks)
	}
	return all, legends
}

// enter adds a series to a legend; no colour comes twice while there are others.
func enter(legend *[]entry, s Series) look {
	i := slices.IndexFunc(*legend, func(e entry) bool { return e.name == s.Name })
	if i < 0 {
		i = len(*legend)
		k, l := cmp.Or(s.Style, i+1)-1, faint
		for n := 0; !s.Faint && n <= len(colours); n++ {
			if l = numbered(k+n, k); !slices.ContainsFunc(*legend, func(e entry) bool { return e.look.colour == l.colour }) {
				break
			}
		}
		*legend = append(*legend, entry{name: s.Name, look: l})
	}
	e := &(*legend)[i]
	e.band = e.band || len(s.Lo) > 0 && !s.Faint
	e.dots = e.dots || s.Markers && !s.Faint
	return e.look
}

func (f *Figure) alone(i int) bool {
	for j, p := range f.Panels {
		for _, s := range p.Series {
			if j != i && slices.ContainsFunc(f.Panels[i].Series, func(t Series) bool {
				return s.Name != "" && s.Name == t.Name || s.Faint && t.Faint
			}) {
				return false
			}
		}
	}
	return len(f.Panels) > 1
}

// WriteCSV writes panel,series,x,y,lo,hi, exactly; empty names are numbers from 1. Errors as of WriteSVG.
func (f *Figure) WriteCSV(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	exact := func(v []float64, k int) string {
		if k >= len(v) {
			return ""
		}
		return strconv.FormatFloat(v[k], 'g', -1, 64)
	}
	rows := [][]string{{"panel", "series", "x", "y", "lo", "hi"}}
	for i, p := range f.Panels {
		for j, s := range p.Series {
			panel, name := cmp.Or(p.Title, strconv.Itoa(i+1)), cmp.Or(s.Name, strconv.Itoa(j+1))
			for k := range s.X {
				rows = append(rows, []string{panel, name, exact(s.X, k), exact(s.Y, k), exact(s.Lo, k), exact(s.Hi, k)})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
