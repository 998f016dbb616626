package tune

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/hyperopt"
)

const tuneUsage = `go run ./bench tune: a regularisation weight for every feature, on files of your own

  go run ./bench tune DATA                      a quarter of the rows become the test
  go run ./bench tune TRAIN TEST
  go run ./bench tune TRAIN VALIDATION TEST
  go run ./bench tune -apply model.json DATA    predictions of a model, as CSV

Files are LIBSVM or CSV text, plain, gzip or bzip2; - is standard input. The columns of a second CSV
file are found by their names, in any order. Features that are 0 in all but the test rows are left
out. The others stay as they are if the largest absolute value of each is ½ to 1. Otherwise they are
scaled to mean 0 and deviation 1, or, if more than a tenth of the entries are 0, to largest absolute
value 1. All but the test rows decide. An intercept is added. Two searches minimise the validation
loss: over a single weight for all features, and, from the best one, over a weight for each.

  -solver exact     Newton's method on all rows, on the mean loss of a cross-validation (-folds)
  -solver saa       SAA-Newton on samples of the rows, on one split of them, from the best single
                    weight: Newton's method on samples that grow, this module's default. It is not
                    STABLE, of which it keeps the drift correction and the contract.

Rows that neither search saw decide between the two: each fold, for searches without it; with one
split, half of the validation rows. The model gets a weight for each feature if its loss there is
less by more than one standard error (with one split: two), and otherwise the single weight. It is
trained on all but the test rows, with weights scaled to that number of rows, which keeps the prior.
A search that was stopped begins anew. SAA-Newton, which may run for hours, goes on from its
checkpoint in the folder -out (-save) when the same command is given again, to the same model; the
curve of the figure then begins there. Writes model.json (weights, coefficients for rows with the
values of the file, losses, options, files), tune.svg and tune.csv.

  go run ./bench tune credit.csv -label defaulted
  go run ./bench tune ijcnn1.trn.gz ijcnn1.tst.gz -solver saa -steps 200000
  go run ./bench tune iris.csv -class setosa
  go run ./bench tune houses.csv -loss squared -drop id -categorical -impute median

Flags:
`

// options holds the flags of tune; the tagged ones go into the model.
type options struct {
	Seed   uint64  `json:"seed"`
	Solver string  `json:"solver"`
	Folds  int     `json:"folds"` // 1: one split
	Steps  int     `json:"steps,omitempty"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Form   string  `json:"form"`
	Loss   string  `json:"loss"`
	Label  string  `json:"label_column,omitempty"`
	Class  string  `json:"class,omitempty"` // against all others

	Categorical bool     `json:"categorical,omitempty"`
	Impute      string   `json:"impute,omitempty"`
	Drop        []string `json:"drop,omitempty"`
	Headerless  bool     `json:"headerless,omitempty"`
	ID          string   `json:"id_column,omitempty"`

	out, apply string
	unlabelled bool
	every      time.Duration // between two checkpoints; 0: none
	fresh      bool
}

// leastSteps is the least default number of steps.
const leastSteps = 20000

var (
	forms  = map[string]hyperopt.Form{"exp": hyperopt.Exp, "raw": hyperopt.Raw}
	losses = map[string]hyperopt.Loss{"logistic": hyperopt.Logistic, "squared": hyperopt.Squared}
)

// Tune is the command tune: it tunes on files, or applies a model.
func Tune(ctx context.Context, args []string, out kit.Terminal) error {
	var o options
	fs := kit.NewFlags("bench tune", tuneUsage, "")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of the split and of the samples")
	fs.StringVar(&o.Solver, "solver",
		solverAuto, "`NAME`: exact, saa, or auto: exact where it takes some twenty seconds at most")
	fs.IntVar(&o.Folds, "folds",
		0, "folds of the cross-validation; 1: one split (default: 5, or 1 where 5 would take long)")
	fs.IntVar(&o.Steps, "steps",
		0, "steps of SAA-Newton, which they make the solver (default: 20000, or one a training row)")
	fs.Float64Var(&o.Lo, "lo", 1e-5, "least regularisation weight")
	fs.Float64Var(&o.Hi, "hi", 10, "largest regularisation weight")
	fs.StringVar(&o.Form, "form", "exp", "`NAME` of the weights' parametrisation: exp (½exp(x_i)) or raw (x_i)")
	fs.StringVar(&o.Loss, "loss", "logistic", "`NAME` of the loss: logistic (two classes) or squared (regression)")
	fs.StringVar(&o.Label, "label", "", "`COLUMN` of the label in a CSV file (default: the last)")
	fs.StringVar(&o.Class, "class", "", "`LABEL` of the class that stands against all others (default: there are two)")
	fs.BoolVar(&o.Categorical, "categorical",
		false, "turn the columns of a CSV file that hold text into indicators, one for each text")
	fs.StringVar(&o.Impute, "impute", "",
		"`HOW` missing cells of a CSV file are filled: median or mean; text by the most frequent; -apply: new text, too")
	fs.Func("drop", "`COLUMN` of a CSV file to leave out; may be given again", func(name string) error {
		o.Drop = append(o.Drop, name)
		return nil
	})
	fs.StringVar(&o.ID, "id", "", "`COLUMN` of a CSV file that names the rows and is no feature; with -apply, it is kept")
	fs.BoolVar(&o.Headerless, "headerless", false, "a CSV file has no header: its columns are called 1, 2, …")
	fs.StringVar(&o.out, "out", "out", "`FOLDER` for the model and the figure; if given with -apply, for predictions.csv")
	fs.DurationVar(&o.every, "save", time.Second, "time between two checkpoints of -solver saa in the folder -out; 0: none")
	fs.BoolVar(&o.fresh, "fresh", false, "begin again where an interrupted -solver saa could go on")
	fs.StringVar(&o.apply, "apply", "", "`FILE` of a model, to predict with")
	fs.BoolVar(&o.unlabelled, "unlabelled", false, "with -apply: there are no labels, or they mean nothing")
	files, err := kit.ParseFiles(fs, args, out)
	if err != nil {
		return err
	}
	for name, value := range map[string]int{"steps": o.Steps, "folds": o.Folds} {
		if value == 0 && kit.IsSet(fs, name) { // 0 stands for the default
			return fmt.Errorf("%w: -%s is 0, want ≥ 1", kit.ErrUsage, name)
		}
	}
	if err := o.check(len(files)); err != nil {
		return err
	}
	if o.apply != "" {
		if !kit.IsSet(fs, "out") {
			o.out = ""
		}
		return applyModel(o, files[0], out)
	}
	set, err := readData(o, files)
	if err != nil {
		return err
	}
	t, err := newSearch(o, set)
	if err != nil {
		return err
	}
	return drive(ctx, t, o.out, out)
}

// check returns an error about the first flag that is out of range, or about the number of files.
func (o *options) check(files int) error {
	_, form := forms[o.Form]
	_, loss := losses[o.Loss]
	switch {
	case o.apply != "" && files != 1:
		return fmt.Errorf("%w: %d data files, want one to apply the model to", kit.ErrUsage, files)
	case o.apply == "" && (files < 1 || files > 3):
		return fmt.Errorf("%w: %d data files, want one to three: see -h", kit.ErrUsage, files)
	case o.apply == "" && o.unlabelled:
		return fmt.Errorf("%w: -unlabelled goes with -apply", kit.ErrUsage)
	case !form:
		return fmt.Errorf("%w: -form is %q, want exp or raw", kit.ErrUsage, o.Form)
	case !loss:
		return fmt.Errorf("%w: -loss is %q, want logistic or squared", kit.ErrUsage, o.Loss)
	case o.Solver != solverAuto && o.Solver != solverExact && o.Solver != solverSAA:
		return fmt.Errorf("%w: -solver is %q, want auto, exact or saa", kit.ErrUsage, o.Solver)
	case o.Class != "" && losses[o.Loss] == hyperopt.Squared:
		return fmt.Errorf("%w: -class goes with -loss logistic", kit.ErrUsage)
	case o.Impute != "" && o.Impute != "median" && o.Impute != "mean":
		return fmt.Errorf("%w: -impute is %q, want median or mean", kit.ErrUsage, o.Impute)
	case o.every < 0:
		return checkSave(o.every)
	case o.Folds < 0:
		return fmt.Errorf("%w: -folds is %d, want ≥ 1", kit.ErrUsage, o.Folds)
	case o.Solver == solverExact && o.Steps != 0:
		return fmt.Errorf("%w: -steps goes with -solver saa", kit.ErrUsage)
	case o.Solver == solverAuto && o.Steps != 0:
		o.Solver = solverSAA
	}
	steps := o.Steps
	if steps == 0 {
		steps = leastSteps
	}
	return checkSteps(steps, o.Lo, o.Hi)
}

// write writes the model, the figure and its numbers.
func (t *search) write(w io.Writer) error {
	model, err := t.newModel()
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{"model.json": model.encode}
	if t.engine == nil || len(t.engine.f) > 1 {
		fig := t.figure()
		files["tune.svg"], files["tune.csv"] = fig.WriteSVG, fig.WriteCSV
	}
	if err := put(t.out, files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote    %s with tune.svg and tune.csv\n", filepath.Join(t.out, "model.json"))
	return err
}

// figure draws the loss of the folds or of the validation rows, in the scaled units of the target:
// over the single weight, or along the samples.
func (t *search) figure() *plot.Figure {
	p := plot.Panel{Title: fmt.Sprintf("Tuning on %s", filepath.Base(t.files[0].Path)),
		Y: plot.Axis{Label: "validation loss F"}}
	if t.folded() {
		p.Y.Label = fmt.Sprintf("%d-fold loss", t.Folds)
	}
	line := func(r *result) {
		p.Lines = append(p.Lines, plot.Line{Label: r.Name, C: r.f})
	}
	if e := t.engine; e != nil {
		p.X = plot.Axis{Label: "samples drawn, ξ and φ", Log: true}
		p.Series = []plot.Series{{Name: e.method.Name(), X: e.samples[1:], Y: e.f[1:],
			Style: kit.Style(e.method.Name())}}
		line(&t.single)
		return &plot.Figure{Panels: []plot.Panel{p}}
	}
	p.X = plot.Axis{Label: "weight", Log: true}
	p.Series = []plot.Series{{Name: "one weight for all", X: t.single.grid, Y: t.single.losses}}
	line(&t.each)
	return &plot.Figure{Panels: []plot.Panel{p}}
}
