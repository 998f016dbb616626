package tune

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/chol"
	"stable/mat"
)

// problems returns those that weights are judged on: one for each fold, or that of the split.
func (t *search) problems() ([]*hyperopt.Problem, error) {
	if t.folded() {
		return t.foldProblems(t.parts)
	}
	p, err := t.newProblem(t.parts[0], t.parts[1])
	return []*hyperopt.Problem{p}, err
}

// foldProblems returns a problem for each part, with that part to validate on and all others to
// train on.
func (t *search) foldProblems(parts []*data.Data) ([]*hyperopt.Problem, error) {
	var list []*hyperopt.Problem
	for k, part := range parts {
		p, err := t.newProblem(without(parts, k), part)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func without(parts []*data.Data, k int) *data.Data {
	return data.Join(slices.Delete(slices.Clone(parts), k, k+1)...)
}

func (t *search) runExact(ctx context.Context, p *kit.Progress, out kit.Terminal) (err error) {
	problems, err := t.problems()
	if err != nil {
		return err
	}
	t.tell(problems, out)
	share := 1.0 // of the time
	if t.folded() {
		share = 0.25
	}
	t.single, t.each, err = t.exact(ctx, problems, func(k int, f float64) {
		p.Update(share*min(0.9, float64(k)/40), "iteration %d, validation loss %.6f", k, f)
	})
	if err != nil {
		return err
	}
	t.each.Name, t.single.Name = "a weight each", "one weight for all"
	var diff []float64
	switch {
	case t.folded():
		diff, err = t.outer(ctx, p)
	case t.unseen != nil:
		diff, err = t.compareOn(t.unseen, t.parts[0], 1, &t.each, &t.single)
	}
	if err != nil {
		return err
	}
	err = context.Cause(ctx)
	t.choice.cut = diff == nil && err != nil
	t.choose(diff)
	return err
}

// tell announces the time of a long search, estimated from one Newton step.
func (t *search) tell(problems []*hyperopt.Problem, out kit.Terminal) {
	p := problems[0].Clone()
	h, x, y := mat.NewSym(t.design.Dim), make([]float64, t.design.Dim), make([]float64, t.design.Dim)
	var c chol.Cholesky
	start := time.Now()
	p.Start(x, y)
	if err := kit.FirstOf(p.HessG(h, x, y, nil), c.Factor(h)); err != nil {
		return // the search will say so
	}
	steps := float64(newtonSteps * len(problems) * max(1, len(problems)))
	if takes := time.Duration(steps * float64(time.Since(start))); takes > 20*time.Second {
		fmt.Fprintf(out.Stderr,
			"bench: this takes some %v; one split (-folds 1) of fewer rows or features takes less\n", takes.Round(10*time.Second))
	}
}

// exact returns the best single weight of a grid, and the weights of the nearest local minimum of
// the validation loss.
func (t *search) exact(ctx context.Context, problems []*hyperopt.Problem,
	progress func(k int, f float64)) (single, each result, err error) {
	began := time.Now()
	folds := &hyperopt.Folds{Problems: problems}
	lambdas, losses, err := singles(folds, t.Lo, t.Hi)
	if err != nil {
		return single, each, err
	}
	best := slices.Index(losses, slices.Min(losses))
	rows := problems[0].Train().Rows() + problems[0].Validation().Rows()
	single = result{Lambda: lambdas[best], Tried: len(lambdas), SearchRows: rows, Reads: folds.Reads(),
		f: losses[best], grid: lambdas, losses: losses, weights: t.uniform(lambdas[best]), seconds: time.Since(began)}
	each = result{SearchRows: rows, weights: single.weights, f: single.f, Stopped: "converged"}
	var enough settled
	folds.Progress = func(k int, f float64) bool {
		progress(k, f)
		return ctx.Err() == nil && !enough.at(f)
	}
	x := make([]float64, t.design.Dim)
	problems[0].Uniform(x, single.Lambda)
	switch m, err := folds.Minimise(x); {
	case errors.Is(err, hyperopt.ErrNoMinimum):
		each.Stopped = err.Error()
	case err != nil:
		return single, each, err
	default:
		each.weights, each.f, each.Steps = t.toWeights(m.X), m.F, m.Iterations
	}
	if ctx.Err() != nil {
		each.Stopped = fmt.Sprint(context.Cause(ctx))
	}
	each.Reads, each.seconds = folds.Reads(), time.Since(began)
	return single, each, nil
}

// settled says when a search for weights may end: when three iterations together lowered the loss
// by less than 1e-4 of the first loss. What they would fit further is noise of the validation rows.
type settled struct{ losses []float64 }

func (s *settled) at(f float64) bool {
	s.losses = append(s.losses, f)
	n := len(s.losses)
	return n > 3 && s.losses[n-4]-f < 1e-4*s.losses[0]
}

// singles returns the validation losses of single weights in ascending order: 13 over the range,
// and three more in each of the two gaps next to the best.
func singles(folds *hyperopt.Folds, lo, hi float64) (lambdas, losses []float64, err error) {
	lambdas = hyperopt.Geometric(lo, hi, 13)
	if losses, err = folds.GridSearch(lambdas); err != nil {
		return nil, nil, err
	}
	best := slices.Index(losses, slices.Min(losses))
	from, to := max(best-1, 0), min(best+1, len(lambdas)-1)
	for ; to > from; to-- {
		fine := hyperopt.Geometric(lambdas[to-1], lambdas[to], 5)[1:4]
		values, err := folds.GridSearch(fine)
		if err != nil {
			return nil, nil, err
		}
		lambdas, losses = slices.Insert(lambdas, to, fine...), slices.Insert(losses, to, values...)
	}
	return lambdas, losses, nil
}

// outer repeats the search once without each fold, and returns the differences of loss on the fold
// that was left out: every design row is once among rows that neither search saw.
func (t *search) outer(ctx context.Context, p *kit.Progress) (all []float64, err error) {
	diff, errs := make([][]float64, len(t.parts)), make([]error, len(t.parts))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(runtime.GOMAXPROCS(0), len(t.parts)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range next {
				if ctx.Err() != nil {
					continue
				}
				diff[k], errs[k] = t.leaveOut(ctx, k)
				mu.Lock()
				done++
				p.Update(0.25+0.75*float64(done)/float64(len(t.parts)), "searches without fold %d of %d",
					done, len(t.parts))
				mu.Unlock()
			}
		}()
	}
	for k := range t.parts {
		next <- k
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // searches that were cut short say nothing
		return nil, nil
	}
	for _, d := range diff {
		all = append(all, d...)
	}
	return all, nil
}

// leaveOut searches on all folds but one, and returns the differences of loss on that one.
func (t *search) leaveOut(ctx context.Context, k int) ([]float64, error) {
	rest := slices.Delete(slices.Clone(t.parts), k, k+1)
	problems, err := t.foldProblems(rest)
	if err != nil {
		return nil, err
	}
	single, each, err := t.exact(ctx, problems, func(int, float64) {})
	if err != nil {
		return nil, err
	}
	share := 1 - 1/float64(len(rest))
	return t.compareOn(t.parts[k], data.Join(rest...), share, &each, &single)
}

// gridSize is the number of single weights that are tried.
func gridSize(p *hyperopt.Problem) int {
	if p.Train().Rows() <= kit.ManyRows {
		return 51
	}
	return 17
}
