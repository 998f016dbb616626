// Package race compares methods under equal budgets of samples. A program of your own may call its
// commands for a method that it has registered; they promise no interface.
//
// A tournament runs every entrant (a method with its grid of settings) on every problem of known F*:
// first each setting on separate seeds, then the trials with the best one.
package race

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/quadratic"
)

type preset struct {
	tournament
	usage, dataIs string
	points        int // of a curve, where -samples is the only budget
	makers        func(f *flags) ([]maker, error)
	report        func(t *tournament, w io.Writer) error
}

const besides = "`FOLDER` with australian/, ijcnn1/ and covtype/, besides the shipped data set"

var (
	Compare = preset{
		tournament: tournament{name: "compare", flags: flags{samples: 20000, trials: 10, tune: 3, methods: "all",
			problem: "hyperopt", weights: paperBox, data: kit.ShippedData}},
		usage: compareUsage, points: 40, report: (*tournament).curves,
		dataIs: "`FILE` of LIBSVM or CSV text, plain, gzip or bzip2",
		makers: func(f *flags) ([]maker, error) {
			switch f.problem {
			case "hyperopt":
				return f.sums([]string{f.data}), nil
			case "quadratic":
				if f.data != kit.ShippedData || f.weights != paperBox {
					return nil, fmt.Errorf("%w: -data, -form, -lo and -hi go with -problem hyperopt", kit.ErrUsage)
				}
				return []maker{quadraticSum("quadratic", quadratic.Options{Seed: f.Seed})}, nil
			}
			return nil, fmt.Errorf("%w: -problem %q, want hyperopt or quadratic", kit.ErrUsage, f.problem)
		},
	}.race

	Figure2 = preset{
		tournament: tournament{name: "figure2", flags: flags{samples: 20000, trials: 50, tune: 4,
			methods: "SAA-Newton,STABLE,STABLE-paper,BSA,TTSA", weights: paperBox}},
		usage: figure2Usage, points: 40, report: (*tournament).curves,
		dataIs: "`FOLDER` with australian/, ijcnn1/ and covtype/ (default: the shipped data set)",
		makers: func(f *flags) ([]maker, error) {
			files, err := dataFiles(f.data)
			return f.sums(files[min(len(files)-1, 1):]), err
		},
	}.race

	IJCNN1 = preset{
		tournament: tournament{name: "ijcnn1", median: true, flags: flags{samples: 256000, trials: 10, tune: 3,
			methods: "STABLE,SOBA,SABA", weights: weights{"exp", 1e-5, 10}}},
		usage: ijcnn1Usage, points: 40, report: (*tournament).curves,
		dataIs: "`FOLDER` with ijcnn1/ijcnn1.trn and ijcnn1.tst of the LIBSVM data page, plain or .gz",
		makers: func(f *flags) ([]maker, error) {
			if f.data == "" {
				return nil, fmt.Errorf("%w: -data is missing: a folder with ijcnn1/ijcnn1.trn and ijcnn1.tst", kit.ErrUsage)
			}
			return []maker{benchmark(f.data, f.weights)}, nil
		},
	}.race

	Survive = preset{
		tournament: tournament{name: "survive", flags: flags{samples: 20000, trials: 10, tune: 3}},
		usage:      surviveUsage, points: 10, report: (*tournament).survival, dataIs: besides, makers: survivors,
	}.race

	Limit = preset{
		tournament: tournament{name: "limit", budgets: []uint64{1000, 5000, 20000, 100000}, each: true, mean: true,
			flags: flags{samples: 100000, trials: 20, tune: 3, methods: "all"}},
		usage: limitUsage, report: (*tournament).limits, dataIs: besides + "; not read with -quick",
		makers: func(f *flags) ([]maker, error) {
			files, err := dataFiles(f.data)
			list, tunings := made(streams, f.Seed), tuningStreams(files, f.Seed)
			if f.Quick {
				list, tunings = everyNth(list, 3), tunings[:1]
			}
			return append(list, tunings...), err
		},
	}.race

	Untuned = preset{
		tournament: tournament{name: "untuned", budgets: []uint64{1000, 5000, 20000}, mean: true,
			flags: flags{samples: 20000, trials: 10, tune: 3, methods: "all"}},
		usage: untunedUsage, report: (*tournament).comparison, dataIs: besides + "; not read with -quick",
		makers: everyKind,
	}.race
)

func (f *flags) sums(files []string) []maker {
	rows := map[bool]int{false: math.MaxInt, true: mostRows}[f.Quick]
	return onFiles(files, rows, f.Seed, "", f.weights)
}

func survivors(f *flags) (list []maker, err error) {
	files, err := dataFiles(f.data)
	rows := map[bool]int{false: mostRows, true: mostRows / 10}[f.Quick]
	list = onFiles(files, rows, f.Seed, " ", sumBoxes...)
	return append(list, quadraticSum("quadratic μ=1", quadratic.Options{Seed: f.Seed}),
		quadraticSum("quadratic μ=0.1", quadratic.Options{Seed: f.Seed, MuG: 0.1, LG: 10}),
		quadraticSum("quadratic nonconvex", quadratic.Options{Seed: f.Seed, Nonconvex: 0.5})), err
}

func everyKind(f *flags) ([]maker, error) {
	list, err := survivors(f)
	list = append(append(append(list, made(streams, f.Seed)...), made(strange, f.Seed)...),
		gameMaker("min-max", chosen, 8, 0.5, f.Seed), gameMaker("min-max, little noise", confirmed, 5, 0.01, f.Seed+1),
		portfolio("portfolio", confirmed, 8, bilevel.Space{}, f.Seed),
		portfolio("portfolio on a simplex", chosen, 8, bilevel.Simplex{}, f.Seed))
	list = append(list, tuningStreams([]string{kit.ShippedData}, f.Seed)...)
	if f.Quick {
		list = everyNth(list, 4)
	}
	return list, err
}

func everyNth(list []maker, n int) (kept []maker) {
	for i := 0; i < len(list); i += n {
		kept = append(kept, list[i])
	}
	return kept
}

type flags struct {
	kit.Common
	weights
	data, problem, methods, only, against string
	samples                               uint64
	trials, tune                          int
	ablate                                bool
}

func (f *flags) add(fs *flag.FlagSet, p preset) {
	f.Common.Add(fs, "a short form: fewer samples and trials, and fewer rows or problems and rivals")
	fs.StringVar(&f.data, "data", f.data, p.dataIs)
	fs.Uint64Var(&f.samples, "samples", f.samples, "samples of a run, at most: ξ and φ together, in limit each of them")
	fs.IntVar(&f.trials, "trials", f.trials, "runs of each method, from random starts")
	fs.IntVar(&f.tune, "tune", f.tune, "runs of each of the best settings in the choice of step sizes")
	fs.StringVar(&f.only, "only", "", "`WORDS`, separated by commas: only problems whose name has one of them")
	if f.methods != "" {
		fs.StringVar(&f.methods, "methods", f.methods, "`NAMES` of methods, separated by commas")
	}
	if f.form != "" {
		fs.Float64Var(&f.lo, "lo", f.lo, "lower bound of every weight")
		fs.Float64Var(&f.hi, "hi", f.hi, "upper bound of every weight")
	}
	if f.form == "raw" {
		fs.StringVar(&f.form, "form", "raw", "weights of y_i²: raw, x_i as in the paper, or exp, ½exp(x_i)")
	}
	switch p.name {
	case "compare":
		fs.StringVar(&f.problem, "problem", f.problem, "hyperopt or quadratic")
	case "survive":
		fs.BoolVar(&f.ablate, "ablate", false, "one safeguard after the other, over all settings")
	case "untuned":
		fs.StringVar(&f.against, "against", "", "compare -methods (default: the untuned ones) with the rivals in these "+
			"`FILES` of earlier runs, separated by commas")
	}
}

func (f *flags) check(p preset, methods bool) error {
	switch {
	case f.Quick && p.budgets == nil:
		f.samples, f.trials = f.samples/10*3, min(f.trials, 4)
		if f.samples < 1000 {
			return fmt.Errorf("%w: -quick takes 3 in 10 of -samples: want ≥ 3340", kit.ErrUsage)
		}
	case f.Quick:
		f.samples, f.trials, f.data = min(f.samples, 5000), min(f.trials, map[bool]int{false: 4, true: 8}[p.each]), ""
		if !methods {
			f.methods = "SAA-Newton,STABLE,S-TFBO,SOBA,SABA,HOAG"
		}
	}
	if f.against != "" && !methods {
		f.methods = "untuned"
	}
	most := kit.Last(append([]uint64{1e12}, p.budgets...))
	switch {
	case f.samples < 1000 || f.samples > most:
		return fmt.Errorf("%w: -samples is %d, want 1000 to %g", kit.ErrUsage, f.samples, float64(most))
	case min(f.trials, f.tune) < 1 || max(f.trials, f.tune) > 1e6:
		return fmt.Errorf("%w: -trials is %d, -tune is %d, want 1 to 1e6", kit.ErrUsage, f.trials, f.tune)
	case f.form == "":
	case !(f.lo > 0 && f.lo < f.hi) || math.IsInf(f.hi, 1):
		return fmt.Errorf("%w: -lo %v -hi %v, want 0 < lo < hi", kit.ErrUsage, f.lo, f.hi)
	case f.form != "raw" && f.form != "exp":
		return fmt.Errorf("%w: -form %q, want raw or exp", kit.ErrUsage, f.form)
	}
	return nil
}

func (f *flags) make(ctx context.Context, makers []maker, out kit.Terminal) (list []*problem, err error) {
	pr := kit.NewProgress(out)
	defer pr.Clear()
	wanted := make([]bool, len(makers))
	for word := range strings.SplitSeq(f.only, ",") {
		found, word := false, strings.TrimSpace(word)
		for i, m := range makers {
			has := f.only == "" || word != "" && strings.Contains(m.name, word)
			found, wanted[i] = found || has, wanted[i] || has
		}
		if !found {
			return nil, fmt.Errorf("%w: -only %q: no problem%s has such a name", kit.ErrUsage, word,
				map[bool]string{true: " that -quick keeps"}[f.Quick])
		}
	}
	for i, m := range makers {
		if !wanted[i] {
			continue
		}
		pr.Update(0, "exact minimum %d of %d, of %s", i+1, len(makers), m.name) // one may take as long as all others
		p, err := kit.Until(ctx, m.make)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		p.name = m.name
		c := p.fresh()
		dx, dy := c.Dims()
		p.work = float64(100 + dx*dy + dy*dy)
		upper, lower := c.Streams()
		p.sum = upper > 0 && lower > 0
		list = append(list, p)
	}
	return list, nil
}

func (p preset) race(ctx context.Context, args []string, out kit.Terminal) error {
	t := &p.tournament
	var list []string
	for some := range slices.Chunk(names(entrants()), 8) {
		list = append(list, strings.Join(some, ", "))
	}
	fs := kit.NewFlags("bench "+p.name, p.usage+"\nFinished runs are kept in the -out folder: after an interrupt the same "+
		"command goes on.\n\nFlags:\n", "\nMethods: "+strings.Join(list, ",\n  ")+"\n")
	t.add(fs, p)
	err := kit.Parse(fs, args, out)
	if err = cmp.Or(err, t.check(p, kit.IsSet(fs, "methods"))); err != nil {
		return err
	}
	t.entrants, err = lineup(cmp.Or(t.methods, survivalists))
	makers, lacks := p.makers(&t.flags)
	if t.file, t.describe = t.name, "in full"; t.Quick {
		t.describe = "quick"
	}
	if t.form != "" {
		t.describe += ", " + t.weights.String()
	}
	for path := range strings.SplitSeq(t.against, ",") {
		if _, bad := t.rivalsOf(strings.TrimSpace(path)); t.against != "" && err == nil {
			err = bad
		}
	}
	if err := cmp.Or(err, lacks); err != nil {
		return err
	}
	if t.problems, err = t.make(ctx, makers, out); err != nil {
		return err
	}
	if err := t.prepare(p.points); err != nil {
		return err
	}
	return kit.Play(t.Common, t.file, t.identity(), func(c *kit.Campaign[trial]) error {
		if err := t.play(ctx, c, out); err != nil {
			return err
		}
		told := []string{""}
		for _, p := range t.problems {
			if !slices.Contains(told, p.features) {
				fmt.Fprintln(out.Stdout, p.features)
				told = append(told, p.features)
			}
		}
		if t.ablate {
			t.ablation(out.Stdout)
			return nil
		}
		return p.report(t, out.Stdout)
	})
}

func (t *tournament) prepare(points int) (err error) {
	t.budgets = slices.DeleteFunc(slices.Clone(t.budgets), func(b uint64) bool { return b > t.samples })
	if t.marks = t.budgets; points > 0 {
		t.budgets, t.marks = []uint64{t.samples}, spread(t.samples, points)
	}
	if t.ablate {
		t.file, t.entrants, t.trials = "ablate", ablations(), 1
	}
	t.begin()
	t.entrants = slices.DeleteFunc(t.entrants, func(e *entrant) bool {
		return !slices.ContainsFunc(t.selections, func(s *selection) bool { return s.entrant == e })
	})
	if len(t.entrants) == 0 {
		return fmt.Errorf("%w: none of these methods takes such problems", kit.ErrUsage)
	}
	if t.against != "" {
		t.file += "-against"
		t.given, err = t.readRivals(t.against)
	}
	return err
}

const (
	compareUsage = `go run ./bench compare: stochastic bilevel methods under equal sample budgets

Prints, sorted by error, where each method ended, where it was by the evaluations of single samples and
the seconds of the best tuned one, and what an error took; draws F(x^k) − F* against all three.` + choiceUsage + `
  go run ./bench compare                                    all methods, hyper-parameter tuning on the shipped data set
  go run ./bench compare -methods STABLE,TTSA -trials 20
  go run ./bench compare -data ijcnn1.trn.gz -lo 0.01
  go run ./bench compare -problem quadratic                 a problem with a closed-form solution, with noise
`

	figure2Usage = `go run ./bench figure2: Figure 2 of the STABLE paper

The test problem of the paper's section 4 (validation loss of a logistic regression whose weights x_i
of y_i² are tuned) on australian, ijcnn1 and covtype: error F(x^k) − F* against samples, evaluations and
median seconds, mean and standard deviation over trials from random starts. SAA-Newton, this module's default,
is not the paper's method; it and STABLE with steps that adapt take no setting.` + choiceUsage + `
  go run ./bench figure2                                  the data set that ships with the module
  go run ./bench figure2 -data ../data -trials 50         the paper's three, from a folder laid out as LIBSVM's files
`

	ijcnn1Usage = `go run ./bench ijcnn1: STABLE beside SOBA and SABA in the setup of benchmark_bilevel

Hyper-parameter tuning on ijcnn1 as in benchmark_bilevel at commit 3ad65dc: exponential form, the
49,990 training rows inside, the 91,701 test rows outside, no bias, no scaling, y⁰ ~ N(0, I),
exp(u⁰) ~ U(0, 1), batches of 64, medians. Unlike there, F* and F are exact to about 1e-12 and
samples are counted; weights ½exp(u) are kept in [-lo, -hi], where there is no bound there. The grid
for α is 100 times the paper's: u has the scale of a logarithm.

  go run ./bench ijcnn1 -data ../data
`

	surviveUsage = `go run ./bench survive: a STABLE that does not blow up

On every data set, in both forms of the weights, for small and large μ_g, and on quadratic problems:
how many of the 100 settings of the paper's grid end non-finite, for the paper's method with its bound
C_gxy and with this module's safeguards, too; and how SAA-Newton, this module's default and not the
paper's method, and STABLE with steps that adapt stand to TTSA and BSA at their best, at equal samples
and at equal evaluations, and to HOAG, which takes all rows in every step and has no setting.` + choiceUsage + `
  go run ./bench survive -quick
  go run ./bench survive -data ../data
  go run ./bench survive -ablate             what each safeguard is worth
`

	limitUsage = `go run ./bench limit: how far from the best that the samples allow

On problems whose samples come from a stream: the mean error E[F − F*] over the local asymptotic
limit, below which no method comes in the long run (observe.LocalLimit). 1 is perfect. Last iterates
and running means, at 1000, 5000, 20000 and 100000 samples of each kind.` + roundsUsage + `
  go run ./bench limit -quick
  go run ./bench limit -data ../data
  go run ./bench limit -methods STABLE,SOBA -only quadratic,saddle -samples 20000
`

	untunedUsage = `go run ./bench untuned: a method that nobody tunes, on anybody's problem

On problems of all kinds, the error over that of the best rival, whose grid of settings is laid in the
problem's units; the untuned methods take nothing. Where trials of every rival fail, the best one
stands, marked, and counts with its last good iterates. The best rivals are kept in untuned-rivals.csv
in the -out folder, for -against.` + roundsUsage + `
  go run ./bench untuned -quick
  go run ./bench untuned -only simplex,ball -methods STABLE,SOBA
  go run ./bench untuned -methods MINE -against testdata/rivals.csv,testdata/rivals-large.csv
                                         a method of yours against all rivals, which do not run again
`

	choiceUsage = `

Each tuned method takes the best of 100 settings of step sizes, found on seeds of its own: one run of
each, -tune runs of the best 20, and the least geometric mean of those that fail in none. One that
fails in a trial gives way to the next best, 4 times at most.
`

	roundsUsage = choiceUsage + `
That goes for each budget, by last iterate and by mean, in rounds: all settings run to the first
budget, the best 30 to the second, 10 to the third, 5 to the last; methods for finite sums all at every
budget. A rival that is over 10 times behind the best one at the second budget or later is out of the
race on that problem.
`
)
