package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

// runStable runs STABLE from the best single weight of a search at its own cost, searches for a
// single weight without a budget, and chooses.
func (t *search) runStable(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	equal, err := t.startStable(ctx, p)
	if err != nil {
		return err
	}
	t.baseline = &equal
	runErr := t.engine.run(ctx, p, out)
	e := t.engine
	if stopped := errors.Is(runErr, context.Canceled) || errors.Is(runErr, bilevel.ErrDiverged); runErr != nil &&
		!stopped || e.result.Steps == 0 {
		return runErr
	}
	t.each = result{Name: "a weight each, by STABLE-untuned",
		Reads: e.reads(), seconds: e.result.Elapsed, weights: t.toWeights(e.result.X),
		SearchRows: t.parts[0].Rows() +
			t.parts[1].Rows(), Stopped: fmt.Sprint(e.result.Reason), Steps: e.result.Steps, f: kit.Last(e.f)}
	p.Update(0.9, "best single weight, exact")
	t.single, err = t.searchSingle(ctx, t.parts[0], t.parts[1], hyperopt.Geometric(t.Lo, t.Hi, gridSize(e.problem)),
		math.MaxUint64)
	if errors.Is(err, context.Canceled) { // the one from before STABLE stands
		t.single, err = equal, nil
		t.baseline = nil
	}
	if err != nil {
		return err
	}
	t.single.Name = "one weight for all"
	var diff []float64
	if t.unseen != nil {
		if diff, err = t.compareOn(t.unseen, t.parts[0], 1, &t.each, &t.single); err != nil {
			return err
		}
	}
	t.choose(diff)
	return runErr
}

// startStable searches for a single weight at the cost that STABLE will have, and lets STABLE start
// from there.
func (t *search) startStable(ctx context.Context, p *kit.Progress) (equal result, err error) {
	budget, err := t.budget()
	if err != nil {
		return equal, err
	}
	train, val, err := t.sample(t.share(budget))
	if err != nil {
		return equal, err
	}
	p.Update(0.01, "best single weight at equal cost")
	equal, err = t.searchSingle(ctx, train, val, nested(t.Lo, t.Hi), budget)
	if err != nil {
		return equal, err
	}
	equal.Name = "one weight for all, equal cost"
	return equal, t.engine.start(equal.Lambda, t.Seed)
}

// budget estimates the number of rows that STABLE will read from the number in its first steps.
func (t *search) budget() (uint64, error) {
	p := t.engine.problem.Clone()
	e, err := newEngine(p, untuned(p), t.Steps, t.Seed)
	if err != nil {
		return 0, err
	}
	var first uint64
	n := min(t.Steps, 50)
	for k := range n {
		if err := e.solver.Step(); err != nil {
			return 0, err
		}
		if k == 0 {
			first = p.Reads()
		}
	}
	if n == 1 {
		return first, nil
	}
	return first + (p.Reads()-first)*uint64(t.Steps-1)/uint64(n-1), nil
}

// share returns the share of the rows on which the budget pays for 17 weights, with about 14 passes
// over training rows and one over validation rows each. It leaves at least ten rows of each class.
func (t *search) share(budget uint64) float64 {
	const weights, passes = 17, 14
	train, val := t.parts[0], t.parts[1]
	share := float64(budget) / float64(weights*(passes*train.Rows()+val.Rows()))
	for _, d := range []*data.Data{train, val} {
		share = max(share, 10/float64(fewest(d, t.regression())))
	}
	return share
}

func (t *search) sample(share float64) (train, val *data.Data, err error) {
	if share >= 1 {
		return t.parts[0], t.parts[1], nil
	}
	var parts [2]*data.Data
	for i, d := range t.parts {
		p, err := t.deal(d, share, 1-share)
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

// searchSingle trains with one weight after the other, each from the previous model, until the
// budget is spent. It tries at least one weight. On a share of the training rows a weight is larger
// by 1/share: see train.
func (t *search) searchSingle(ctx context.Context, train, val *data.Data, lambdas []float64,
	budget uint64) (r result, err error) {
	start := time.Now()
	p, err := t.newProblem(train, val)
	if err != nil {
		return r, err
	}
	x, y := make([]float64, train.Dim), make([]float64, train.Dim)
	r.f = math.Inf(1)
	prior := float64(t.parts[0].Rows()) / float64(train.Rows())
	for _, lambda := range lambdas {
		if r.Tried > 0 && p.Reads() >= budget {
			break
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		p.Uniform(x, lambda*prior)
		f, err := p.ObjectiveFrom(nil, y, x)
		if err != nil {
			return r, err
		}
		r.Tried++
		if f < r.f {
			r.f, r.Lambda = f, lambda
		}
	}
	r.SearchRows, r.Reads, r.seconds = train.Rows()+val.Rows(), p.Reads(), time.Since(start)
	r.weights = t.uniform(r.Lambda)
	return r, nil
}
