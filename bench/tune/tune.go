package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
	"stable/bilevel/hyperopt"
)

const tuneUsage = `go run ./bench tune: a regularisation weight for every feature, tuned with STABLE on files of your own

  go run ./bench tune DATA                      split into training, validation and test rows, 2 : 1 : 1
  go run ./bench tune TRAIN TEST                the first split into training and validation rows, 2 : 1
  go run ./bench tune TRAIN VALIDATION TEST
  go run ./bench tune -apply model.json DATA    predictions of a model, as CSV

Files are LIBSVM or CSV text, plain or gzip. Features are scaled as measured on the training rows,
and an intercept is added. The table holds STABLE against the best single weight of two grid
searches, each model trained exactly with the weights found:

  equal cost    may read as many rows as STABLE read. A read is one training or validation row in
                one sum (loss with gradient, Hessian, product), at one point; each Newton iteration
                reads every row at least twice. STABLE's own count includes the pass that bounds
                C_gxy. Where the budget is too small for 17 weights on all rows, the search works
                on a random share of them, with weights larger by 1/share, which is the same prior.
                Seconds stand beside the reads: a step of STABLE also solves with a d × d matrix.
  exact         Newton's method on all rows, without a budget.

The last lines say by how much the test loss with a weight each differs from theirs, with the
standard error over test rows. Writes model.json (weights, coefficients for rows as they stand in
the file, losses, options, files), tune.svg and tune.csv.

  go run ./bench tune credit.csv -label defaulted
  go run ./bench tune ijcnn1.trn.gz ijcnn1.tst.gz -steps 200000
  go run ./bench tune houses.csv -loss squared -out houses

Flags:
`

// options are the flags of tune; the tagged ones go into the model.
type options struct {
	Seed  uint64  `json:"seed"`
	Steps int     `json:"steps"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Form  string  `json:"form"`
	Loss  string  `json:"loss"`
	Label string  `json:"label_column,omitempty"`

	out, apply string
	unlabelled bool
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
	fs.IntVar(&o.Steps, "steps", 0, "steps of STABLE, two samples each (default: 20000, or one for each training row if these are more)")
	fs.Float64Var(&o.Lo, "lo", 1e-5, "least regularisation weight")
	fs.Float64Var(&o.Hi, "hi", 10, "largest regularisation weight")
	fs.StringVar(&o.Form, "form", "exp", "`NAME` of the weights' parametrisation: exp (½exp(x_i)) or raw (x_i)")
	fs.StringVar(&o.Loss, "loss", "logistic", "`NAME` of the loss: logistic (two classes) or squared (regression)")
	fs.StringVar(&o.Label, "label", "", "`COLUMN` of the label in a CSV file (default: the last)")
	fs.StringVar(&o.out, "out", "out", "`FOLDER` for the model and the figure")
	fs.StringVar(&o.apply, "apply", "", "`FILE` of a model, to predict with")
	fs.BoolVar(&o.unlabelled, "unlabelled", false, "with -apply: there are no labels, or they mean nothing")
	files, err := kit.ParseFiles(fs, args, out)
	if err != nil {
		return err
	}
	if o.Steps == 0 && kit.IsSet(fs, "steps") {
		return fmt.Errorf("%w: -steps is 0, want ≥ 1", kit.ErrUsage)
	}
	if err := o.check(len(files)); err != nil {
		return err
	}
	if o.apply != "" {
		return applyModel(o, files[0], out)
	}
	return tuneOn(ctx, o, files, out)
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
	}
	steps := o.Steps
	if steps == 0 {
		steps = leastSteps
	}
	return checkSteps(steps, o.Lo, o.Hi)
}

// tuneOn tunes, reports and writes. An interrupted or diverged run is reported and written up to
// where it came, if it came anywhere.
func tuneOn(ctx context.Context, o options, files []string, out kit.Terminal) error {
	set, err := readData(o, files)
	if err != nil {
		return err
	}
	if o.Steps == 0 {
		o.Steps = max(leastSteps, set.train.Rows())
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { // before the work, which would be lost
		return err
	}
	t, err := newSearch(o, set)
	if err != nil {
		return err
	}
	t.describe(out.Stdout)
	runErr := t.stable(ctx, kit.NewProgress(out))
	stopped := errors.Is(runErr, context.Canceled) || errors.Is(runErr, bilevel.ErrDiverged)
	if runErr != nil && (!stopped || t.engine.result.Steps == 0) {
		return runErr
	}
	if err := t.baselines(ctx, kit.NewProgress(out)); err != nil && !errors.Is(err, context.Canceled) {
		return errors.Join(err, runErr)
	} else if runErr == nil {
		runErr = err
	}
	return errors.Join(t.report(out.Stdout), t.write(out.Stdout), runErr)
}

// write writes the model, the figure and its numbers.
func (t *search) write(w io.Writer) error {
	model, err := t.newModel()
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{"model.json": model.encode}
	if len(t.engine.f) > 1 {
		fig := t.figure()
		files["tune.svg"], files["tune.csv"] = fig.WriteSVG, fig.WriteCSV
	}
	for name, fill := range files {
		if err := atomicfile.Write(filepath.Join(t.out, name), fill); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "wrote    %s with tune.svg and tune.csv\n", filepath.Join(t.out, "model.json"))
	return err
}

// figure draws the validation loss of the model trained with x^k, in the scaled units of the
// target.
func (t *search) figure() *plot.Figure {
	p := plot.Panel{
		Title:  fmt.Sprintf("Tuning on %s", filepath.Base(t.files[0].Path)),
		X:      plot.Axis{Label: "samples drawn, ξ and φ", Log: true},
		Y:      plot.Axis{Label: "validation loss F(x^{k})"},
		Series: []plot.Series{{Name: "STABLE", X: t.engine.samples[1:], Y: t.engine.f[1:]}},
	}
	for _, r := range t.results {
		if r.Lambda > 0 {
			p.Lines = append(p.Lines, plot.Line{Label: r.Name, C: r.f})
		}
	}
	return &plot.Figure{Panels: []plot.Panel{p}}
}
