package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"stable/bench/plot"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
	"stable/bilevel/hyperopt"
)

const mainUsage = `go run ./bench: hyper-parameter tuning with STABLE

Every feature of a logistic regression gets a regularisation weight of its own, ½exp(x_i), so that the model trained on the
training rows has the least loss on the validation rows. Shows F(x), the validation loss of the model trained with x,
before and after, beside the least F there is and the best single weight of a grid; writes a figure and its numbers.

  go run ./bench
  go run ./bench -data australian_scale.gz -steps 50000 -seed 7
  go run ./bench -data credit.csv -label defaulted -out results

A run that was stopped, or killed, goes on where it was when the same command is given again, and ends with the same figures.

Flags:
`

// job is what the flags of the main job say.
type job struct {
	data, label, out string
	seed             uint64
	steps            int
	lo, hi           float64
	bias             bool
	every            time.Duration // solving between two bookmarks; 0: none
	fresh            bool
}

// mainJob tunes on one data set: read, split, scale, run STABLE, compare, write.
func mainJob(ctx context.Context, args []string, out terminal) error {
	var j job
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&j.data, "data", shippedData, "`FILE` of LIBSVM or CSV text, plain or gzip")
	fs.StringVar(&j.label, "label", "", "`COLUMN` of the label in a CSV file (default: the last)")
	fs.StringVar(&j.out, "out", "out", "`FOLDER` for the figure and its numbers")
	fs.Uint64Var(&j.seed, "seed", 1, "seed of the split and of the samples")
	fs.IntVar(&j.steps, "steps", 20000, "steps of STABLE, two samples each")
	fs.BoolVar(&j.bias, "bias", true, "add a feature that is 1 in every row, with a weight of its own")
	fs.Float64Var(&j.lo, "lo", 1e-3, "least regularisation weight")
	fs.Float64Var(&j.hi, "hi", 10, "largest regularisation weight")
	fs.DurationVar(&j.every, "save", time.Second, "time between two checkpoints in the folder -out; 0: none")
	fs.BoolVar(&j.fresh, "fresh", false, "begin again where an interrupted run could go on")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), mainUsage)
		fs.PrintDefaults()
	}
	if err := parse(fs, args, out); err != nil {
		return err
	}
	if err := checkSteps(j.steps, j.lo, j.hi); err != nil {
		return err
	}
	t, err := newTuning(j)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.out, 0o755); err != nil { // before the work, which would be lost
		return err
	}
	t.describe(out.Stdout)
	if err := t.resume(out); err != nil {
		return err
	}
	runErr := t.run(ctx, newProgress(out))
	if runErr != nil && !errors.Is(runErr, context.Canceled) && !errors.Is(runErr, bilevel.ErrDiverged) {
		return runErr
	}
	// An interrupted or diverged run is reported up to where it came.
	if err := t.reference(newProgress(out)); err != nil {
		return errors.Join(err, runErr)
	}
	if err := errors.Join(t.report(out.Stdout), t.write(out.Stdout)); err != nil || errors.Is(runErr, context.Canceled) {
		return errors.Join(err, runErr)
	}
	return errors.Join(t.forget(), runErr)
}

// checkSteps returns an error if the flags -steps, -lo or -hi are out of range.
func checkSteps(steps int, lo, hi float64) error {
	switch {
	case steps < 1:
		return fmt.Errorf("%w: -steps is %d, want ≥ 1", errUsage, steps)
	case !(lo > 0 && lo < hi) || math.IsInf(hi, 1):
		return fmt.Errorf("%w: -lo %v -hi %v, want 0 < lo < hi", errUsage, lo, hi)
	}
	return nil
}

const shippedData = "testdata/breast_cancer.csv"

// dataPath is where the data set is. The shipped one is found from the root of the module and from
// a folder in it.
func (j job) dataPath() (string, error) {
	path := filepath.FromSlash(j.data)
	if _, err := os.Stat(path); j.data == shippedData && errors.Is(err, os.ErrNotExist) {
		path = filepath.Join("..", path)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s is not here: run from the root of the module, or name a file with -data", j.data)
		}
	}
	return path, nil
}

// openData reads the data set.
func openData(j job) (*hyperopt.Data, source, error) {
	path, err := j.dataPath()
	if err != nil {
		return nil, source{}, err
	}
	d, err := hyperopt.Open(path, hyperopt.ReadOptions{LabelColumn: j.label})
	if err != nil {
		return nil, source{}, err
	}
	origin, err := newSource(j.data, path)
	return d, origin, err
}

// tuning is one run of the main job.
type tuning struct {
	job
	origin                source
	all, train, val, test *hyperopt.Data
	scaling               *hyperopt.Scaler
	problem               *hyperopt.Problem
	solver                *bilevel.Solver
	method                bilevel.STABLE

	best *hyperopt.Minimum  // exact
	grid hyperopt.GridPoint // best single weight

	result  bilevel.Result
	samples []float64 // ξ and φ together, at the recorded steps
	f       []float64 // F there
	y       []float64 // where exact F was last minimised in y, and starts the next time
}

func newTuning(j job) (*tuning, error) {
	t := &tuning{job: j}
	var err error
	if t.all, t.origin, err = openData(j); err != nil {
		return nil, err
	}
	parts, err := t.all.SplitStratified(j.seed, 2, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.all.Name, err)
	}
	if t.scaling, err = scale(parts); err != nil {
		return nil, err
	}
	for i := range parts {
		if j.bias {
			parts[i] = hyperopt.WithBias(parts[i])
		}
	}
	t.train, t.val, t.test = parts[0], parts[1], parts[2]
	t.problem, err = hyperopt.New(t.train, t.val, hyperopt.Options{
		Form: hyperopt.Exp, Lo: math.Log(2 * j.lo), Hi: math.Log(2 * j.hi), Workers: 2,
	})
	if err != nil {
		return nil, err
	}

	lo, hi := t.problem.Box()
	x0, y0 := make([]float64, len(lo)), make([]float64, len(lo))
	t.problem.Start(x0, y0)
	t.method = bilevel.STABLE{MuG: t.problem.StrongConvexity(), CGxy: t.problem.CrossBound()}
	t.solver, err = bilevel.New(t.problem, t.method, bilevel.Options{X0: x0, Y0: y0, Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: j.seed})
	return t, err
}

// scale brings the features to one scale, measured on the training rows, the first part.
func scale(parts []*hyperopt.Data) (*hyperopt.Scaler, error) {
	scaler := hyperopt.FitScaler(parts[0])
	for i, d := range parts {
		var err error
		if parts[i], err = scaler.Apply(d); err != nil {
			return nil, err
		}
	}
	return scaler, nil
}

func (t *tuning) describe(w io.Writer) {
	fmt.Fprintf(w, "data     %s: %d rows of %d features, classes %q and %q; features scaled to %s\n",
		t.data, t.all.Rows(), t.all.Dim, t.all.Classes[0], t.all.Classes[1], t.scaling)
	fmt.Fprintf(w, "split    %d training, %d validation, %d test rows (seed %d)\n", t.train.Rows(), t.val.Rows(), t.test.Rows(), t.seed)
	fmt.Fprintf(w, "problem  min over x of the validation loss of argmin_y mean logistic loss + Σ ½exp(x_i)·y_i², weights ½exp(x_i) in [%g, %g]\n", t.lo, t.hi)
	fmt.Fprintf(w, "method   STABLE with its default steps, μ_g = %.3g, C_gxy = %.3g\n\n", t.method.MuG, t.method.CGxy)
}

// reference computes what STABLE is measured against: the best single weight of a grid, and the
// least F that exact minimisation finds, from there and from where STABLE came among others.
func (t *tuning) reference(p *progress) error {
	defer p.clear()
	p.update(0.01, "exact: single weights")
	points, err := t.problem.GridSearch(hyperopt.Geometric(t.lo, t.hi, t.lambdas()))
	if err != nil {
		return err
	}
	t.grid = points[hyperopt.Best(points)]
	p.update(0.3, "exact: least F")
	x := make([]float64, t.train.Dim)
	t.problem.Uniform(x, t.grid.Lambda)
	t.best, err = leastF(t.problem, x, t.result.X)
	return err
}

// small says whether exact values cost next to nothing.
func (t *tuning) small() bool { return t.train.Rows() <= manyRows }

// lambdas is the size of the grid of single weights.
func (t *tuning) lambdas() int {
	if t.small() {
		return 51
	}
	return 17
}

// marks is the number of points of the curve.
func (t *tuning) marks() float64 {
	if t.small() {
		return 120
	}
	return 40
}

// run runs STABLE. F is computed exactly at some steps, off the clock.
func (t *tuning) run(ctx context.Context, p *progress) error {
	defer p.clear()
	truth := t.problem.Clone()
	if t.y == nil {
		t.y = make([]float64, t.train.Dim)
	}
	var failed error
	record := func(s *bilevel.Solver) bool {
		if k := s.K(); k > 0 && k < t.steps && k != t.mark(len(t.f)) {
			return true
		}
		f, err := truth.ObjectiveFrom(nil, t.y, s.X())
		if err != nil {
			failed = err
			return false
		}
		c := s.Counts()
		t.samples = append(t.samples, float64(c.Xi+c.Phi))
		t.f = append(t.f, f)
		p.update(float64(s.K())/float64(t.steps), "step %d of %d, F = %.6f", s.K(), t.steps, f)
		return true
	}
	if len(t.f) == 0 {
		record(t.solver)
	}
	for {
		r, err := t.solver.Run(ctx, bilevel.Run{Steps: t.steps - t.solver.K(), Time: t.every, Progress: record})
		r.Steps, r.Elapsed = t.solver.K(), r.Elapsed+t.result.Elapsed
		t.result = r
		goOn := err == nil && r.Reason == bilevel.TimeLimit
		if t.every > 0 && (goOn || errors.Is(err, context.Canceled)) {
			err = errors.Join(t.save(), err)
		}
		if !goOn || err != nil {
			return errors.Join(failed, err)
		}
	}
}

// mark is the step at which point i of the curve is taken, evenly spaced on a logarithmic axis.
func (t *tuning) mark(i int) int {
	k := 1.0
	for ; i > 1; i-- {
		k = max(k+1, math.Floor(k*math.Pow(float64(t.steps), 1/t.marks())))
	}
	return int(k)
}

// report prints the table.
func (t *tuning) report(w io.Writer) error {
	lo, _ := t.problem.Box()
	x0, y0, y := make([]float64, len(lo)), make([]float64, len(lo)), make([]float64, len(lo))
	t.problem.Start(x0, y0)
	f0, err := t.problem.ObjectiveFrom(nil, y0, x0)
	if err != nil {
		return err
	}
	f, err := t.problem.ObjectiveFrom(nil, y, t.result.X)
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tF: validation loss\tF − F*\tvalidation accuracy\ttest loss\ttest accuracy\t")
	row := func(name string, f float64, y []float64) {
		fmt.Fprintf(tw, "%s\t%.6f\t%.2e\t%.4f\t%.6f\t%.4f\t\n", name, f, f-t.best.F, hyperopt.Accuracy(t.val, y),
			t.problem.Loss().Mean(t.test, y), hyperopt.Accuracy(t.test, y))
	}
	row("start", f0, y0)
	row(fmt.Sprintf("best single weight of %d: %.3g", t.lambdas(), t.grid.Lambda), t.grid.Loss, t.grid.Y)
	row(fmt.Sprintf("STABLE, x after %d steps", t.result.Steps), f, y)
	row("STABLE, its own y", t.problem.Loss().Mean(t.val, t.result.Y), t.result.Y)
	row("least F (Newton)", t.best.F, t.best.Y)
	if err := tw.Flush(); err != nil {
		return err
	}
	c, a, n := t.result.Counts, t.solver.Activity(), max(t.result.Steps, 1)
	share := func(k int) string {
		return fmt.Sprintf("%d of %d steps (%.1f %%)", k, t.result.Steps, 100*float64(k)/float64(n))
	}
	fmt.Fprintf(w, "\nstopped      %v\n", t.result.Reason)
	fmt.Fprintf(w, "samples      %d of ξ, %d of φ\n", c.Xi, c.Phi)
	fmt.Fprintf(w, "time         %v a step, oracles included\n", (t.result.Elapsed / time.Duration(n)).Round(10*time.Nanosecond))
	fmt.Fprintf(w, "H_yy clipped at μ_g in %s; trust region cut %s\n", share(a.Truncated), share(a.Cut))
	fmt.Fprintf(w, "F*           %.12f, projected gradient %.1e\n", t.best.F, t.best.ProjGrad)
	return nil
}

// write writes the figure and its numbers.
func (t *tuning) write(w io.Writer) error {
	gap := make([]float64, len(t.f))
	for i, f := range t.f {
		gap[i] = f - t.best.F
	}
	fig := plot.Figure{Panels: []plot.Panel{{
		Title:  fmt.Sprintf("Tuning on %s", filepath.Base(t.data)),
		X:      plot.Axis{Label: "samples drawn, ξ and φ", Log: true},
		Y:      plot.Axis{Label: "F(x^{k}) − F*", Log: true},
		Series: []plot.Series{{Name: "STABLE", X: t.samples[1:], Y: gap[1:]}},
		Lines:  []plot.Line{{Label: "best single weight", C: t.grid.Loss - t.best.F}},
	}}}
	for name, fill := range map[string]func(io.Writer) error{"tuning.svg": fig.WriteSVG, "tuning.csv": fig.WriteCSV} {
		path := filepath.Join(t.out, name)
		if err := atomicfile.Write(path, fill); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "wrote        %s and tuning.csv\n", filepath.Join(t.out, "tuning.svg"))
	return err
}
