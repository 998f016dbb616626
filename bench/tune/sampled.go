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
)

// runSampled runs SAA-Newton from the best single weight, and chooses.
func (t *search) runSampled(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	p.Update(0.01, "best single weight, exact")
	single, err := t.searchSingle(ctx)
	if err != nil {
		return err
	}
	t.single = single
	e := t.engine
	if err := e.start(single.Lambda, t.Seed); err != nil {
		return err
	}
	runErr := e.run(ctx, p, out)
	if stopped := errors.Is(runErr, context.Canceled) || errors.Is(runErr, bilevel.ErrDiverged); runErr != nil &&
		!stopped || e.result.Steps == 0 {
		return runErr
	}
	t.each = result{Name: "a weight each, by " + e.method.Name(),
		Reads: e.reads(), seconds: e.result.Elapsed, weights: t.toWeights(e.result.X),
		SearchRows: single.SearchRows, Stopped: fmt.Sprint(e.result.Reason), Steps: e.result.Steps, f: kit.Last(e.f)}
	var diff []float64
	if t.unseen != nil {
		if diff, err = t.compareOn(t.unseen, t.parts[0], 1, &t.each, &t.single); err != nil {
			return err
		}
	}
	t.choose(diff)
	return runErr
}

// searchSingle trains with one weight of a grid after the other, each from the previous model.
func (t *search) searchSingle(ctx context.Context) (result, error) {
	began, p := time.Now(), t.engine.problem.Clone()
	r := result{Name: "one weight for all", f: math.Inf(1), SearchRows: t.parts[0].Rows() + t.parts[1].Rows()}
	x, y := make([]float64, t.design.Dim), make([]float64, t.design.Dim)
	for _, lambda := range hyperopt.Geometric(t.Lo, t.Hi, gridSize(p)) {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		p.Uniform(x, lambda)
		f, err := p.ObjectiveFrom(nil, y, x)
		if err != nil {
			return r, err
		}
		r.Tried++
		if f < r.f {
			r.f, r.Lambda = f, lambda
		}
	}
	r.Reads, r.seconds, r.weights = p.Reads(), time.Since(began), t.uniform(r.Lambda)
	return r, nil
}
