package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"text/tabwriter"

	"stable/bench/atomicfile"
	"stable/bench/plot"
)

// summary is what the trials of one entrant in one arena come to.
type summaryCurve struct {
	error, deviation []float64 // mean and standard deviation over the trials, at the marks
	seconds          []float64 // mean
	failed           int       // trials that ended early; they count with their last good iterate
	trials           int
}

// summarise averages the trials of an entrant, in the order of their numbers.
func (x *experiment) summarise(a *arena, e *entrant, done func(key string) (trial, bool)) summaryCurve {
	s := summaryCurve{error: make([]float64, x.points), deviation: make([]float64, x.points), seconds: make([]float64, x.points), trials: x.trials}
	n := float64(x.trials)
	var all []trial
	for t := range x.trials {
		r, _ := done(raceKey(a, e, t))
		all = append(all, r)
		if r.End != "" {
			s.failed++
		}
		for i := range x.points {
			s.error[i] += r.Error[i] / n
			s.seconds[i] += r.Seconds[i] / n
		}
	}
	for i := range x.points {
		var v float64
		for _, r := range all {
			d := r.Error[i] - s.error[i]
			v += d * d
		}
		s.deviation[i] = math.Sqrt(v / max(n-1, 1))
	}
	return s
}

// report prints the tables, and writes the figure and its numbers.
func (x *experiment) report(w io.Writer, chosen map[string]choice, done func(key string) (trial, bool)) error {
	marks := spread(x.samples, x.points)
	at := make([]float64, len(marks))
	for i, m := range marks {
		at[i] = float64(m)
	}
	var bySamples, bySeconds []plot.Panel
	for _, a := range x.arenas {
		p := plot.Panel{Title: a.name, X: plot.Axis{Label: "samples, ξ and φ", Log: true}, Y: plot.Axis{Label: "F(x^{k}) − F*", Log: true}}
		q := plot.Panel{X: plot.Axis{Label: "seconds", Log: true}, Y: p.Y}
		curves := map[string]summaryCurve{}
		for _, e := range x.entrants {
			s := x.summarise(a, e, done)
			curves[e.name] = s
			lo, hi := make([]float64, x.points), make([]float64, x.points)
			for i := range lo {
				lo[i], hi[i] = s.error[i]-s.deviation[i], s.error[i]+s.deviation[i]
			}
			p.Series = append(p.Series, plot.Series{Name: e.name, X: at, Y: s.error, Lo: lo, Hi: hi})
			q.Series = append(q.Series, plot.Series{Name: e.name, X: s.seconds, Y: s.error, Lo: lo, Hi: hi})
		}
		bySamples, bySeconds = append(bySamples, p), append(bySeconds, q)
		if err := x.table(w, a, at, curves, chosen); err != nil {
			return err
		}
	}
	fig := plot.Figure{Panels: append(bySamples, bySeconds...), Columns: len(x.arenas),
		Caption: fmt.Sprintf("Mean and standard deviation over %d trials from random starts.", x.trials)}
	for _, f := range []struct {
		name string
		fill func(io.Writer) error
	}{{x.name + ".svg", fig.WriteSVG}, {x.name + ".csv", fig.WriteCSV}} {
		path := filepath.Join(x.folder, f.name)
		if err := atomicfile.Write(path, f.fill); err != nil {
			return err
		}
		fmt.Fprintf(w, "wrote %s\n", path)
	}
	return nil
}

// fractions of the first mean error for which the table says when they were reached.
var fractions = []float64{0.3, 0.1, 0.03, 0.01}

// table prints where each entrant ended, and when it reached given errors.
func (x *experiment) table(w io.Writer, a *arena, at []float64, curves map[string]summaryCurve, chosen map[string]choice) error {
	var first float64
	for _, s := range curves {
		first = max(first, s.error[0])
	}
	fmt.Fprintf(w, "%s: F* = %.9g, largest mean error at %g samples %.3g\n", a.name, a.best, at[0], first)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "method\terror at the end ± sd\tfailed")
	for _, f := range fractions {
		fmt.Fprintf(tw, "\tto %.2g", f*first)
	}
	fmt.Fprintln(tw, "\tstep sizes\tat an edge\tsettings diverged")
	for _, e := range x.entrants {
		s := curves[e.name]
		end := len(s.error) - 1
		fmt.Fprintf(tw, "%s\t%.2e ± %.1e\t%d of %d", e.name, s.error[end], s.deviation[end], s.failed, s.trials)
		for _, f := range fractions {
			fmt.Fprint(tw, "\t", reached(s, at, f*first))
		}
		c := chosen[a.name+"/"+e.name]
		text, edge := e.describe(c.Setting)
		fmt.Fprintf(tw, "\t%s\t%s\t", text, edge)
		if c.Tried > 0 {
			fmt.Fprintf(tw, "%d of %d, %.2g samples spent", c.Diverged, c.Tried, float64(c.Samples))
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// reached says at how many samples, and after how many seconds, the mean error came to a level for good.
func reached(s summaryCurve, at []float64, level float64) string {
	i := len(at)
	for i > 0 && s.error[i-1] <= level {
		i--
	}
	if i == len(at) {
		return "–"
	}
	return fmt.Sprintf("%.3g (%.2g s)", at[i], s.seconds[i])
}
