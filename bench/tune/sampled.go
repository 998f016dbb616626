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
	for _, rows := range []*data.Data{t.parts[0], t.design} {
		c, err := t.newClimber(rows)
		if err != nil {
			return err
		}
		share := 1.0
		if rows == t.design {
			share = t.trainingShare()
		}
		if r.weights != nil {
			copy(c.relative, r.weights)
			err = c.fit(share)
		} else {
			err = c.fit(r.Lambda * share)
		}
		if err != nil {
			return err
		}
		if rows != t.design && t.unseen != nil {
			r.losses = t.lossesOf(t.unseen, slices.Clone(c.y))
			r.HeldOut, r.Error = meanOf(r.losses)
		}
		if rows == t.design {
			r.weights, r.y = slices.Clone(c.weights), slices.Clone(c.y)
		}
	}
	t.candidates = append(t.candidates, candidate{of: r, losses: r.losses, weights: r.weights, y: r.y})
	t.results = append(t.results, r)
	return nil
}

func bestSingle(ctx context.Context, p *hyperopt.Problem, lo, hi float64) (best singleWeight, err error) {
	p, best.f = p.Clone(), math.Inf(1)
	x, y := vectors(p)
	for _, lambda := range geometric(lo, hi, gridSize(p)) {
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

// geometric returns n ≥ 2 numbers from lo to hi with equal ratios, both ends exact.
func geometric(lo, hi float64, n int) []float64 {
	s := make([]float64, n)
	for k := range s {
		t := float64(k) / float64(n-1)
		s[k] = math.Exp((1-t)*math.Log(lo) + t*math.Log(hi))
	}
	s[0], s[n-1] = lo, hi
	return s
}
