// Package tune tunes regularisation weights. Its commands are [Main], on one data set, compared
// with the least F there is, and [Tune], on a user's own files, which writes a model.
package tune

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
)

const tuneUsage = `go run ./bench tune: regularisation weights and a model, on files of your own

  go run ./bench tune DATA                      a quarter of the rows become the test
  go run ./bench tune TRAIN TEST
  go run ./bench tune TRAIN VALIDATION TEST
  go run ./bench tune -apply model.json DATA    predictions of a model, as CSV

Files are LIBSVM or CSV text, plain, gzip or bzip2; - is standard input. The columns of a second CSV
file are found by their names, in any order. Features that are 0 in all but the test rows are left
out. The others stay as they are if the largest absolute value of each is ½ to 1, and none lies ten
deviations from 0. Otherwise they are scaled to mean 0 and deviation 1, those that are 0 in more than
nine tenths of the rows to largest absolute value 1. All but the test rows decide. An intercept is added,
free (but for a thousandth of the data's curvature) unless -intercept says otherwise.

  -solver exact     a cross-validation (-folds), Newton's method on all rows: a constant; one weight
                    for all features; and the ladder, on each rung of which a feature's weight is
                    the inverse of its coefficient's mean square on the rung before: the way to the
                    evidence's weights (automatic relevance determination). Features whose weight
                    goes beyond -hi are dropped. The held-out rows choose the weight on each rung.
                    Rows of one name (-id) are in one fold, or part of a split, and copies if their labels never differ.
  -solver saa       for many rows, on one split: a constant; one weight; and a weight for each that
                    SAA-Newton, this module's default, finds from it on samples of the rows.

The model is an average. On each of 100 resamples of the held-out rows, the simplest result is chosen
whose loss is within half a standard error of the least (with one split, two); the models chosen are
averaged, and a feature that most drop is dropped. Rows judge choices that were made without them. All
are trained on all but the test rows, with weights scaled to that number of rows, which keeps the prior;
an averaged weight is the inverse of the mean of inverses. An l1 penalty, not smooth, is not among them.

Of more than two classes the model is one of all (softmax, by L-BFGS), with a weight a feature for all;
-class sets one against the rest.

With -clean a share of the labels is taken as wrong: as many as contradict sure votes of the models of
the folds. These are trained again, each row with the probability that its label is right as its weight,
until both agree. The report lists the rows whose label they find least likely, rows.csv all. The model of
all rows, trained so, is handed out where it is better on held-out rows, by a standard error, than the
average that allows for a share of wrong labels.

A search that was stopped begins anew; SAA-Newton goes on from its checkpoint in the folder -out (-save)
when the same command is given again. Writes model.json (weights, coefficients for rows with the values
of the file, losses, options, files), tune.svg and tune.csv: the held-out losses, and the weights; where it was
interrupted beside a finished model, cut-model.json …. The scores of a row v are raw_intercept + Σ coefficient·v,
of several classes one each: raw_intercepts, coefficients.

  go run ./bench tune credit.csv -label defaulted
  go run ./bench tune ijcnn1.trn.gz ijcnn1.tst.gz -solver saa -steps 200000
  go run ./bench tune iris.csv -class setosa
  go run ./bench tune digits.csv -clean
  go run ./bench tune houses.csv -loss squared -drop id -categorical -impute median

Flags:
`

type options struct {
	Seed   uint64  `json:"seed"`
	Solver string  `json:"solver"`
	Folds  int     `json:"folds"` // 1: one split
	Steps  int     `json:"steps,omitempty"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Loss   string  `json:"loss"`

	Intercept string `json:"intercept"`

	Label string `json:"label_column,omitempty"`
	Class string `json:"class,omitempty"` // against all others
	Clean bool   `json:"clean,omitempty"`

	Categorical bool     `json:"categorical,omitempty"`
	Impute      string   `json:"impute,omitempty"`
	Drop        []string `json:"drop,omitempty"`
	Headerless  bool     `json:"headerless,omitempty"`
	ID          string   `json:"id_column,omitempty"`

	out, apply string
	unlabelled bool
	open       bool          // -lo is not given: the grid goes on where the best lies at its end
	every      time.Duration // between two checkpoints; 0: none
	fresh      bool
}

const penalised, leastSteps = "penalised", 20000

var losses = map[string]hyperopt.Loss{"logistic": hyperopt.Logistic, "squared": hyperopt.Squared}

// Tune is the command tune: it tunes on files, or applies a model.
func Tune(ctx context.Context, args []string, out kit.Terminal) error {
	var o options
	fs := kit.NewFlags("bench tune", tuneUsage, "")
	o.shared(fs)
	fs.StringVar(&o.Solver, "solver",
		solverAuto, "`NAME`: exact, saa, or auto: exact for several classes, up to 5000 rows or some twenty seconds")
	fs.IntVar(&o.Folds, "folds",
		0, "folds; 1: one split (default: 5, dealt up to 8 times, or 1 where 5 take long on 5000 rows or more)")
	fs.IntVar(&o.Steps, "steps", 0, "steps of SAA-Newton, which they make the solver (default: 20000, or one a training row)")
	fs.Float64Var(&o.Lo, "lo", 1e-5, "least weight, from 1e-15 on; at most 0.01 over the rows by default, less where the best is so")
	fs.Float64Var(&o.Hi, "hi", 10, "largest weight, at most 1e5; beyond it a feature is dropped")
	fs.StringVar(&o.Loss, "loss", "logistic", "`NAME` of the loss: logistic (classes) or squared (regression)")
	fs.StringVar(&o.Intercept, "intercept", "free", "`HOW` the intercept is trained: free, or penalised like a feature")
	fs.StringVar(&o.Class, "class", "", "`LABEL` of the class that stands against all others (default: a model of all classes)")
	fs.BoolVar(&o.Clean, "clean", false, "find rows whose label looks wrong: rows.csv")
	fs.BoolVar(&o.Categorical, "categorical",
		false, "turn the columns of a CSV file that hold text into indicators, one for each text")
	fs.StringVar(&o.Impute, "impute", "",
		"`HOW` missing cells are filled: median or mean of all rows, and the most frequent text; with -apply, new text, too")
	fs.Func("drop", "`COLUMN` of a CSV file to leave out; may be given again",
		func(name string) error { o.Drop = append(o.Drop, name); return nil })
	fs.StringVar(&o.ID, "id", "", "`COLUMN` of a CSV file that names the rows and is no feature; with -apply, it is kept")
	fs.BoolVar(&o.Headerless, "headerless", false, "a CSV file has no header: its columns are called 1, 2, …")
	fs.StringVar(&o.out, "out", "out", "`FOLDER` for the model and the figure; if given with -apply, for predictions.csv")
	fs.StringVar(&o.apply, "apply", "", "`FILE` of a model, to predict with")
	fs.BoolVar(&o.unlabelled, "unlabelled", false, "with -apply: there are no labels, or they mean nothing")
	files, err := kit.ParseFiles(fs, args, out)
	if err != nil {
		return err
	}
	err = o.check(len(files))
	fs.Visit(func(f *flag.Flag) {
		switch {
		case (f.Name == "steps" || f.Name == "folds") && f.Value.String() == "0": // which stands for the default
			err = usage(fmt.Errorf("-%s is 0, want ≥ 1", f.Name))
		case o.apply != "" && !slices.Contains([]string{"apply", "drop", "label", "id", "impute", "out", "unlabelled"}, f.Name):
			err = usage(fmt.Errorf("-%s says how a model is trained, and -apply takes one that is", f.Name))
		}
	})
	if err != nil {
		return err
	}
	if o.apply != "" && !kit.IsSet(fs, "out") {
		o.out = ""
	} else if err := o.spare(files); err != nil {
		return err
	}
	if o.apply != "" {
		return applyModel(o, files[0], out)
	}
	set, err := readData(o, files)
	if err != nil {
		return err
	}
	if o.open = !kit.IsSet(fs, "lo"); o.open {
		o.Lo = min(o.Lo, 0.01/float64(set.design.Rows()))
	}
	t, err := newSearch(o, set)
	if err != nil {
		return err
	}
	return drive(ctx, t, o.out, out)
}

// spare returns an error if results would replace one of the files, or cannot be written.
func (o *options) spare(files []string) error {
	names := []string{"model.json", "tune.svg", "tune.csv"}
	switch {
	case o.apply != "":
		names = []string{"predictions.csv"}
	case o.Clean:
		names = append(names, "rows.csv")
	}
	for _, name := range names {
		path := filepath.Join(o.out, name)
		to, err := os.Stat(path)
		for _, file := range files {
			if from, e := os.Stat(file); err == nil && (to.IsDir() || e == nil && os.SameFile(from, to)) {
				return usage(fmt.Errorf("-out %s: results would replace %s: choose another folder", o.out, path))
			}
		}
	}
	return nil
}

func (o *options) check(files int) error {
	_, loss := losses[o.Loss]
	if o.Solver == solverAuto && o.Steps != 0 {
		o.Solver = solverSAA
	}
	return usage(
		wrong(o.apply != "" && files != 1, "%d data files, want one to apply the model to", files),
		wrong(o.apply == "" && (files < 1 || files > 3), "%d data files, want one to three: see -h", files),
		wrong(o.apply == "" && o.unlabelled, "-unlabelled goes with -apply"),
		wrong(!loss, "-loss is %q, want logistic or squared", o.Loss),
		wrong(!slices.Contains([]string{solverAuto, solverExact, solverSAA}, o.Solver),
			"-solver is %q, want auto, exact or saa", o.Solver),
		wrong(o.Clean && (o.regression() || o.Solver == solverSAA || o.Steps != 0),
			"-clean goes with classes and -solver exact"),
		wrong(o.Lo > 0 && o.Lo < 1e-15 || o.Hi > dropped/10, "-lo %v -hi %v, want 1e-15 ≤ lo and hi ≤ 1e5", o.Lo, o.Hi),
		wrong(o.Class != "" && o.regression(), "-class goes with -loss logistic"),
		wrong(!slices.Contains([]string{"", "median", "mean"}, o.Impute), "-impute is %q, want median or mean", o.Impute),
		wrong(o.Folds < 0, "-folds is %d, want ≥ 1", o.Folds),
		wrong(o.Solver == solverExact && o.Steps != 0, "-steps goes with -solver saa"),
		o.checkShared(cmp.Or(o.Steps, leastSteps), "free", penalised))
}

func (o *options) checkShared(steps int, intercepts ...string) error {
	return cmp.Or(
		wrong(o.every < 0, "-save is %v, want ≥ 0", o.every),
		wrong(!slices.Contains(intercepts, o.Intercept), "-intercept is %q, want %s", o.Intercept, strings.Join(intercepts, " or ")),
		wrong(steps < 1, "-steps is %d, want ≥ 1", steps),
		wrong(!(o.Lo > 0 && o.Lo < o.Hi) || math.IsInf(o.Hi, 1), "-lo %v -hi %v, want 0 < lo < hi", o.Lo, o.Hi))
}

func (o *options) regression() bool { return losses[o.Loss] == hyperopt.Squared }

func (o *options) kind(classes []string) (loss hyperopt.Loss, outputs int) {
	if len(classes) > 2 {
		return hyperopt.Softmax, len(classes)
	}
	return losses[o.Loss], 1
}

func wrong(so bool, format string, args ...any) error {
	if so {
		return fmt.Errorf(format, args...)
	}
	return nil
}

func usage(errs ...error) error {
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("%w: %w", kit.ErrUsage, err)
	}
	return nil
}

func (t *search) write(w io.Writer) error {
	model, err := t.newModel()
	if err != nil {
		return err
	}
	fig, cut := t.figure(), ""
	if old, err := readModel(filepath.Join(t.out, "model.json")); err == nil && t.choice.Cut && !old.Choice.Cut {
		cut = "cut-" // a finished model stays
	}
	files := map[string]func(io.Writer) error{cut + "model.json": model.encode, cut + "tune.svg": fig.WriteSVG, cut + "tune.csv": fig.WriteCSV}
	if t.cleaner != nil {
		files[cut+"rows.csv"] = t.writeRows
	}
	if err := put(t.out, files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote    %s with %[2]stune.svg and %[2]stune.csv\n", filepath.Join(t.out, cut+"model.json"), cut)
	return err
}
