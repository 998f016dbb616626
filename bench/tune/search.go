package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/saa"
)

type search struct {
	options
	*dataSet
	repeats int               // of the folds, dealt anew
	parts   []*data.Data      // training and validation rows of one split
	unseen  *data.Data        // of -solver saa: rows of a split that are held back for the choice; nil: too few
	problem *hyperopt.Problem // of one split
	engine  *engine           // of -solver saa, when it runs

	results    []*result // the simplest first: a constant, one weight, and others
	candidates []candidate
	cleaner    *cleaner
	choice     choice
}

type result struct {
	Name    string  `json:"name"`
	Rung    int     `json:"rung,omitempty"` // of the ladder: see climber
	Lambda  float64 `json:"lambda,omitempty"`
	Dropped int     `json:"dropped"`           // features of coefficient 0
	Share   float64 `json:"share,omitempty"`   // of the resamples that choose it: see average
	Cleaned bool    `json:"cleaned,omitempty"` // by -clean
	Stopped string  `json:"stopped,omitempty"` // why -solver saa ended
	Steps   int     `json:"steps,omitempty"`
	HeldOut float64 `json:"held_out_loss,omitempty"` // of models that were not trained on the rows
	Error   float64 `json:"held_out_error"`
	Test    metrics `json:"test"` // of the model of all other rows

	losses  []float64 // of the held-out rows, in units of the target
	weights []float64 // of the model of the design rows
	y       []float64
	seconds time.Duration
}

type choice struct {
	Name       string  `json:"name"`
	Rows       int     `json:"rows"`       // held out
	Difference float64 `json:"difference"` // held-out loss, less that of one weight for all
	Error      float64 `json:"standard_error"`
	Cut        bool    `json:"cut,omitempty"` // by an interrupt
	index      int
}

// metrics are loss and accuracy, or loss and rmse of a regression, both in units of the target.
type metrics map[string]float64

func newSearch(o options, set *dataSet) (t *search, err error) {
	t = &search{options: o, dataSet: set}
	if err = t.plan(); err != nil || t.folded() {
		return t, err
	}
	if t.Solver == solverSAA && t.Steps == 0 {
		t.Steps = max(leastSteps, t.parts[0].Rows())
	}
	t.problem, err = o.problem(t.loss(), t.parts[0], t.parts[1])
	return t, err
}

const solverAuto, solverExact, solverSAA = "auto", "exact", "saa"

const (
	defaultFolds = 5
	moreFolds    = 40    // with repeats, where quick
	quick        = 1.5e9 // multiplications: some half a second
	rowWork      = 500   // multiplications: exponentials and the like
	manyRows     = 5000  // from which one split may do, and -solver saa
	patience     = 1e10  // the most for which exact is the default: some twenty seconds
)

func (t *search) plan() error {
	most := fewest(t.design, t.regression())
	auto := t.Folds == 0
	if t.repeats = 1; auto {
		t.Folds = 1
		if k := min(defaultFolds, most); t.split == nil && k > 1 && t.Solver != solverSAA {
			t.repeats, t.Folds = max(int(min(quick/t.work(), moreFolds))/k, 1), k
		}
	}
	if t.Solver == solverAuto || t.Solver == "" {
		t.Solver = solverExact
		if auto && t.design.Rows() > manyRows && t.work() > patience {
			sampled := math.Pow(float64(t.design.Dim), 3) * float64(max(leastSteps, t.design.Rows()))
			if t.Folds = 1; t.loss() != hyperopt.Softmax && t.work() > max(patience, sampled) {
				t.Solver = solverSAA
			}
		}
	}
	err := usage(
		wrong(t.Folds > max(most, 1), "-folds is %d, want 1 to %d (as many as there are rows of a class)", t.Folds, most),
		wrong(t.folded() && t.split != nil, "-folds is %d, but there is a file of validation rows", t.Folds),
		wrong(t.Clean && (!t.folded() || t.regression()), "-clean goes with folds (-folds 5), -solver exact and classes"),
		wrong(t.Solver == solverSAA && len(t.used) > mostFeatures,
			"-solver saa takes %d features, and there are %d", mostFeatures, len(t.used)),
		wrong(t.folded() && t.Solver == solverSAA, "-folds goes with -solver exact: -solver saa works on one split"))
	if err != nil || t.folded() {
		for r := 0; t.kin != nil && err == nil && r < t.repeats; r++ {
			t.apart = t.apart || deal(t.design, t.kin, t.regression(), t.Folds, t.Seed, 'f'+uint64(r)<<8) == nil
		}
		return err
	}
	if t.parts = slices.Clone(t.split); t.split == nil {
		if t.parts, err = split(t.design, t.kin, t.regression(), 3, t.Seed, 's'); err != nil {
			return err
		}
	}
	const few = 4 // of a class
	judges := t.parts[1]
	if t.Solver == solverSAA && fewest(judges, t.regression()) >= 2*few {
		halves, err := split(judges, kin(judges, judges.IDs, nil), t.regression(), 2, t.Seed, 'u')
		if err != nil {
			return err
		}
		t.parts[1], t.unseen, judges = halves[0], halves[1], halves[1]
	}
	t.kin = kin(judges, judges.IDs, nil)
	return nil
}

func (t *search) loss() hyperopt.Loss {
	loss, _ := t.kind(t.classes)
	return loss
}

func fewest(d *data.Data, regression bool) int {
	if regression {
		return d.Rows()
	}
	return slices.Min(countClasses(d))
}

func (t *search) work() float64 {
	d := float64(min(t.design.Dim, t.design.Rows()))
	classes, hessians, gradients := 1.0, 200.0, 0.0 // of a fold; of several classes as three files took, within 1.7
	if t.loss() == hyperopt.Softmax {
		classes, hessians, gradients = float64(len(t.classes)), 6, 700
	}
	work := hessians * d * d * d * classes * classes * max(1, classes/2)
	for i := range t.design.Rows() {
		n := min(d, float64(t.design.RowPtr[i+1]-t.design.RowPtr[i]))
		work += hessians*(n*n/4*classes*(1+classes)+rowWork) + gradients*classes*(2*n+20)
	}
	return work * float64(t.Folds)
}

func (o *options) problem(loss hyperopt.Loss, train, val *data.Data) (*hyperopt.Problem, error) {
	return hyperopt.New(train, val, hyperopt.Options{Loss: loss, Form: hyperopt.Exp, Workers: 2,
		Lo: math.Log(2 * o.Lo), Hi: math.Log(2 * o.Hi), PenaliseIntercept: o.Intercept == penalised})
}

func (t *search) folded() bool { return t.Folds > 1 }

func (t *search) run(ctx context.Context, out kit.Terminal) error {
	p := kit.NewProgress(out)
	defer p.Clear()
	err := context.Cause(ctx)
	if err != nil {
		return err
	}
	if t.Solver == solverSAA {
		err = t.runSampled(ctx, p, out)
	} else if err = t.runExact(ctx, p); err == nil && t.Clean {
		err = t.clean(ctx, p)
	}
	if !t.ready() {
		return err
	}
	t.choose()
	t.choice.Cut = err != nil
	for _, r := range t.results {
		r.Test = t.measure(t.test, r.y)
		for _, v := range r.y[:t.design.Dim-1] {
			r.Dropped += b2i(v == 0)
		}
	}
	return err
}

func (t *search) ready() bool     { return len(t.results) > 1 }
func (t *search) method() *engine { return t.engine }
func (t *search) chosen() *result { return t.results[t.choice.index] }

// trainingShare is the share of the design rows that trains a model of the search. It multiplies the
// weights for the model of all, which keeps the prior: of a mean over n rows, λ is one of precision 2nλ
// (Bishop, Pattern Recognition and Machine Learning, section 3.3.1).
func (t *search) trainingShare() float64 {
	if t.folded() {
		return 1 - 1/float64(t.Folds)
	}
	return float64(t.parts[0].Rows()) / float64(t.design.Rows())
}

func (t *search) measure(d *data.Data, y []float64) metrics {
	loss := t.loss()
	m := metrics{"loss": loss.Mean(d, y)}
	if loss == hyperopt.Squared {
		m["loss"] = min(m["loss"]*t.target.Deviation*t.target.Deviation, math.MaxFloat64/2) // JSON has no infinity
		m["rmse"] = math.Sqrt(2 * m["loss"])
	} else {
		m["accuracy"] = hyperopt.Accuracy(d, y)
	}
	return m
}

func (t *search) lossesOf(d *data.Data, y []float64) []float64 {
	return rowLosses(t.loss(), d, y, t.target.Deviation*t.target.Deviation)
}

func rowLosses(l hyperopt.Loss, d *data.Data, y []float64, unit float64) []float64 {
	list := make([]float64, d.Rows())
	for i := range list {
		list[i] = l.Mean(d.Subset([]int{i}), y) * unit
	}
	return list
}

func difference(a, b []float64, kin ...int) (mean, deviation float64) {
	diff, size := slices.Clone(a), 0.0
	for i := range diff {
		diff[i] -= b[i]
		size += math.Abs(b[i]) / float64(len(b))
	}
	if mean, deviation = meanOf(diff, kin...); math.Abs(mean) < 1e-13*size { // rounding
		mean = 0
	}
	return mean, deviation
}

// meanOf returns the mean and its standard error; kin of the rows, if it is theirs, count as one.
func meanOf(values []float64, kin ...int) (mean, deviation float64) {
	n, off := float64(len(values)), make([]float64, len(values))
	for _, d := range values {
		mean += d / n
	}
	for i, d := range values {
		if len(kin) == len(values) {
			i = kin[i]
		}
		off[i] += d - mean
	}
	for _, d := range off {
		deviation += d * d / n
	}
	return mean, math.Sqrt(deviation / n)
}

// choose takes the average, or what -clean found where that is better.
func (t *search) choose() {
	c, one := &t.choice, t.results[1]
	c.index = 1
	if c.Rows = len(one.losses); c.Rows > 0 {
		t.results = append(t.results, t.average())
		c.index = len(t.results) - 1
		for k, r := range t.results {
			if r.Cleaned && gains(t.results[c.index].losses, r.losses, max(len(t.classes), 2)) {
				c.index = k
			}
		}
		c.Difference, c.Error = difference(t.chosen().losses, one.losses, t.kin...)
	}
	c.Name = t.chosen().Name
}

func (c choice) String() string {
	s := c.Name
	if c.Rows == 0 {
		return s + ": there are no held-out rows to compare on"
	}
	if c.index != 1 {
		s += fmt.Sprintf(": %s on %d rows", besideOne("held-out loss", c.Difference, c.Error), c.Rows)
	}
	if c.Cut {
		s += "; an interrupt came before all were compared"
	}
	return s
}

func either[T any](so bool, yes, no T) T {
	if so {
		return yes
	}
	return no
}

func b2i(b bool) int { return either(b, 1, 0) }

// runSampled runs SAA-Newton from the best single weight, and judges both and the constant on rows that no search saw.
func (t *search) runSampled(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	p.Update(0, "best single weight, exact")
	began := time.Now()
	best, err := bestSingle(ctx, t.problem, t.Lo, t.Hi)
	if err != nil {
		return err
	}
	single := &result{Name: rungName(1), Lambda: best.lambda, seconds: time.Since(began)}
	if err := t.begin(best.lambda); err != nil {
		return err
	}
	e := t.engine
	runErr := e.run(ctx, p, out)
	if runErr != nil && !stopped(runErr) || e.result.Steps == 0 {
		return runErr
	}
	each := &result{Name: "a weight each, by " + e.method.Name(), seconds: e.result.Elapsed,
		Stopped: fmt.Sprint(e.result.Reason), Steps: e.result.Steps,
		weights: kit.Map(e.result.X, func(x float64) float64 { return math.Exp(x) / 2 })}
	for _, r := range []*result{{Name: rungName(0), Lambda: dropped}, single, each} {
		if err := t.judge(r); err != nil {
			return err
		}
	}
	return runErr
}

func (t *search) begin(lambda float64) (err error) {
	x0, y0 := vectors(t.problem)
	t.problem.Uniform(x0, lambda)
	if _, err := t.problem.Clone().ObjectiveFrom(nil, y0, x0); err != nil {
		return err
	}
	if t.engine, err = t.newEngine(t.problem, saa.Newton{}, x0, y0); err == nil && t.every > 0 {
		sums := kit.Map(t.files, func(f dataFile) string { return f.SHA256 })
		t.engine.path = t.checkpoint(kit.Build(), sums...)
	}
	return err
}

func (t *search) judge(r *result) error {
	for k, rows := range []*data.Data{t.parts[0], t.design} {
		c, err := t.newClimber(rows)
		lambda := r.Lambda
		if each := r.weights; err == nil && each != nil {
			copy(c.relative, each)
			lambda, err = 1, c.prepare()
		}
		if err != nil {
			return err
		}
		if err := c.fit(lambda * []float64{1, t.trainingShare()}[k]); err != nil {
			return err
		}
		if rows == t.design {
			r.weights, r.y = c.weights, c.y
		} else if t.unseen != nil {
			r.losses = t.lossesOf(t.unseen, c.y)
			r.HeldOut, r.Error = meanOf(r.losses, t.kin...)
		}
	}
	t.candidates = append(t.candidates, candidate{of: r, losses: r.losses, weights: r.weights, y: r.y})
	t.results = append(t.results, r)
	return nil
}

func bestSingle(ctx context.Context, p *hyperopt.Problem, lo, hi float64) (best singleWeight, err error) {
	p, best.f = p.Clone(), math.Inf(1)
	x, y := vectors(p)
	for _, lambda := range kit.Ratios(lo, hi, gridSize(p)) {
		p.Uniform(x, lambda)
		f, err := p.ObjectiveFrom(nil, y, x)
		if err = cmp.Or(context.Cause(ctx), err); err != nil {
			return best, err
		}
		if f < best.f {
			best = singleWeight{lambda, f, slices.Clone(y)}
		}
	}
	return best, nil
}

func gridSize(p *hyperopt.Problem) int { return either(small(p), 51, 17) }
