package tune

import (
	"cmp"
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
default: Newton's method on growing samples. The paper's method, STABLE with adaptive steps, runs beside it.

  go run ./bench
  go run ./bench -data australian_scale.gz -steps 50000 -seed 7
  go run ./bench -data credit.csv -label defaulted -out results

A run that was stopped or killed goes on from its checkpoint (-save) when the same command is given
again, and ends with the same table; its curve then begins there. The other commands: go run ./bench -h

Flags:
`

// Main is the main job.
func Main(ctx context.Context, args []string, out kit.Terminal) error {
	var o options
	fs := kit.NewFlags("bench", mainUsage, "")
	path := fs.String("data", kit.ShippedData, "`FILE` of LIBSVM or CSV text, plain, gzip or bzip2; -: standard input")
	o.shared(fs)
	fs.StringVar(&o.out, "out", "out", "`FOLDER` for the figure and its numbers")
	fs.IntVar(&o.Steps, "steps", 20000, "steps of each method, at most two samples each")
	fs.StringVar(&o.Intercept, "intercept", "free", "`HOW` the intercept is trained: free, penalised like a feature, or none")
	fs.Float64Var(&o.Lo, "lo", 1e-3, "least regularisation weight")
	fs.Float64Var(&o.Hi, "hi", 10, "largest regularisation weight")
	err := kit.Parse(fs, args, out)
	if err = cmp.Or(err, usage(o.checkShared(o.Steps, "free", penalised, "none"))); err != nil {
		return err
	}
	t, err := newTuning(o, *path)
	if err != nil {
		return err
	}
	return drive(ctx, t, o.out, out)
}

type tuning struct {
	options
	data                  string
	all, train, val, test *data.Data
	constant              string
	scaling               *data.Scaler
	engine                *engine
	beside                *engine // another method, for the same samples; nil after an interrupt

	best *implicit.Minimum // exact
	grid singleWeight
}

type singleWeight struct {
	lambda, f float64
	y         []float64
}

func newTuning(o options, path string) (t *tuning, err error) {
	t = &tuning{options: o, data: path}
	var origin kit.Source
	if t.all, origin, err = kit.OpenData(path, data.ReadOptions{LabelColumn: o.Label}); err != nil {
		if errors.Is(err, data.ErrCell) || errors.Is(err, data.ErrThirdLabel) {
			err = fmt.Errorf("%w (main wants numbers and two classes; for others: tune)", err)
		}
		return nil, err
	}
	if err := enough(t.all, 3, false); err != nil {
		return nil, err
	}
	parts, err := t.all.SplitStratified(o.Seed, 2, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.all.Name, err)
	}
	t.constant = constant(parts[0])
	if t.scaling, err = kit.Scale(parts); err != nil {
		return nil, err
	}
	for i := range parts {
		if o.Intercept != "none" {
			parts[i] = data.WithBias(parts[i])
		}
	}
	t.train, t.val, t.test = parts[0], parts[1], parts[2]
	p, err := o.problem(hyperopt.Logistic, t.train, t.val)
	if err != nil {
		return nil, err
	}
	if t.engine, err = t.begin(p, saa.Newton{}); err == nil && o.every > 0 {
		t.engine.path = o.checkpoint(kit.Build(), origin.SHA256)
	}
	return t, err
}

func (t *tuning) begin(p *hyperopt.Problem, m bilevel.Method) (*engine, error) {
	x0, y0 := vectors(p)
	p.Start(x0, y0)
	return t.newEngine(p, m, x0, y0)
}

func (t *tuning) describe(w io.Writer) {
	fmt.Fprintf(w, "data     %s: %d rows, classes %q and %q\n", t.data, t.all.Rows(), t.all.Classes[0], t.all.Classes[1])
	fmt.Fprintf(w, "features %s\n", kit.Features(t.scaling, "the training rows"))
	say(w, t.constant != "", "constant %s", t.constant)
	fmt.Fprintf(w, "split    %d training, %d validation, %d test rows (seed %d)\n", t.train.Rows(), t.val.Rows(), t.test.Rows(), t.Seed)
	fmt.Fprintf(w, "problem  min over x of the validation loss of argmin_y mean logistic loss + Σ "+
		"½exp(x_i)·y_i², weights ½exp(x_i) in [%g, %g]; intercept: %s\n", t.Lo, t.Hi, t.Intercept)
	fmt.Fprintf(w, "method   %s, with nothing to choose\n\n", t.engine.method.Name())
}

// run leaves a second method that fails or is interrupted out.
func (t *tuning) run(ctx context.Context, out kit.Terminal) error {
	p := t.engine.problem
	err := t.engine.run(ctx, kit.NewProgress(out), out)
	if err != nil && !stopped(err) {
		return err
	}
	if err == nil {
		e, err := t.begin(p.Clone(), bilevel.STABLE{MuG: p.StrongConvexity(), CGxy: p.CrossBound()})
		if err != nil {
			return err
		}
		if e.run(ctx, kit.NewProgress(out), out) == nil {
			t.beside = e
		}
	}
	if err = cmp.Or(err, ctx.Err()); ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return errors.Join(t.reference(ctx, kit.NewProgress(out)), err)
}

func (t *tuning) ready() bool     { return t.best != nil }
func (t *tuning) method() *engine { return t.engine }

func (t *tuning) reference(ctx context.Context, progress *kit.Progress) (err error) {
	defer progress.Clear()
	p := t.engine.problem
	progress.Update(0, "exact: single weights")
	if t.grid, err = bestSingle(ctx, p, t.Lo, t.Hi); err != nil {
		return err
	}
	progress.Update(0.3, "exact: least F")
	x, _ := vectors(p)
	p.Uniform(x, t.grid.lambda)
	t.best, err = kit.Until(ctx, func() (*implicit.Minimum, error) { return kit.LeastF(p, x, t.engine.result.X) })
	return err
}

func (t *tuning) report(w io.Writer) error {
	e, p, name := t.engine, t.engine.problem, t.engine.method.Name()
	x0, y0 := vectors(p)
	_, y := vectors(p)
	p.Start(x0, y0)
	f0, err0 := p.ObjectiveFrom(nil, y0, x0)
	f, err := p.ObjectiveFrom(nil, y, e.result.X)
	if err := cmp.Or(err0, err); err != nil {
		return err
	}
	fmt.Fprintf(w, "result       F fell from %.4g to %.4g; the best single weight has %.4g, and the least is %.4g\n",
		f0, f, t.grid.f, t.best.F)
	fmt.Fprintf(w, "test rows    %s\n\n", t.verdict(f, y))
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tF: validation loss\tF − F*\tvalidation accuracy\ttest loss\ttest accuracy\t")
	row := func(name string, f float64, y []float64) {
		fmt.Fprintf(tw, "%s\t%.6f\t%.2e\t%.4f\t%.6f\t%.4f\t\n", name, f, f-t.best.F, hyperopt.Accuracy(t.val, y),
			p.Loss().Mean(t.test, y), hyperopt.Accuracy(t.test, y))
	}
	row("start", f0, y0)
	row(fmt.Sprintf("best single weight of %d: %.3g", gridSize(p), t.grid.lambda), t.grid.f, t.grid.y)
	row(fmt.Sprintf("%s, x after %d steps", name, e.result.Steps), f, y)
	row(name+", its own y", p.Loss().Mean(t.val, e.result.Y), e.result.Y)
	if b := t.beside; b != nil {
		if f, err = p.ObjectiveFrom(nil, y, b.result.X); err != nil {
			return err
		}
		row(fmt.Sprintf("STABLE, adaptive, x after %d steps", b.result.Steps), f, y)
	}
	if err := p.Solution(y, t.best.X); err != nil {
		return err
	}
	row("least F (L-BFGS-B)", t.best.F, y)
	tw.Flush()
	c := e.result.Counts
	fmt.Fprintf(w, "\nstopped      %v\n", e.result.Reason)
	fmt.Fprintf(w, "samples      %d of ξ, %d of φ; %.3g evaluations for each\n", c.Xi, c.Phi,
		float64(c.Evaluations())/float64(max(c.Xi+c.Phi, 1)))
	fmt.Fprintf(w, "time         %v a step, oracles included\n",
		(e.result.Elapsed / time.Duration(max(e.result.Steps-e.from, 1))).Round(10*time.Nanosecond))
	fmt.Fprintf(w, "F*           %.12f, projected gradient %.1e\n", t.best.F, t.best.ProjGrad)
	return nil
}

func (t *tuning) verdict(f float64, y []float64) string {
	loss := func(y []float64) []float64 { return rowLosses(hyperopt.Logistic, t.test, y, 1) }
	mean, deviation := difference(loss(y), loss(t.grid.y))
	s := fmt.Sprintf("its loss is %.3g ± %.2g %%s the best single weight's", math.Abs(mean), deviation)
	switch {
	case f > t.grid.f:
		return "nothing to compare: x is not fitted, and its F is above that of the best single weight"
	case mean < -2*deviation:
		return "a weight each helps: " + fmt.Sprintf(s, "below")
	case mean <= 0:
		return "a weight each does not help beyond chance: " + fmt.Sprintf(s, "below")
	}
	return fmt.Sprintf("a weight each does not help: "+s+", since %d weights fit the chance in %d validation rows (see tune)",
		"above", len(t.best.X), t.val.Rows())
}

func (t *tuning) write(w io.Writer) error {
	var fig plot.Figure
	for k, what := range []string{"samples drawn, ξ and φ", "evaluations of single samples"} {
		panel := plot.Panel{
			Title: filepath.Base(t.data) + []string{", by samples", ", by evaluations"}[k],
			X:     plot.Axis{Label: what, Log: true},
			Y:     plot.Axis{Label: "F(x^{k}) − F*", Log: true},
			Lines: []plot.Line{{Label: "best single weight", C: t.grid.f - t.best.F}},
		}
		for i, e := range []*engine{t.engine, t.beside} {
			if e != nil {
				name := e.method.Name()
				panel.Series = append(panel.Series, plot.Series{Name: name + []string{"", ", adaptive"}[i], Held: true,
					Style: kit.Style(name), X: [][]float64{e.samples, e.asked}[k][1:],
					Y: kit.Map(e.f[1:], func(f float64) float64 { return f - t.best.F })})
			}
		}
		fig.Panels = append(fig.Panels, panel)
	}
	if err := put(t.out, map[string]func(io.Writer) error{"tuning.svg": fig.WriteSVG, "tuning.csv": fig.WriteCSV}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "wrote        %s and tuning.csv\n", filepath.Join(t.out, "tuning.svg"))
	return err
}
