package tune

import (
	"context"
	"fmt"
	"math"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/saa"
)

// search is one run of tune. It finds a weight for each feature and a single weight for all,
// compares the two on rows that neither search saw, and trains the model of the better one.
type search struct {
	options
	*dataSet
	parts  []*data.Data // of the design rows: folds, or training and validation rows
	unseen *data.Data   // rows of a split that are held back for the final choice; nil: see plan
	engine *engine      // of -solver saa

	each, single result
	choice       choice
}

// result is what one way of tuning has found.
type result struct {
	Name       string  `json:"name"`
	Lambda     float64 `json:"lambda,omitempty"` // the weight of all features, 0 where each has its own
	Tried      int     `json:"weights_tried,omitempty"`
	SearchRows int     `json:"search_rows,omitempty"` // rows that the search could see
	Reads      uint64  `json:"rows_read"`
	Stopped    string  `json:"stopped,omitempty"` // why the search of a weight each ended
	Steps      int     `json:"steps,omitempty"`   // after so many steps or iterations
	Validation metrics `json:"validation"`        // of models of the training rows, on the validation rows or folds
	Test       metrics `json:"test"`              // of the model of training and validation rows

	weights []float64 // of the features and the bias, for models of the training rows
	y       []float64 // the model of training and validation rows
	f       float64   // validation loss in scaled units
	seconds time.Duration

	grid, losses []float64 // single weights that were tried, and their validation losses
}

// choice says which of the two the model is, and why.
type choice struct {
	Name       string  `json:"name"`
	Rows       int     `json:"rows"`           // that neither search saw
	Difference float64 `json:"difference"`     // mean loss there with a weight each, less that with a single one
	Error      float64 `json:"standard_error"` // of that mean
	Margin     float64 `json:"margin"`         // standard errors by which a weight each must be better
	each       bool
	cut        bool // an interrupt came before
}

// metrics are loss and accuracy, or loss and rmse of a regression, both in units of the target.
type metrics map[string]float64

// newSearch makes the plan, and the engine of -solver saa.
func newSearch(o options, set *dataSet) (*search, error) {
	t := &search{options: o, dataSet: set}
	if err := t.plan(); err != nil {
		return nil, err
	}
	if t.Solver != solverSAA {
		return t, nil
	}
	p, err := t.newProblem(t.parts[0], t.parts[1])
	if err != nil {
		return nil, err
	}
	if t.Steps == 0 {
		t.Steps = max(leastSteps, t.parts[0].Rows())
	}
	t.engine, err = newEngine(p, saa.Newton{}, t.Steps, t.Seed)
	if err == nil && t.every > 0 {
		t.engine.saving = saving{checkpoint(t.out, t.identity()), t.every, t.fresh}
	}
	return t, err
}

// identity is what the checkpoint of a run depends on.
func (t *search) identity() kit.Identity {
	id := kit.Identity{Build: kit.Build(), Options: fmt.Sprintf(
		"tune -seed %d -steps %d -lo %v -hi %v -form %s -loss %s -label %q -class %q -drop %q -categorical=%t -impute %q "+
			"-headerless=%t -id %q", t.Seed, t.Steps, t.Lo, t.Hi, t.Form, t.Loss, t.Label, t.Class, t.Drop, t.Categorical, t.Impute,
		t.Headerless, t.ID)}
	for _, f := range t.files {
		id.Data = append(id.Data, kit.Source{Name: f.Path, SHA256: f.SHA256})
	}
	return id
}

func (t *search) newProblem(train, val *data.Data) (*hyperopt.Problem, error) {
	opt := hyperopt.Options{Loss: losses[t.Loss], Form: forms[t.Form], Lo: t.Lo, Hi: t.Hi, Workers: 2}
	if opt.Form == hyperopt.Exp {
		opt.Lo, opt.Hi = math.Log(2*t.Lo), math.Log(2*t.Hi)
	}
	return hyperopt.New(train, val, opt)
}

func (t *search) folded() bool { return t.Folds > 1 }

// run searches, chooses and trains. When the context ends, the best result so far stands.
func (t *search) run(ctx context.Context, out kit.Terminal) error {
	p := kit.NewProgress(out)
	defer p.Clear()
	err := context.Cause(ctx)
	if err != nil {
		return err
	}
	if t.Solver == solverSAA {
		err = t.runSampled(ctx, p, out)
	} else {
		err = t.runExact(ctx, p, out)
	}
	if t.each.weights == nil || t.single.weights == nil {
		return err
	}
	for _, r := range t.results() {
		if refitErr := t.finish(r); refitErr != nil {
			return refitErr
		}
	}
	return err
}

func (t *search) ready() bool { return t.single.y != nil }

func (t *search) method() *engine { return t.engine }

func (t *search) results() []*result { return []*result{&t.each, &t.single} }

func (t *search) chosen() *result {
	if t.choice.each {
		return &t.each
	}
	return &t.single
}

// trainingShare is the share of the design rows that a model of the search is trained on.
func (t *search) trainingShare() float64 {
	if t.folded() {
		return 1 - 1/float64(t.Folds)
	}
	return float64(t.parts[0].Rows()) / float64(t.design.Rows())
}

// finish trains on all design rows with the weights of r, and measures the model.
func (t *search) finish(r *result) (err error) {
	if r.y, err = t.train(t.design, r.weights, t.trainingShare()); err != nil {
		return err
	}
	r.Test = t.measure(t.test, r.y)
	problems, err := t.problems()
	if err != nil {
		return err
	}
	r.Validation, r.f = metrics{}, 0
	for _, p := range problems {
		y, err := t.train(p.Train(), r.weights, 1)
		if err != nil {
			return err
		}
		for name, value := range t.measure(p.Validation(), y) {
			r.Validation[name] += value / float64(len(problems))
		}
		r.f += p.Loss().Mean(p.Validation(), y) / float64(len(problems))
	}
	return nil
}

// train returns the model of the rows of d. The weights were found for a share of these rows, and
// are multiplied by that share, which keeps the prior that they stand for: with a mean loss over n
// rows, λ is a Gaussian prior of precision 2nλ (Bishop, Pattern Recognition and Machine Learning,
// section 3.3.1).
func (t *search) train(d *data.Data, weights []float64, share float64) ([]float64, error) {
	p, err := hyperopt.New(d, d, hyperopt.Options{Loss: losses[t.Loss], Workers: 2})
	if err != nil {
		return nil, err
	}
	x, y := make([]float64, d.Dim), make([]float64, d.Dim)
	for i, w := range weights {
		x[i] = w * share
	}
	return y, p.Solution(y, x)
}

func (t *search) measure(d *data.Data, y []float64) metrics {
	loss := losses[t.Loss]
	m := metrics{"loss": loss.Mean(d, y)}
	if loss == hyperopt.Squared {
		m["loss"] *= t.target.Deviation * t.target.Deviation
		m["rmse"] = math.Sqrt(2 * m["loss"])
	} else {
		m["accuracy"] = hyperopt.Accuracy(d, y)
	}
	return m
}

// compare returns, for each row of d, the loss of a minus that of b, in units of the target.
func (t *search) compare(d *data.Data, a, b []float64) []float64 {
	loss, unit := losses[t.Loss], t.target.Deviation*t.target.Deviation
	diff := make([]float64, d.Rows())
	for i := range diff {
		row := d.Subset([]int{i})
		diff[i] = unit * (loss.Mean(row, a) - loss.Mean(row, b))
	}
	return diff
}

// compareOn trains on the rows of d, with weights that were found for a share of these rows, and
// returns the differences of loss on other rows: a weight each minus a single one.
func (t *search) compareOn(rows, d *data.Data, share float64, each, single *result) ([]float64, error) {
	a, err := t.train(d, each.weights, share)
	if err != nil {
		return nil, err
	}
	b, err := t.train(d, single.weights, share)
	if err != nil {
		return nil, err
	}
	return t.compare(rows, a, b), nil
}

// meanOf returns the mean of values and its standard error.
func meanOf(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, d := range values {
		mean += d / n
	}
	for _, d := range values {
		deviation += (d - mean) * (d - mean) / n
	}
	return mean, math.Sqrt(deviation / n)
}

// choose decides by the differences of loss, a weight each minus a single one, on rows that neither
// search saw. A weight each must be better by more than one standard error; with one split by two,
// since that error leaves out the chance in the training rows. Without such rows the single weight
// stands: the validation loss favours a search with more freedom.
func (t *search) choose(differences []float64) {
	c := &t.choice
	c.Margin = 2
	if t.folded() {
		c.Margin = 1
	}
	if c.Rows = len(differences); c.Rows > 0 {
		c.Difference, c.Error = meanOf(differences)
		c.each = c.Difference < -c.Margin*c.Error
	}
	c.Name = t.chosen().Name
}

func (t *search) toWeights(x []float64) []float64 {
	w := make([]float64, len(x))
	for i, xi := range x {
		w[i] = t.weight(xi)
	}
	return w
}

func (t *search) weight(xi float64) float64 {
	if forms[t.Form] == hyperopt.Exp {
		return math.Exp(xi) / 2
	}
	return xi
}

func (t *search) uniform(lambda float64) []float64 {
	w := make([]float64, t.design.Dim)
	for i := range w {
		w[i] = lambda
	}
	return w
}

func (t *search) atEdges(w []float64) (lo, hi int) {
	for _, v := range w {
		switch {
		case v <= t.Lo*(1+1e-9):
			lo++
		case v >= t.Hi*(1-1e-9):
			hi++
		}
	}
	return lo, hi
}

func (c choice) String() string {
	if c.cut {
		return c.Name + ": an interrupt came before the two were compared on rows that neither search saw"
	}
	if c.Rows == 0 {
		return fmt.Sprintf("%s: there were no rows that neither search saw to compare them on", c.Name)
	}
	verdict := "which is within noise"
	switch {
	case c.each:
		verdict = "which is more than noise"
	case c.Difference > c.Margin*c.Error:
		verdict = "which is worse"
	}
	return fmt.Sprintf("%s: on %d rows that neither search saw, a weight each changes the loss by %+.3g ± %.2g, %s",
		c.Name, c.Rows, c.Difference, c.Error, verdict)
}
