package tune

import (
	"context"
	"math"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
)

// search is one run of tune.
type search struct {
	options
	*dataSet
	engine  *engine
	results []result
}

// result is a model with the weights that one way of tuning has found, trained exactly on the
// training rows.
type result struct {
	Name       string  `json:"name"`
	Lambda     float64 `json:"lambda,omitempty"` // the weight of all features, 0 where each has its own
	Tried      int     `json:"weights_tried,omitempty"`
	SearchRows int     `json:"search_rows,omitempty"` // training and validation rows that the search could see
	Reads      uint64  `json:"rows_read"`
	Validation metrics `json:"validation"`
	Test       metrics `json:"test"`

	x, y    []float64
	f       float64 // validation loss in scaled units
	seconds time.Duration
}

// metrics are loss and accuracy, or loss and rmse of a regression, both in units of the target.
type metrics map[string]float64

// newSearch makes the problem, and STABLE with its defaults.
func newSearch(o options, set *dataSet) (*search, error) {
	t := &search{options: o, dataSet: set}
	p, err := t.newProblem(t.train, t.val)
	if err != nil {
		return nil, err
	}
	t.engine, err = newEngine(p, o.Steps, o.Seed)
	return t, err
}

func (t *search) newProblem(train, val *hyperopt.Data) (*hyperopt.Problem, error) {
	opt := hyperopt.Options{Loss: losses[t.Loss], Form: forms[t.Form], Lo: t.Lo, Hi: t.Hi, Workers: 2}
	if opt.Form == hyperopt.Exp {
		opt.Lo, opt.Hi = math.Log(2*t.Lo), math.Log(2*t.Hi)
	}
	return hyperopt.New(train, val, opt)
}

// stable runs STABLE and trains with the weights that it ends at.
func (t *search) stable(ctx context.Context, p *kit.Progress) error {
	err := t.engine.run(ctx, p)
	if t.engine.result.Steps == 0 {
		return err
	}
	r := result{Name: "STABLE, a weight each", Reads: t.engine.problem.Reads(), seconds: t.engine.result.Elapsed, x: t.engine.result.X}
	if trainErr := t.retrain(r); trainErr != nil {
		return trainErr
	}
	return err
}

// retrain trains on all training rows with the weights r.x, by Newton's method from 0, and adds r
// to the results.
func (t *search) retrain(r result) error {
	r.y = make([]float64, len(r.x))
	var err error
	if r.f, err = t.engine.problem.ObjectiveFrom(nil, r.y, r.x); err != nil {
		return err
	}
	r.Validation, r.Test = t.measure(t.val, r.y), t.measure(t.test, r.y)
	t.results = append(t.results, r)
	return nil
}

func (t *search) measure(d *hyperopt.Data, y []float64) metrics {
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

// baselines searches for the best single weight, at equal cost and exactly.
func (t *search) baselines(ctx context.Context, p *kit.Progress) error {
	defer p.Clear()
	budget := t.results[0].Reads
	share := t.share(budget)
	train, val, err := t.sample(share)
	if err != nil {
		return err
	}
	p.Update(0.01, "best single weight at equal cost")
	name := "best single weight, equal cost"
	if err := t.search(ctx, name, train, val, nested(t.Lo, t.Hi), budget); err != nil {
		return err
	}
	p.Update(0.3, "best single weight, exact")
	name = "best single weight, exact"
	return t.search(ctx, name, t.train, t.val, hyperopt.Geometric(t.Lo, t.Hi, t.engine.lambdas()), math.MaxUint64)
}

// share is the share of the rows on which the budget is good for 17 weights, of about 14 passes
// over training rows and one over validation rows each; at least ten rows of each class stay.
func (t *search) share(budget uint64) float64 {
	const weights, passes = 17, 14
	share := float64(budget) / float64(weights*(passes*t.train.Rows()+t.val.Rows()))
	for _, d := range []*hyperopt.Data{t.train, t.val} {
		few := d.Rows()
		if losses[t.Loss] == hyperopt.Logistic {
			few = min(countClasses(d))
		}
		share = max(share, 10/float64(few))
	}
	return share
}

// sample returns a random share of the training and of the validation rows.
func (t *search) sample(share float64) (train, val *hyperopt.Data, err error) {
	if share >= 1 {
		return t.train, t.val, nil
	}
	var parts [2]*hyperopt.Data
	for i, d := range []*hyperopt.Data{t.train, t.val} {
		p, err := splitter(d, losses[t.Loss] == hyperopt.Squared)(t.Seed, share, 1-share)
		if err != nil {
			return nil, nil, err
		}
		parts[i] = p[0]
	}
	return parts[0], parts[1], nil
}

// nested returns 65 weights from lo to hi, in an order in which each beginning is spread over the
// range: ends, middle, quarters, …
func nested(lo, hi float64) []float64 {
	const n = 64
	grid := hyperopt.Geometric(lo, hi, n+1)
	order := []float64{grid[0], grid[n]}
	for step := n; step > 1; step /= 2 {
		for i := step / 2; i < n; i += step {
			order = append(order, grid[i])
		}
	}
	return order
}

// search trains with one weight after the other, each from the model before, until the budget is
// read, and retrains with the best. It tries one weight at least, and what an ended context leaves
// is the best so far.
//
// On a share of the training rows the weight is larger by 1/share. That keeps the prior that it
// stands for: λ beside a mean loss over n rows is a Gaussian prior of precision 2nλ for each
// coefficient (Bishop, Pattern Recognition and Machine Learning, section 3.3.1).
func (t *search) search(ctx context.Context, name string, train, val *hyperopt.Data, lambdas []float64, budget uint64) error {
	start := time.Now()
	p, err := t.newProblem(train, val)
	if err != nil {
		return err
	}
	r := result{Name: name, SearchRows: train.Rows() + val.Rows(), x: make([]float64, train.Dim)}
	y := make([]float64, train.Dim)
	best := math.Inf(1)
	prior := float64(t.train.Rows()) / float64(train.Rows())
	for _, lambda := range lambdas {
		if p.Reads() >= budget || ctx.Err() != nil {
			break
		}
		p.Uniform(r.x, lambda*prior)
		f, err := p.ObjectiveFrom(nil, y, r.x)
		if err != nil {
			return err
		}
		r.Tried++
		if f < best {
			best, r.Lambda = f, lambda
		}
	}
	if r.Tried == 0 {
		return context.Cause(ctx)
	}
	p.Uniform(r.x, r.Lambda)
	r.Reads, r.seconds = p.Reads(), time.Since(start)
	if err := t.retrain(r); err != nil {
		return err
	}
	return context.Cause(ctx)
}
