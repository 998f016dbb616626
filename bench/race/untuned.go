package race

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bilevel"
)

const untunedUsage = `go run ./bench untuned: a method that nobody tunes, on anybody's problem

Problems in foreign units, with far starts, wide and tight boxes, solutions on the boundary, of large
dimension and condition, with heavy tails, of min-max and compositional kind, on data, as sums and as
streams. Each rival takes the best of its 100 settings, for each budget and for its last iterate or
its running mean, on a grid that is laid in the problem's units; the untuned methods take nothing.
The figure of merit is the error over the best rival's.

Settings are chosen in rounds: all 100 run to the first budget, the best 30 of them, by last iterate
or mean, to the second, the best 10 of those to the third. A rival that is over 30 times behind the
best one at the second budget or later is out of the race on that problem from there on. With
-exhaustive, every setting runs to every budget, and every rival stays.

  go run ./bench untuned -quick
  go run ./bench untuned -data ../data
  go run ./bench untuned -only simplex,ball -methods STABLE,SOBA
  go run ./bench untuned -ablate         what the parts of the untuned method are worth
  go run ./bench untuned -part 3/8       the third of eight parts; with -merge 8, all of them. Each
                                         round wants the one before it of all parts: run them again
                                         until none waits for another

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// untunedBudgets are samples, ξ and φ together.
var untunedBudgets = []uint64{1000, 5000, 20000}

// Untuned is the command untuned.
func Untuned(ctx context.Context, args []string, out kit.Terminal) error {
	f := leagueFlags{methods: "all", samples: 20000, trials: 10, tune: 2}
	fs := kit.NewFlags("bench untuned", untunedUsage, "")
	f.add(fs, "few problems, rivals and samples", "the largest budget, ξ and φ together")
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	if f.Quick {
		f.samples, f.trials, f.tune = min(f.samples, 5000), min(f.trials, 4), min(f.tune, 1)
		if !kit.IsSet(fs, "methods") {
			f.methods = quickMethods
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	makers, err := untunedProblems(&f, out)
	if err != nil {
		return err
	}
	problems, err := f.made(makers)
	if err != nil {
		return err
	}
	l, err := f.league("untuned", untunedBudgets, problems)
	if err != nil {
		return err
	}
	chosen, done, err := l.play(ctx, out)
	if err != nil {
		return l.share.Unfinished(err, out)
	}
	return l.versus(out.Stdout, l.rows(chosen, done))
}

// untunedProblems are those of survive, the quadratic streams, and all the strange ones.
func untunedProblems(f *leagueFlags, out kit.Terminal) ([]maker[*problem], error) {
	folder := f.data
	if f.Quick {
		folder = ""
	}
	known, err := survivors(folder, &racingFlags{Common: f.Common}, out)
	if err != nil {
		return nil, err
	}
	tunings, err := tuningStreams(&leagueFlags{Common: f.Common}, out)
	if err != nil {
		return nil, err
	}
	var makers []maker[*problem]
	for _, m := range known {
		makers = append(makers, maker[*problem]{m.name, func() (*problem, error) {
			a, err := m.make()
			return &problem{arena: a, half: halfOf(m.name)}, err
		}})
	}
	for _, r := range append(append([]recipe(nil), streams...), strange...) {
		makers = append(makers, maker[*problem]{r.name, func() (*problem, error) { return r.problem(f.Seed) }})
	}
	makers = append(append(makers, others(f.Seed)...), tunings...)
	if f.Quick {
		makers = everyNth(makers, 4)
	}
	return makers, nil
}

// everyNth keeps the first of every n.
func everyNth[T any](list []T, n int) []T {
	var kept []T
	for i := 0; i < len(list); i += n {
		kept = append(kept, list[i])
	}
	return kept
}

// others are neither quadratic bilevel problems nor tuning ones.
func others(seed uint64) []maker[*problem] {
	return []maker[*problem]{
		{"min-max", func() (*problem, error) { return gameProblem("min-max", chosen, 8, 0.5, seed) }},
		{"min-max, little noise", func() (*problem, error) {
			return gameProblem("min-max, little noise", confirmed, 5, 0.01, seed+1)
		}},
		{"portfolio", func() (*problem, error) { return portfolio("portfolio", confirmed, 8, bilevel.Space{}, seed) }},
		{"portfolio on a simplex", func() (*problem, error) {
			return portfolio("portfolio on a simplex", chosen, 8, bilevel.Simplex{}, seed)
		}},
	}
}

// versus prints each untuned method's error over the best rival's, and a summary, and writes the
// numbers.
func (l *league) versus(w io.Writer, rows []row) error {
	tellFeatures(w, l.arenas()...)
	best := l.rivals(rows)
	ratio := func(r row) float64 {
		rival, ok := best[standing{r.problem, r.budget}]
		if !ok || math.IsInf(rival.Mean, 1) { // nobody to compare with
			return math.NaN()
		}
		return r.Mean / rival.Mean
	}
	for _, e := range l.entrants {
		if !e.untuned {
			continue
		}
		if err := l.versusTable(w, e, rows, best); err != nil {
			return err
		}
		if err := l.versusSummary(w, e, rows, ratio); err != nil {
			return err
		}
	}
	if err := l.outs(w, rows); err != nil {
		return err
	}
	return l.write(w, rows, "over best rival", ratio)
}

// standing is a problem at a budget.
type standing struct {
	problem *problem
	budget  int
}

// rivals are the tuned rows with the least error; without a tuned entrant, those of the first one.
func (l *league) rivals(rows []row) map[standing]row {
	rival := func(e *entrant) bool { return !e.untuned }
	if !slices.ContainsFunc(l.entrants, rival) {
		rival = func(e *entrant) bool { return e == l.entrants[0] }
	}
	best := map[standing]row{}
	for _, r := range rows {
		at := standing{r.problem, r.budget}
		if old, ok := best[at]; rival(r.entrant) && !r.out && (!ok || r.Mean < old.Mean) {
			best[at] = r
		}
	}
	return best
}

// versusTable prints a line a problem.
func (l *league) versusTable(w io.Writer, e *entrant, rows []row, best map[standing]row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s: last iterate, running mean, over the best rival\thalf", e.name)
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw, "\tboth over the limit, at the largest")
	for _, p := range l.problems {
		fmt.Fprintf(tw, "%s\t%s", p.name, p.half)
		over := ""
		for b := range l.budgets {
			cell := ""
			rival := best[standing{p, b}]
			for _, r := range rows {
				if r.problem != p || r.entrant != e || r.budget != b {
					continue
				}
				if r.diverged > 0 {
					cell += fmt.Sprintf("diverged (%d), ", r.diverged)
					continue
				}
				cell += fmt.Sprintf("%.2g, ", r.Mean/rival.Mean)
				if p.limit != nil && b == len(l.budgets)-1 {
					over += fmt.Sprintf(" %.3g", r.Mean/l.limitAt(p, b))
				}
			}
			if rival.entrant != nil && !math.IsInf(rival.Mean, 1) {
				cell += fmt.Sprintf("%s %s", rival.entrant.name, outputs[rival.output])
			}
			fmt.Fprintf(tw, "\t%s", cell)
		}
		fmt.Fprintf(tw, "\t%s\n", over)
	}
	return tw.Flush()
}

// versusSummary prints, for each half and output, on how many problems the method is ahead, the
// geometric mean of the ratios and the worst; and how often it diverged.
func (l *league) versusSummary(w io.Writer, e *entrant, rows []row, ratio func(r row) float64) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "ahead, geometric mean, worst\t")
	for _, b := range l.budgets {
		fmt.Fprintf(tw, "\t%d", b)
	}
	fmt.Fprintln(tw)
	diverged := 0
	for _, h := range []half{chosen, confirmed} {
		for o, output := range outputs {
			s, ahead := make([]summary, len(l.budgets)), make([]int, len(l.budgets))
			for _, r := range rows {
				v := ratio(r)
				if r.entrant != e || r.output != o || r.problem.half != h || math.IsNaN(v) {
					continue
				}
				s[r.budget].add(r.problem.name, v)
				if v < 1 {
					ahead[r.budget]++
				}
				diverged = max(diverged, r.diverged)
			}
			fmt.Fprintf(tw, "%s\t%s", h, output)
			for b, v := range s {
				if v.n == 0 {
					fmt.Fprint(tw, "\t–")
					continue
				}
				fmt.Fprintf(tw, "\t%d of %d, %.3g, %.3g (%s)", ahead[b], v.n, v.mean(), v.worst, v.name)
			}
			fmt.Fprintln(tw)
		}
	}
	fmt.Fprintf(tw, "diverged, at most on one problem\t%d of %d trials\n\n", diverged, l.trials)
	return tw.Flush()
}
