package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
)

const figure2Usage = `go run ./bench figure2: Figure 2 of the STABLE paper

The test problem of the paper's section 4 (validation loss of a logistic regression whose weights x_i of y_i² are tuned) on australian, ijcnn1 and
covtype: error F(x^k) − F* against samples and against seconds, mean and standard deviation over trials from random starts. Each method takes the best
of 100 settings of the paper's grid {1, .5, .1, .05, .01}, found on seeds of its own; STABLE as this module has it runs untuned.

  go run ./bench figure2                                  the data set that ships with the module
  go run ./bench figure2 -data ../data -trials 50         the paper's three, from a folder laid out as LIBSVM's files
  go run ./bench figure2 -data ../data -quick             a short form
  go run ./bench figure2 -data ../data -part 3/8          the third of eight parts; with -merge 8, all of them together

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// racingFlags are those that figure2 and compare have in common.
type racingFlags struct {
	data, methods, part, out string
	samples                  uint64
	trials, tune, merge      int
	seed                     uint64
	lo, hi                   float64
	form                     string // raw or exp
	quick, median            bool
}

func (r *racingFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&r.methods, "methods", r.methods, "`NAMES` of methods, separated by commas")
	fs.Uint64Var(&r.samples, "samples", r.samples, "samples of a run, ξ and φ together")
	fs.IntVar(&r.trials, "trials", r.trials, "runs of each method, from random starts")
	fs.IntVar(&r.tune, "tune", r.tune, "runs of each setting in the choice of step sizes")
	fs.Uint64Var(&r.seed, "seed", 1, "seed of splits, starts and samples")
	fs.StringVar(&r.out, "out", "out", "`FOLDER` for results, figure and numbers")
	fs.StringVar(&r.part, "part", "", "`I/N`: do the Ith of N parts only")
	fs.IntVar(&r.merge, "merge", 0, "report on the results of `N` parts")
	fs.StringVar(&r.form, "form", "raw", "weights of y_i²: raw, x_i as in the paper, or exp, ½exp(x_i)")
	fs.Float64Var(&r.lo, "lo", r.lo, "lower bound of every weight")
	fs.Float64Var(&r.hi, "hi", r.hi, "upper bound of every weight")
	fs.BoolVar(&r.quick, "quick", false, "fewer samples, trials and rows")
}

// check refuses what makes no experiment, and applies -quick.
func (r *racingFlags) check() error {
	if r.quick {
		r.samples, r.trials, r.tune = r.samples*3/10, min(r.trials, 4), min(r.tune, 1)
	}
	switch {
	case r.samples < 1000:
		return fmt.Errorf("%w: -samples is %d, want ≥ 1000", errUsage, r.samples)
	case r.trials < 1:
		return fmt.Errorf("%w: -trials is %d, want ≥ 1", errUsage, r.trials)
	case r.tune < 1:
		return fmt.Errorf("%w: -tune is %d, want ≥ 1", errUsage, r.tune)
	case !(r.lo > 0 && r.lo < r.hi) || math.IsInf(r.hi, 1):
		return fmt.Errorf("%w: -lo %v -hi %v, want 0 < lo < hi", errUsage, r.lo, r.hi)
	case r.form != "raw" && r.form != "exp":
		return fmt.Errorf("%w: -form %q, want raw or exp", errUsage, r.form)
	}
	return nil
}

func figure2(ctx context.Context, args []string, out terminal) error {
	r := racingFlags{methods: "STABLE,STABLE-paper,BSA,TTSA", samples: 20000, trials: 50, tune: 4, lo: 0.1, hi: 1}
	fs := flag.NewFlagSet("bench figure2", flag.ContinueOnError)
	fs.StringVar(&r.data, "data", "", "`FOLDER` with australian/, ijcnn1/ and covtype/ (default: the shipped data set)")
	r.add(fs)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), figure2Usage)
		fs.PrintDefaults()
	}
	if err := parse(fs, args, out); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	files, err := paperFiles(r.data)
	if err != nil {
		return err
	}
	var arenas []*arena
	for _, f := range files {
		a, err := hyperoptArena(f, &r, out)
		if err != nil {
			return err
		}
		arenas = append(arenas, a)
	}
	return r.race(ctx, "figure2", arenas, out)
}

// paperFiles finds the paper's data sets in a folder.
func paperFiles(folder string) ([]string, error) {
	if folder == "" {
		return []string{shippedData}, nil
	}
	var files []string
	for _, f := range []string{"australian/australian_scale", "ijcnn1/ijcnn1.trn", "covtype/covtype.libsvm.binary.scale"} {
		path, err := plainOrGzip(filepath.Join(folder, filepath.FromSlash(f)))
		if err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// plainOrGzip returns path.gz or path, whichever there is.
func plainOrGzip(path string) (string, error) {
	for _, p := range []string{path + ".gz", path} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s or %[1]s.gz: not there; the file is on the LIBSVM data page", path)
}

// race runs or merges an experiment, and reports.
func (r *racingFlags) race(ctx context.Context, name string, arenas []*arena, out terminal) error {
	x := &experiment{name: name, arenas: arenas, samples: r.samples, trials: r.trials, tuneTrials: r.tune, points: 40, seed: r.seed,
		folder: r.out, median: r.median}
	x.describe = fmt.Sprintf("%s weights in [%g, %g]", r.form, r.lo, r.hi)
	if r.quick {
		x.describe += ", quick"
	}
	var err error
	if x.part, x.of, err = parsePart(r.part); err != nil {
		return err
	}
	if r.merge > 1 {
		x.part, x.of = 1, r.merge
	}
	if x.entrants, err = lineup(strings.Split(r.methods, ",")); err != nil {
		return err
	}
	chosen, done, err := x.run(ctx, out)
	if errors.Is(err, errUnfinished) && x.of > 1 && r.merge == 0 {
		_, err := fmt.Fprintf(out.Stdout, "part %d of %d: done so far as it can be without the others; when they are there too, the same command goes on, and -merge %d reports\n", x.part, x.of, x.of)
		return err
	}
	if err != nil {
		return err
	}
	return x.report(out.Stdout, chosen, done)
}

// quickRows is the number of rows that -quick takes of a larger data set.
const quickRows = 20000

// hyperoptArena is the paper's test problem on a data file: random halves for training and
// validation, x in a box, random starts in it.
func hyperoptArena(file string, r *racingFlags, out terminal) (*arena, error) {
	rows := math.MaxInt
	if r.quick {
		rows = quickRows
	}
	train, val, origin, err := halves(file, rows, r.seed)
	if err != nil {
		return nil, err
	}
	a, err := tuningArena(dataName(file), train, val, r.form, r.lo, r.hi, out)
	if err != nil {
		return nil, err
	}
	a.data = []source{origin}
	return a, nil
}

// dataName is the name of a data file in tables and figures: that of the file without the endings
// that say only how it is written.
func dataName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".gz")
	for _, ending := range []string{".csv", ".svm", ".libsvm", ".svmlight"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// halves splits at most so many rows of a data file at random.
func halves(file string, rows int, seed uint64) (train, val *hyperopt.Data, origin source, err error) {
	d, origin, err := openData(job{data: file})
	if err != nil {
		return nil, nil, origin, err
	}
	if d.Rows() > rows {
		parts, err := d.Split(seed, float64(rows), float64(d.Rows()-rows))
		if err != nil {
			return nil, nil, origin, err
		}
		d = parts[0]
	}
	parts, err := d.Split(seed, 1, 1)
	if err != nil {
		return nil, nil, origin, err
	}
	if file == shippedData { // its features are of very different sizes; the paper's data sets come scaled
		if _, err := scale(parts); err != nil {
			return nil, nil, origin, err
		}
	}
	return parts[0], parts[1], origin, nil
}

// tuningArena is the test problem with weights in [lo, hi], raw or exp.
func tuningArena(name string, train, val *hyperopt.Data, form string, least, largest float64, out terminal) (*arena, error) {
	opt := hyperopt.Options{Form: hyperopt.Raw, Lo: least, Hi: largest}
	if form == "exp" {
		opt = hyperopt.Options{Form: hyperopt.Exp, Lo: math.Log(2 * least), Hi: math.Log(2 * largest)}
	}
	p, err := hyperopt.New(train, val, opt)
	if err != nil {
		return nil, err
	}
	pr := newProgress(out)
	pr.update(0, "%s: exact minimum", name)
	defer pr.clear()
	best, err := leastF(p)
	if err != nil {
		return nil, err
	}
	lo, hi := p.Box()
	a := &arena{
		name:  name,
		fresh: func() contest { return p.Clone() },
		set:   bilevel.Box{Lo: lo, Hi: hi},
		muG:   p.StrongConvexity(), lG: p.Smoothness(), cGxy: p.CrossBound(),
		best: best.F,
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0, y0 = make([]float64, len(lo)), make([]float64, len(lo))
			for i := range x0 {
				x0[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
				y0[i] = rng.NormFloat64()
			}
			return x0, y0
		},
	}
	return a, nil
}
