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
	"slices"
	"strconv"
)

// ErrEmpty says that no panel has a point that can be drawn.
var ErrEmpty = errors.New("plot: nothing to draw")

// Figure is a grid of panels over a legend and a caption: 85 mm wide with one column, else 178 mm. Text may hold superscripts and subscripts, "k^{−1/2}" and "y_{k}".
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
	Style   int  // k ≥ 1: the k-th look; 0: by the order of first appearance
	Faint   bool // behind the others, in grey, under one entry of the legend
}

// Line is y = C·x^P, straight from From to To, both 0 for all the width: of slope P on logarithmic
// axes, or horizontal, P = 0, and then within the y axis.
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

// looks returns each series' look, and the legend.
func (f *Figure) looks() (all [][]look, legend []entry) {
	for _, p := range f.Panels {
		looks := make([]look, len(p.Series))
		for j, s := range p.Series {
			if s.Faint {
				s.Name = "others"
			}
			if looks[j] = numbered(cmp.Or(s.Style, j+1)-1, cmp.Or(s.Style, j+1)-1); s.Name != "" {
				looks[j] = enter(&legend, s)
			}
		}
		all = append(all, looks)
	}
	return all, legend
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

// WriteCSV writes panel,series,x,y,lo,hi, exactly; empty names are numbers from 1.
func (f *Figure) WriteCSV(w io.Writer) error {
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
