package race

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bench/plot"
)

// averages summarises the trials of one entrant in one arena, at the marks.
type averages struct {
	error, lo, hi []float64 // mean, and mean ± standard deviation; or median and quartiles
	seconds       []float64 // mean or median
	evals         []float64 // the same
	failed        int       // trials that ended early; they count with their last good iterate
	trials        int
}

// summarise combines the trials of an entrant, in the order of their numbers.
func (x *experiment) summarise(a *arena, e *entrant, chosen map[string]choice, done map[string]trial) averages {
	s := averages{trials: x.trials}
	var all []trial
	for t := range x.trials {
		r := done[raceKey(a, e, chosen[a.name+"/"+e.name].rank[0], t)]
		all = append(all, r)
		if r.End != "" {
			s.failed++
		}
	}
	for i := range x.points {
		var errors, seconds, evals []float64
		for _, r := range all {
			errors, seconds, evals = append(errors, r.Error[i]), append(seconds, r.Seconds[i]), append(evals, r.Evals[i])
		}
		mid, lo, hi := center(errors, x.median)
		s.error, s.lo, s.hi = append(s.error, mid), append(s.lo, lo), append(s.hi, hi)
		mid, _, _ = center(seconds, x.median)
		s.seconds = append(s.seconds, mid)
		mid, _, _ = center(evals, x.median)
		s.evals = append(s.evals, mid)
	}
	return s
}

// center returns the mean and the mean ± the standard deviation of v, or its median and quartiles.
// It may reorder v.
func center(v []float64, median bool) (mid, lo, hi float64) {
	n := float64(len(v))
	if median {
		slices.Sort(v)
		at := func(q float64) float64 {
			i, f := math.Modf(q * (n - 1))
			return v[int(i)] + f*(v[min(int(i)+1, len(v)-1)]-v[int(i)])
		}
		return at(0.5), at(0.25), at(0.75)
	}
	for _, x := range v {
		mid += x / n
	}
	var sd float64
	for _, x := range v {
		sd += (x - mid) * (x - mid) / max(n-1, 1)
	}
	sd = math.Sqrt(sd)
	return mid, mid - sd, mid + sd
}

// mostBands is the number of curves up to which each has its own colour and band. With more curves
// only the best are in colour, and none has a band, because bands would hide one another.
const mostBands = 6

// vivid are the entrants whose curves are in colour: STABLE, and those with the least errors at the
// end.
func (x *experiment) vivid(curves map[string]averages) map[string]bool {
	rank := slices.Clone(x.entrants)
	slices.SortStableFunc(rank, func(a, b *entrant) int {
		switch "STABLE" {
		case a.name:
			return -1
		case b.name:
			return 1
		}
		return cmp.Compare(kit.Last(curves[a.name].error), kit.Last(curves[b.name].error))
	})
	chosen := map[string]bool{}
	for _, e := range rank[:min(mostBands, len(rank))] {
		chosen[e.name] = true
	}
	return chosen
}

// band returns the edges of a curve's band. Quartiles stand as they are. A mean m with the standard
// deviation s has a band from m/(1 + s/m) to m·(1 + s/m), which a logarithmic axis can show where
// m − s is not positive.
func (x *experiment) band(s averages) (lo, hi []float64) {
	if x.median {
		return s.lo, s.hi
	}
	lo = make([]float64, len(s.error))
	for i, m := range s.error {
		lo[i] = m * m / s.hi[i]
	}
	return lo, s.hi
}

// bandsAre explains the bands.
func (x *experiment) bandsAre() string {
	if x.median || len(x.entrants) > mostBands {
		return ""
	}
	return " Bands: the mean times and over 1 + deviation/mean."
}

// tellFeatures prints how the features of the data are scaled, once for each file.
func tellFeatures(w io.Writer, arenas ...*arena) {
	told := map[string]bool{"": true}
	for _, a := range arenas {
		if !told[a.features] {
			fmt.Fprintln(w, a.features)
		}
		told[a.features] = true
	}
}

// report prints the tables, and writes the figure and its numbers.
func (x *experiment) report(w io.Writer, chosen map[string]choice, done map[string]trial) error {
	tellFeatures(w, x.arenas...)
	marks := spread(x.samples, x.points)
	at := make([]float64, len(marks))
	for i, m := range marks {
		at[i] = float64(m)
	}
	var bySamples, byEvals, bySeconds []plot.Panel
	for _, a := range x.arenas {
		p := plot.Panel{Title: a.name, X: plot.Axis{Label: "samples, ξ and φ", Log: true},
			Y: plot.Axis{Label: "F(x^{k}) − F*", Log: true}}
		o := plot.Panel{X: plot.Axis{Label: "evaluations, all oracles", Log: true}, Y: p.Y}
		q := plot.Panel{X: plot.Axis{Label: "seconds", Log: true}, Y: p.Y}
		curves := map[string]averages{}
		for _, e := range x.entrants {
			s := x.summarise(a, e, chosen, done)
			curves[e.name] = s
		}
		vivid := x.vivid(curves)
		for _, e := range x.entrants {
			s := curves[e.name]
			line := plot.Series{Name: e.name, Y: s.error, Style: kit.Style(e.name), Faint: !vivid[e.name]}
			if len(x.entrants) <= mostBands {
				line.Lo, line.Hi = x.band(s)
			}
			line.X = at
			p.Series = append(p.Series, line)
			line.X = s.evals
			o.Series = append(o.Series, line)
			line.X = s.seconds
			q.Series = append(q.Series, line)
		}
		bySamples, byEvals, bySeconds = append(bySamples, p), append(byEvals, o), append(bySeconds, q)
		if err := x.table(w, a, at, curves, chosen); err != nil {
			return err
		}
	}
	columns := len(x.arenas)
	if columns == 1 {
		columns = 3
	}
	fig := plot.Figure{Panels: slices.Concat(bySamples, byEvals, bySeconds), Columns: columns,
		Caption: fmt.Sprintf("%s over %d trials from random starts.%s", x.drawn(), x.trials, x.bandsAre())}
	return kit.WriteFigure(w, x.folder, x.name, &fig)
}

// middle says what the curves and bands are.
func (x *experiment) middle() string {
	if x.median {
		return "Median and quartiles"
	}
	return "Mean and standard deviation"
}

// drawn is what of middle the figure shows.
func (x *experiment) drawn() string {
	what := x.middle()
	if len(x.entrants) > mostBands {
		what, _, _ = strings.Cut(what, " ")
	}
	return what
}

// fractions of the first error for which the table says when they were reached.
var fractions = []float64{0.3, 0.1, 0.03, 0.01}

// table prints where each entrant ended, and when it reached given errors.
func (x *experiment) table(w io.Writer, a *arena, at []float64, curves map[string]averages,
	chosen map[string]choice) error {
	var first float64
	for _, s := range curves {
		first = max(first, s.error[0])
	}
	fmt.Fprintf(w, "%s: F* = %.9g; %s over %d trials; largest error at %g samples %.3g\n",
		a.name, a.best, x.middle(), x.trials, at[0], first)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "method\terror at the end\tfailed\tevaluations, µs a sample")
	for _, f := range fractions {
		fmt.Fprintf(tw, "\tto %.2g", f*first)
	}
	fmt.Fprintln(tw, "\tstep sizes\tat an edge\tsettings diverged")
	for _, e := range x.entrants {
		s := curves[e.name]
		end := len(s.error) - 1
		fmt.Fprintf(tw, "%s\t%.2e (%.1e…%.1e)\t%d of %d\t%.3g, %.2g",
			e.name, s.error[end], s.lo[end], s.hi[end], s.failed, s.trials,
			s.evals[end]/at[end], 1e6*s.seconds[end]/at[end])
		for _, f := range fractions {
			fmt.Fprint(tw, "\t", reached(s, at, f*first))
		}
		c := chosen[a.name+"/"+e.name]
		text, edge := e.describe(a, e.grid()[c.rank[0]])
		fmt.Fprintf(tw, "\t%s\t%s\t", text, edge)
		if c.Tried > 0 {
			fmt.Fprintf(tw, "%d of %d, %.2g samples spent", c.Diverged, c.Tried, float64(c.Samples))
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// reached says at how many samples, and after how many seconds, the error came to a level for good.
func reached(s averages, at []float64, level float64) string {
	i := len(at)
	for i > 0 && s.error[i-1] <= level {
		i--
	}
	if i == len(at) {
		return "–"
	}
	return fmt.Sprintf("%.3g (%.2g s)", at[i], s.seconds[i])
}
