package race

import (
	"context"

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
or mean, to the second, the best 10 of those to the third; methods for finite sums, which first read
them once, try all 100 at every budget. At each budget the best by one run, a fifth, make -tune runs,
and the least geometric mean wins, of settings that fail in none. One that fails in a trial gives way
to the next best, 4 times at most. Where trials of every rival fail, the best one stands, marked, and
counts with its last good iterates. A rival that is over 10 times behind the best one at the second
budget or later is out of the race on that problem from there on. With -exhaustive, every setting
runs to every budget, and every rival stays.

  go run ./bench untuned -quick
  go run ./bench untuned -data ../data
  go run ./bench untuned -only simplex,ball -methods STABLE,SOBA
  go run ./bench untuned -methods MINE -against bench/rivals.csv,bench/rivals-large.csv
                                         a method of yours against all rivals, which do not run again
  go run ./bench untuned -part 3/8       the third of eight parts. Each round wants the one before it of
                                         all parts: run them again until none waits for another, or leave
                                         the rest to -merge 8, which reports

Finished runs are kept in the -out folder: after an interrupt the same command goes on. The best
rivals are kept in untuned-rivals.csv there, for -against.

Flags:
`

// untunedBudgets are samples, ξ and φ together.
var untunedBudgets = []uint64{1000, 5000, 20000}

// Untuned is the command untuned.
func Untuned(ctx context.Context, args []string, out kit.Terminal) error {
	f := leagueFlags{methods: "all", samples: 20000, trials: 10, tune: 3}
	fs := kit.NewFlags("bench untuned", untunedUsage, "")
	f.add(fs, "few problems, rivals and samples", "the largest budget, ξ and φ together")
	var against string
	fs.StringVar(&against, "against", "", "compare -methods (default: the untuned ones) with the rivals in these "+
		"`FILES` of earlier runs, separated by commas")
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	if f.Quick {
		f.samples, f.trials = min(f.samples, 5000), min(f.trials, 4)
		if !kit.IsSet(fs, "methods") {
			f.methods = quickMethods
		}
	}
	if against != "" && !kit.IsSet(fs, "methods") {
		f.methods = untunedNames()
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
	var best rivals
	if against != "" {
		if best, err = l.readRivals(against); err != nil {
			return err
		}
		l.name += "-against"
	}
	chosen, done, err := l.play(ctx, out)
	if err != nil {
		return l.share.Unfinished(err, out)
	}
	return l.versus(out.Stdout, l.rows(chosen, done), best)
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
