package race

import (
	"context"
	"flag"
	"fmt"
	"math"

	"stable/bench/kit"
)

// racingFlags holds the flags of every race.
type racingFlags struct {
	kit.Common
	samples      uint64
	trials, tune int
}

func (r *racingFlags) add(fs *flag.FlagSet) {
	r.Common.Add(fs, "fewer samples, trials and rows")
	fs.Uint64Var(&r.samples, "samples", r.samples, "samples of a run, ξ and φ together")
	fs.IntVar(&r.trials, "trials", r.trials, "runs of each method, from random starts")
	fs.IntVar(&r.tune, "tune", r.tune, "runs of each of the best settings in the choice of step sizes")
}

// check returns an error if a flag is out of range. It applies -quick.
func (r *racingFlags) check() error {
	if !r.Quick {
		return checkRuns(r.samples, r.trials, r.tune)
	}
	given := r.samples
	r.samples, r.trials = given*3/10, min(r.trials, 4)
	if r.samples < leastSamples {
		return fmt.Errorf("%w: -samples is %d, of which -quick takes 3 in 10: want ≥ 3334", kit.ErrUsage, given)
	}
	return checkRuns(r.samples, r.trials, r.tune)
}

// leastSamples is the shortest run of a race.
const leastSamples = 1000

// checkRuns returns an error if -samples, -trials or -tune is out of range.
func checkRuns(samples uint64, trials, tune int) error {
	switch {
	case samples < leastSamples:
		return fmt.Errorf("%w: -samples is %d, want ≥ %d", kit.ErrUsage, samples, leastSamples)
	case trials < 1:
		return fmt.Errorf("%w: -trials is %d, want ≥ 1", kit.ErrUsage, trials)
	case tune < 1:
		return fmt.Errorf("%w: -tune is %d, want ≥ 1", kit.ErrUsage, tune)
	}
	return nil
}

// rows returns the largest number of rows to take from a data file.
func (r *racingFlags) rows() int {
	if r.Quick {
		return quickRows
	}
	return math.MaxInt
}

// experiment returns the experiment that the flags describe. describe says what its results depend
// on besides the flags.
func (r *racingFlags) experiment(name, describe string, arenas []*arena, entrants []*entrant) (*experiment, error) {
	share, err := r.Share()
	if r.Quick {
		describe += ", quick"
	}
	return &experiment{name: name, describe: describe, arenas: arenas, entrants: entrants,
		samples: r.samples, trials: r.trials,
		tuneTrials: r.tune, points: 40, seed: r.Seed, folder: r.Out, share: share}, err
}

// addWeights defines the flags of the bounds of the weights.
func addWeights(fs *flag.FlagSet, w *weights) {
	fs.Float64Var(&w.lo, "lo", w.lo, "lower bound of every weight")
	fs.Float64Var(&w.hi, "hi", w.hi, "upper bound of every weight")
}

// addForm defines the flag of their form.
func addForm(fs *flag.FlagSet, w *weights) {
	fs.StringVar(&w.form, "form", "raw", "weights of y_i²: raw, x_i as in the paper, or exp, ½exp(x_i)")
}

func (w weights) check() error {
	switch {
	case !(w.lo > 0 && w.lo < w.hi) || math.IsInf(w.hi, 1):
		return fmt.Errorf("%w: -lo %v -hi %v, want 0 < lo < hi", kit.ErrUsage, w.lo, w.hi)
	case w.form != "raw" && w.form != "exp":
		return fmt.Errorf("%w: -form %q, want raw or exp", kit.ErrUsage, w.form)
	}
	return nil
}

func (w weights) String() string { return fmt.Sprintf("%s weights in [%g, %g]", w.form, w.lo, w.hi) }

// show runs an experiment and reports on it.
func (x *experiment) show(ctx context.Context, out kit.Terminal) error {
	chosen, done, err := x.run(ctx, out)
	if err != nil {
		return x.share.Unfinished(err, out)
	}
	return x.report(out.Stdout, chosen, done)
}
