package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

// runSampled runs SAA-Newton from the best single weight, and judges both, and the constant, on the
// rows that no search saw.
func (t *search) runSampled(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	p.Update(0.01, "best single weight, exact")
	began, e := time.Now(), t.engine
	best, err := bestSingle(ctx, e.problem, t.Lo, t.Hi)
	if err != nil {
		return err
	}
	constant := &result{Name: rungName(0), Lambda: dropped}
	single := &result{Name: rungName(1), Lambda: best.lambda, seconds: time.Since(began)}
	if err := e.start(best.lambda, t.Seed); err != nil {
		return err
	}
	runErr := e.run(ctx, p, out)
	if stopped := errors.Is(runErr, context.Canceled) || errors.Is(runErr, bilevel.ErrDiverged); runErr != nil &&
		!stopped || e.result.Steps == 0 {
		return runErr
	}
	each := &result{Name: "a weight each, by " + e.method.Name(), seconds: e.result.Elapsed,
		Stopped: fmt.Sprint(e.result.Reason), Steps: e.result.Steps}
	for _, x := range e.result.X {
		each.weights = append(each.weights, math.Exp(x)/2)
	}
	for _, r := range []*result{constant, single, each} {
		if err := t.judge(r); err != nil {
			return err
		}
	}
	return runErr
}

func (t *search) judge(r *result) error {
	for k, rows := range []*data.Data{t.parts[0], t.design} {
		c, err := t.newClimber(rows)
		if err != nil {
			return err
		}
		lambda := r.Lambda
		if each := r.weights; each != nil {
			copy(c.relative, each)
			lambda = 1
		}
		if err := c.fit(lambda * []float64{1, t.trainingShare()}[k]); err != nil {
			return err
		}
		if rows == t.design {
			r.weights, r.y = c.weights, c.y
		} else if t.unseen != nil {
			r.losses = t.lossesOf(t.unseen, c.y)
			r.HeldOut, r.Error = meanOf(r.losses)
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
		if ctx.Err() != nil {
			return best, context.Cause(ctx)
		}
		p.Uniform(x, lambda)
		f, err := p.ObjectiveFrom(nil, y, x)
		if err != nil {
			return best, err
		}
		if f < best.f {
			best = singleWeight{lambda, f, slices.Clone(y)}
		}
	}
	return best, nil
}

func gridSize(p *hyperopt.Problem) int {
	if p.Train().Rows() <= kit.ManyRows {
		return 51
	}
	return 17
}
