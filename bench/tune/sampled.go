package tune

import (
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

// runSampled runs SAA-Newton from the best single weight, and judges both, and the constant, on the
// rows that no search saw.
func (t *search) runSampled(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	p.Update(0.01, "best single weight, exact")
	began := time.Now()
	best, err := bestSingle(ctx, t.problem, t.Lo, t.Hi)
	if err != nil {
		return err
	}
	constant := &result{Name: rungName(0), Lambda: dropped}
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

func (t *search) begin(lambda float64) (err error) {
	lo, hi := t.problem.Box()
	x0, y0 := vectors(t.problem)
	t.problem.Uniform(x0, lambda)
	for i, v := range x0 {
		x0[i] = min(max(v, lo[i]), hi[i])
	}
	if _, err := t.problem.Clone().ObjectiveFrom(nil, y0, x0); err != nil {
		return err
	}
	if t.engine, err = t.newEngine(t.problem, saa.Newton{}, x0, y0); err == nil && t.every > 0 {
		var sums []string
		for _, f := range t.files {
			sums = append(sums, f.SHA256)
		}
		t.engine.path = t.checkpoint(kit.Build(), sums...)
	}
	return err
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
	if small(p) {
		return 51
	}
	return 17
}
