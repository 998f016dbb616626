package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"text/tabwriter"
	"time"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/bilevel/saa"
)

const mainUsage = `go run ./bench: hyper-parameter tuning with SAA-Newton

Finds a regularisation weight ½exp(x_i) for each feature of a logistic regression, such that the
model trained on the training rows has the least loss on the validation rows. Prints F(x), the
validation loss of the model trained with x, before and after, and for comparison the least F there
is and the best single weight of a grid. Writes a figure and its numbers. SAA-Newton is this module's
default: Newton's method on growing samples, which keeps the drift correction and the contract of
STABLE. The paper's method itself, STABLE with adaptive steps, runs beside it.

  go run ./bench
  go run ./bench -data australian_scale.gz -steps 50000 -seed 7
  go run ./bench -data credit.csv -label defaulted -out results

A run that was stopped or killed goes on from its checkpoint (-save) when the same command is given
again, and ends with the same table; its curve then begins there. The other commands: go run ./bench -h

Flags:
`

type job struct {
	data, label, out string
	seed             uint64
	steps            int
	lo, hi           float64
	intercept        string
	every            time.Duration // solving between two checkpoints; 0: none
	fresh            bool
}

// Main is the main job.
func Main(ctx context.Context, args []string, out kit.Terminal) error {
	var j job
	fs := kit.NewFlags("bench", mainUsage, "")
	fs.StringVar(&j.data, "data", kit.ShippedData, "`FILE` of LIBSVM or CSV text, plain, gzip or bzip2; -: standard input")
	fs.StringVar(&j.label, "label", "", "`COLUMN` of the label in a CSV file (default: the last)")
	fs.StringVar(&j.out, "out", "out", "`FOLDER` for the figure and its numbers")
	fs.Uint64Var(&j.seed, "seed", 1, "seed of the split and of the samples")
	fs.IntVar(&j.steps, "steps", 20000, "steps of each method, two samples each")
	fs.StringVar(&j.intercept, "intercept", "free", "`HOW` the intercept is trained: free, penalised like a feature, or none")
	fs.Float64Var(&j.lo, "lo", 1e-3, "least regularisation weight")
	fs.Float64Var(&j.hi, "hi", 10, "largest regularisation weight")
	fs.DurationVar(&j.every, "save", time.Second, "time between two checkpoints in the folder -out; 0: none")
	fs.BoolVar(&j.fresh, "fresh", false, "begin again where an interrupted run could go on")
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	intercept := checkIntercept(j.intercept, "free", penalised, "none")
	if err := kit.FirstOf(checkSave(j.every), intercept, checkSteps(j.steps, j.lo, j.hi)); err != nil {
		return err
	}
	t, err := newTuning(j)
	if err != nil {
		return err
	}
	return drive(ctx, t, j.out, out)
}

// tuning is one run of the main job.
type tuning struct {
	job
	origin                kit.Source
	all, train, val, test *data.Data
	constant              string
	scaling               *data.Scaler
	engine                *engine
	beside                *engine // another method, for the same samples; nil after an interrupt

	best *implicit.Minimum // exact
	grid singleWeight      // best of those
}

type singleWeight struct {
	lambda, f float64
	y         []float64
}

func newTuning(j job) (*tuning, error) {
	t := &tuning{job: j}
	var err error
	if t.all, t.origin, err = kit.OpenData(j.data, data.ReadOptions{LabelColumn: j.label}); err != nil {
		return nil, err
	}
	if err := enough(t.all, 3, false); err != nil {
		return nil, err
	}
	parts, err := t.all.SplitStratified(j.seed, 2, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.all.Name, err)
	}
	t.constant = constant(parts[0])
	if t.scaling, err = kit.Scale(parts); err != nil {
		return nil, err
	}
	for i := range parts {
		if j.intercept != "none" {
			parts[i] = data.WithBias(parts[i])
		}
	}
	t.train, t.val, t.test = parts[0], parts[1], parts[2]
	p, err := hyperopt.New(t.train, t.val, hyperopt.Options{
		Form: hyperopt.Exp, Lo: math.Log(2 * j.lo), Hi: math.Log(2 * j.hi), Workers: 2,
		PenaliseIntercept: j.intercept == penalised,
	})
	if err != nil {
		return nil, err
	}
	if t.engine, err = newEngine(p, saa.Newton{}, j.steps, j.seed); err != nil {
		return nil, err
	}
	if j.every > 0 {
		t.engine.saving = saving{checkpoint(j.out, kit.Identity{
			Options: fmt.Sprintf("-label %q -seed %d -steps %d -lo %v -hi %v -intercept %s",
				j.label, j.seed, j.steps, j.lo, j.hi, j.intercept),
			Data:  []kit.Source{t.origin},
			Build: kit.Build(),
		}), j.every, j.fresh}
	}
	return t, nil
}

func (t *tuning) describe(w io.Writer) {
	fmt.Fprintf(w, "data     %s: %d rows, classes %q and %q\n",
		t.data, t.all.Rows(), t.all.Classes[0], t.all.Classes[1])
	fmt.Fprintf(w, "features %s\n", kit.Features(t.scaling, "the training rows"))
	if t.constant != "" {
		fmt.Fprintf(w, "constant %s\n", t.constant)
	}
	fmt.Fprintf(w, "split    %d training, %d validation, %d test rows (seed %d)\n",
		t.train.Rows(), t.val.Rows(), t.test.Rows(), t.seed)
	fmt.Fprintf(w, "problem  min over x of the validation loss of argmin_y mean logistic loss + Σ "+
		"½exp(x_i)·y_i², weights ½exp(x_i) in [%g, %g]\n", t.lo, t.hi)
	fmt.Fprintf(w, "method   %s, with nothing to choose\n\n", t.engine.method.Name())
}

// run leaves a second method that fails or is interrupted out.
func (t *tuning) run(ctx context.Context, out kit.Terminal) error {
	runErr := t.engine.run(ctx, kit.NewProgress(out), out)
	if runErr != nil && !errors.Is(runErr, context.Canceled) && !errors.Is(runErr, bilevel.ErrDiverged) {
		return runErr
	}
	if runErr == nil {
		e, err := newEngine(t.engine.problem.Clone(), adaptive(t.engine.problem), t.steps, t.seed)
		if err != nil {
			return err
		}
		if err := e.run(ctx, kit.NewProgress(out), out); err == nil {
			t.beside = e
		}
	}
	if err := t.reference(kit.NewProgress(out)); err != nil {
		return errors.Join(err, runErr)
	}
	return runErr
}

func (t *tuning) ready() bool { return t.best != nil }

func (t *tuning) method() *engine { return t.engine }

func (t *tuning) reference(p *kit.Progress) error {
	defer p.Clear()
	p.Update(0.01, "exact: single weights")
	var err error
	if t.grid, err = bestSingle(context.Background(), t.engine.problem, t.lo, t.hi); err != nil {
		return err
	}
	p.Update(0.3, "exact: least F")
	x := make([]float64, len(t.engine.result.X))
	t.engine.problem.Uniform(x, t.grid.lambda)
	t.best, err = kit.LeastF(t.engine.problem, x, t.engine.result.X)
	return err
}

func (t *tuning) report(w io.Writer) error {
	e := t.engine
	dx, dy := e.problem.Dims()
	x0, y0, y, least := make([]float64, dx), make([]float64, dy), make([]float64, dy), make([]float64, dy)
	e.problem.Start(x0, y0)
	f0, err := e.problem.ObjectiveFrom(nil, y0, x0)
	if err != nil {
		return err
	}
	f, err := e.problem.ObjectiveFrom(nil, y, e.result.X)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "result       F fell from %.4g to %.4g; the best single weight has %.4g, and the least is %.4g\n",
		f0, f, t.grid.f, t.best.F)
	fmt.Fprintf(w, "test rows    %s\n\n", t.verdict(y))
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tF: validation loss\tF − F*\tvalidation accuracy\ttest loss\ttest accuracy\t")
	row := func(name string, f float64, y []float64) {
		fmt.Fprintf(tw, "%s\t%.6f\t%.2e\t%.4f\t%.6f\t%.4f\t\n", name, f, f-t.best.F, hyperopt.Accuracy(t.val, y),
			e.problem.Loss().Mean(t.test, y), hyperopt.Accuracy(t.test, y))
	}
	row("start", f0, y0)
	row(fmt.Sprintf("best single weight of %d: %.3g", gridSize(e.problem), t.grid.lambda), t.grid.f, t.grid.y)
	row(fmt.Sprintf("%s, x after %d steps", e.method.Name(), e.result.Steps), f, y)
	row(e.method.Name()+", its own y", e.problem.Loss().Mean(t.val, e.result.Y), e.result.Y)
	if b := t.beside; b != nil {
		if f, err = b.problem.ObjectiveFrom(nil, y, b.result.X); err != nil {
			return err
		}
		row(fmt.Sprintf("%s, adaptive, x after %d steps", b.method.Name(), b.result.Steps), f, y)
	}
	if err := e.problem.Solution(least, t.best.X); err != nil {
		return err
	}
	row("least F (L-BFGS-B)", t.best.F, least)
	if err := tw.Flush(); err != nil {
		return err
	}
	c := e.result.Counts
	fmt.Fprintf(w, "\nstopped      %v\n", e.result.Reason)
	fmt.Fprintf(w, "samples      %d of ξ, %d of φ; %.3g evaluations for each\n", c.Xi, c.Phi,
		float64(c.Evaluations())/float64(max(c.Xi+c.Phi, 1)))
	fmt.Fprintf(w, "time         %v a step, oracles included\n",
		(e.result.Elapsed / time.Duration(max(e.result.Steps-e.from, 1))).Round(10*time.Nanosecond))
	fmt.Fprintf(w, "F*           %.12f, projected gradient %.1e\n", t.best.F, t.best.ProjGrad)
	return nil
}

func (t *tuning) verdict(y []float64) string {
	loss := func(y []float64) []float64 { return rowLosses(t.engine.problem.Loss(), t.test, y) }
	mean, deviation := difference(loss(y), loss(t.grid.y))
	s := fmt.Sprintf("changes the loss of the best single weight by %+.3g ± %.2g", mean, deviation)
	switch {
	case mean < -2*deviation:
		return "a weight each helps: it " + s
	case mean <= 0:
		return "a weight each does not help beyond chance: it " + s
	}
	return fmt.Sprintf("a weight each does not help: it %s, since %d weights fit the chance in %d validation rows (see tune)",
		s, len(t.best.X), t.val.Rows())
}

func (t *tuning) curve(e *engine, name string) plot.Series {
	gap := make([]float64, len(e.f)-1)
	for i, f := range e.f[1:] {
		gap[i] = f - t.best.F
	}
	return plot.Series{Name: name, X: e.samples[1:], Y: gap, Style: kit.Style(e.method.Name())}
}

func (t *tuning) write(w io.Writer) error {
	series := []plot.Series{t.curve(t.engine, t.engine.method.Name())}
	if t.beside != nil {
		series = append(series, t.curve(t.beside, t.beside.method.Name()+", adaptive"))
	}
	fig := plot.Figure{Panels: []plot.Panel{{
		Title:  fmt.Sprintf("Tuning on %s", filepath.Base(t.data)),
		X:      plot.Axis{Label: "samples drawn, ξ and φ", Log: true},
		Y:      plot.Axis{Label: "F(x^{k}) − F*", Log: true},
		Series: series,
		Lines:  []plot.Line{{Label: "best single weight", C: t.grid.f - t.best.F}},
	}}}
	err := put(t.out, map[string]func(io.Writer) error{"tuning.svg": fig.WriteSVG, "tuning.csv": fig.WriteCSV})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote        %s and tuning.csv\n", filepath.Join(t.out, "tuning.svg"))
	return err
}
