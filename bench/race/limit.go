package race

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/atomicfile"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/observe"
	"stable/bilevel/stream"
)

const limitUsage = `go run ./bench limit: how far from the best that the samples allow

On problems whose samples come from a stream: the mean error E[F − F*] over the local asymptotic
limit, below which no method comes in the long run (observe.LocalLimit). 1 is perfect. Each tuned
method takes the best of 100 settings for each budget, found on seeds of its own; the untuned ones
take none. Last iterates and running means, at 1000, 5000, 20000 and 100000 samples of each kind.

Settings are chosen in rounds: all 100 run to the first budget, the best 30 of them, by last iterate
or mean, to the second, the best 10 of those to the third, the best 5 to the last. At each budget the
best by one run, a fifth, make -tune runs, and the least geometric mean wins, of settings that fail
in none. One that fails in a trial gives way to the next best, 4 times at most. A tuned method that
is over 10 times behind the best one at the second budget or later is out of the race on that problem
from there on. With -exhaustive, every setting runs to every budget, and every method stays.

  go run ./bench limit -quick
  go run ./bench limit -data ../data
  go run ./bench limit -methods STABLE,SOBA -only quadratic,saddle -samples 20000
  go run ./bench limit -part 3/8         the third of eight parts. Each round wants the one before it of
                                         all parts: run them again until none waits for another, or leave
                                         the rest to -merge 8, which reports

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// limitBudgets are samples of each kind.
var limitBudgets = []uint64{1000, 5000, 20000, 100000}

// Limit is the command limit.
func Limit(ctx context.Context, args []string, out kit.Terminal) error {
	f := leagueFlags{methods: "all", samples: 100000, trials: 20, tune: 3}
	fs := kit.NewFlags("bench limit", limitUsage, "")
	f.add(fs, "few problems, rivals and samples", "the largest budget, in samples of each kind")
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	if f.Quick {
		f.samples, f.trials = min(f.samples, 5000), min(f.trials, 8)
		if !kit.IsSet(fs, "methods") {
			f.methods = quickMethods
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	problems, err := limitProblems(&f, out)
	if err != nil {
		return err
	}
	l, err := f.league("limit", limitBudgets, problems)
	if err != nil {
		return err
	}
	l.each = true
	chosen, done, err := l.play(ctx, out)
	if err != nil {
		return l.share.Unfinished(err, out)
	}
	return l.limits(out.Stdout, l.rows(chosen, done))
}

// quickMethods are the entrants of the short forms.
const quickMethods = "SAA-Newton,STABLE,S-TFBO,SOBA,SABA,HOAG"

// limitProblems are the quadratic streams, and the paper's test problem read as a stream.
func limitProblems(f *leagueFlags, out kit.Terminal) ([]*problem, error) {
	var makers []maker[*problem]
	for _, r := range streams {
		makers = append(makers, maker[*problem]{r.name, func() (*problem, error) { return r.problem(f.Seed) }})
	}
	tunings, err := tuningStreams(f, out)
	if err != nil {
		return nil, err
	}
	if f.Quick {
		makers, tunings = everyNth(makers, 3), tunings[:1]
	}
	return f.made(append(makers, tunings...))
}

// streamBoxes are the forms and bounds of the weights in the test problem as a stream: three
// decades in raw form, four in exp form. On most data most of the best weights lie at a bound.
var streamBoxes = []weights{{"raw", 0.001, 1}, {"exp", 0.0001, 1}}

// tuningStreams are the paper's test problem, on data whose rows are drawn without end: rows of a
// model, the shipped data, and those of a folder.
func tuningStreams(f *leagueFlags, out kit.Terminal) ([]maker[*problem], error) {
	var list []maker[*problem]
	for i, w := range streamBoxes {
		for j, h := range []half{chosen, confirmed} {
			name := fmt.Sprintf("tuning stream %d %s %g…%g", j+1, w.form, w.lo, w.hi)
			list = append(list, maker[*problem]{name, func() (*problem, error) {
				seed := 100*f.Seed + uint64(2*i+j)
				a, err := tuningArena(name, noisyRule(300, 12, seed), noisyRule(1200, 12, seed+50), w, out)
				if err != nil {
					return nil, err
				}
				return streamProblem(a, h)
			}})
		}
	}
	files := []string{kit.ShippedData}
	if f.data != "" && !f.Quick {
		more, err := paperFiles(f.data)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, file := range files {
		for _, w := range streamBoxes {
			name := fmt.Sprintf("%s stream %s %g…%g", kit.DataName(file), w.form, w.lo, w.hi)
			list = append(list, maker[*problem]{name, func() (*problem, error) {
				t, err := halves(file, quickRows, f.Seed)
				if err != nil {
					return nil, err
				}
				a, err := t.arena(name, w, out)
				if err != nil {
					return nil, err
				}
				return streamProblem(a, halfOf(file))
			}})
		}
	}
	return list, nil
}

// streamProblem is the test problem of a on rows that are drawn without end.
func streamProblem(a *arena, h half) (*problem, error) {
	l, err := observe.LocalLimit(a.fresh(), a.star, observe.LimitOptions{Set: a.set})
	if err != nil {
		return nil, err
	}
	sum := a.fresh
	a.fresh = func() contest { return solved{stream.Of(sum())} }
	p := &problem{arena: a, half: h}
	if l.Free > 0 {
		p.limit = &l
	}
	return p, nil
}

// noisyRule are n rows of Gaussian features whose label is the sign of a linear rule with noise, in
// which the jth feature counts 1/j.
func noisyRule(n, dim int, seed uint64) *data.Data {
	rng := rand.New(rand.NewPCG(seed, 'r'))
	d := &data.Data{Dim: dim, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64()
		for j := range dim {
			v := rng.NormFloat64()
			score += v / float64(j+1)
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
	}
	return d
}

// limits prints a table for each problem and a summary, and writes the figure and the numbers.
func (l *league) limits(w io.Writer, rows []row) error {
	tellFeatures(w, l.arenas()...)
	ratio := func(r row) float64 { return r.Mean / l.limitAt(r.problem, r.budget) }
	for _, p := range l.problems {
		if err := l.limitTable(w, p, rows); err != nil {
			return err
		}
	}
	if err := kit.FirstOf(l.limitSummary(w, rows, ratio), l.outs(w, rows)); err != nil {
		return err
	}
	if fig := l.limitFigure(rows, ratio); len(fig.Panels) > 0 {
		path := filepath.Join(l.folder, l.name+".svg")
		if err := atomicfile.Write(path, fig.WriteSVG); err != nil {
			return err
		}
		fmt.Fprintf(w, "wrote %s\n", path)
	}
	return l.write(w, rows, "ratio", ratio)
}

// limitTable prints the errors on one problem over the limit, or as they are where there is none.
func (l *league) limitTable(w io.Writer, p *problem, rows []row) error {
	if p.limit == nil {
		fmt.Fprintf(w, "%s (%s): no limit; mean error over %d trials\n", p.name, p.half, l.trials)
	} else {
		fmt.Fprintf(w, "%s (%s): limit %.3g ξ⁻¹ + %.3g φ⁻¹, standard error %.1g %%, %d free coordinates; "+
			"mean error over it, %d trials\n",
			p.name, p.half, p.limit.Xi, p.limit.Phi, 100*p.limit.StdErr/p.limit.At(1, 1), p.limit.Free, l.trials)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "method\toutput")
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw, "\tevaluations, µs a sample\tat the largest")
	for _, r := range rows {
		if r.problem != p {
			continue
		}
		if r.budget == 0 {
			fmt.Fprintf(tw, "%s\t%s", r.entrant.name, outputs[r.output])
		}
		switch limit := l.limitAt(p, r.budget); {
		case r.out:
			fmt.Fprint(tw, "\tout")
		case r.diverged > 0:
			fmt.Fprintf(tw, "\tdiverged (%d)", r.diverged)
		case p.limit == nil:
			fmt.Fprintf(tw, "\t%.2e ± %.0e", r.Mean, r.Half)
		default:
			fmt.Fprintf(tw, "\t%.3g ± %.2g", r.Mean/limit, r.Half/limit)
		}
		if r.budget == len(l.budgets)-1 {
			fmt.Fprintf(tw, "\t%s\t%s\n", r.perSample(), r.told())
		}
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// limitSummary prints, for each entrant, output and half of the problems, the geometric mean of the
// ratios and the worst one at each budget.
func (l *league) limitSummary(w io.Writer, rows []row, ratio func(r row) float64) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "error over the limit: geometric mean, worst, on how many problems\t\t")
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw)
	for _, e := range l.entrants {
		for o, output := range outputs {
			for _, h := range []half{chosen, confirmed} {
				s := make([]summary, len(l.budgets))
				for _, r := range rows {
					if v := ratio(r); r.entrant == e && r.output == o && r.problem.half == h && !math.IsNaN(v) {
						s[r.budget].add(r.problem.name, v)
					}
				}
				fmt.Fprintf(tw, "%s\t%s\t%s", e.name, output, h)
				for _, v := range s {
					if v.n == 0 {
						fmt.Fprint(tw, "\t–")
						continue
					}
					fmt.Fprintf(tw, "\t%.3g, %.3g (%s), %d", v.mean(), v.worst, v.name, v.n)
				}
				fmt.Fprintln(tw)
			}
		}
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// limitFigure shows, for each problem with a limit, the better output of each entrant over it, against
// samples and against evaluations.
func (l *league) limitFigure(rows []row, ratio func(r row) float64) *plot.Figure {
	fig := &plot.Figure{Columns: 4, Caption: fmt.Sprintf("Mean over %d trials (and, where methods are few, its 95 %% "+
		"interval, as far down as up by ratio) of the better of last iterate and running mean, over the limit that the samples set; "+
		"tuned methods at the best of 100 settings for each budget.", l.trials)}
	for _, p := range l.problems {
		if p.limit == nil {
			continue
		}
		panel := plot.Panel{Title: p.name, X: plot.Axis{Label: "samples of each kind", Log: true},
			Y: plot.Axis{Label: "error over the limit", Log: true}, Lines: []plot.Line{{Label: "limit", C: 1}}}
		evals := panel
		evals.Title, evals.X.Label = "", "evaluations, all oracles"
		for _, e := range p.field {
			var at []float64
			s := plot.Series{Name: e.name, Markers: true, Style: kit.Style(e.name)}
			for b, n := range l.budgets {
				best, half, calls := math.Inf(1), 0.0, float64(n)
				for _, r := range rows {
					if v := ratio(r); r.problem == p && r.entrant == e && r.budget == b && v < best {
						best, half, calls = v, r.Half/r.Mean*v, r.evals*float64(n)
					}
				}
				s.X, s.Y, at = append(s.X, float64(n)), append(s.Y, best), append(at, calls)
				s.Lo, s.Hi = append(s.Lo, best*best/(best+half)), append(s.Hi, best+half)
			}
			if len(l.entrants) > mostBands {
				s.Lo, s.Hi = nil, nil
			}
			panel.Series = append(panel.Series, s)
			s.X = at
			evals.Series = append(evals.Series, s)
		}
		fig.Panels = append(fig.Panels, panel, evals)
	}
	return fig
}
