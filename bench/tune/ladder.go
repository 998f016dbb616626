package tune

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
)

const (
	mostRungs = 9
	idleRungs = 3 // without a gain in held-out loss end the search
)

// fold is a climber with the held-out rows that judge its models.
type fold struct {
	*climber
	rows []int // of those that are judged
	held *data.Data
}

func (t *search) climbers() (list []fold, err error) {
	if !t.folded() {
		c, err := t.newClimber(t.parts[0])
		return []fold{{c, ascending(make([]float64, t.parts[1].Rows())), t.parts[1]}}, err
	}
	in, out := t.deal()
	for k := range t.Folds {
		c, err := t.newClimber(t.design.Subset(in[k]))
		if err != nil {
			return nil, err
		}
		list = append(list, fold{c, out[k], t.design.Subset(out[k])})
	}
	return list, nil
}

// deal returns the rows in and out of the training of each fold; each class is dealt evenly.
func (t *search) deal() (in, out [][]int) {
	n := t.design.Rows()
	of, dealt := make([]int, n), map[float64]int{}
	for _, i := range rand.New(rand.NewPCG(t.Seed, 'f')).Perm(n) {
		class := 0.0
		if !t.regression() {
			class = t.design.Label[i]
		}
		of[i] = dealt[class] % t.Folds
		dealt[class]++
	}
	in, out = make([][]int, t.Folds), make([][]int, t.Folds)
	for i, own := range of {
		for k := range t.Folds {
			if k != own {
				in[k] = append(in[k], i)
			}
		}
		out[own] = append(out[own], i)
	}
	return in, out
}

func (t *search) runExact(ctx context.Context, p *kit.Progress) error {
	began := time.Now()
	folds, err := t.climbers()
	if err != nil {
		return err
	}
	all, err := t.newClimber(t.design)
	if err != nil {
		return err
	}
	lambdas, best := []float64{dropped}, 0
	for n := 0; n < mostRungs+1 && n <= max(best, 1)+idleRungs; n++ { // 0 is the constant
		p.Update(float64(n)/(mostRungs+1), "rung %d", n)
		r := &result{Name: rungName(n), Rung: n}
		list, err := t.try(ctx, r, folds, lambdas)
		if err != nil {
			return err
		}
		for j := len(list) - 1; j >= 0; j-- {
			if err := all.fit(list[j].lambda * t.trainingShare()); err != nil {
				return err
			}
			list[j].weights, list[j].y = slices.Clone(all.weights), slices.Clone(all.y)
		}
		r.take(list, t.Seed)
		r.seconds = time.Since(began)
		t.results, t.candidates = append(t.results, r), append(t.candidates, list...)
		if r.HeldOut < t.results[best].HeldOut {
			best = n
		}
		if lambdas = kit.Ratios(t.Lo, t.Hi, 13); n == 0 {
			continue
		}
		lambdas = kit.Ratios(max(r.Lambda/30, t.Lo), r.Lambda*30, 9)
		if err := kit.FirstOf(all.fit(r.Lambda*t.trainingShare()), all.reweigh(), parallel(len(folds), func(i int) error {
			return kit.FirstOf(folds[i].fit(r.Lambda), folds[i].reweigh())
		})); err != nil {
			return err
		}
	}
	return nil
}

// take makes the candidate of least loss the result, judged by what bag picks of them.
func (r *result) take(list []candidate, seed uint64) {
	total := make([]float64, len(list))
	for k, c := range list {
		total[k], _ = meanOf(c.losses)
	}
	c := list[least(total)]
	r.Lambda, r.weights, r.y = c.lambda, c.weights, c.y
	_, r.losses = bag(list, seed, 0)
	r.HeldOut, r.Error = meanOf(r.losses)
}

func rungName(n int) string {
	return []string{"no features", "one weight for all", "ladder, rung " + fmt.Sprint(n)}[min(n, 2)]
}

// try returns candidates of a rung, without their models.
func (t *search) try(ctx context.Context, r *result, folds []fold, lambdas []float64) (list []candidate, err error) {
	rows := 0
	for _, f := range folds {
		rows += len(f.rows)
	}
	for _, lambda := range lambdas {
		list = append(list, candidate{of: r, lambda: lambda, losses: make([]float64, rows)})
	}
	return list, parallel(len(folds), func(i int) error {
		for j := len(lambdas) - 1; j >= 0; j-- {
			if err := kit.FirstOf(context.Cause(ctx), folds[i].fit(lambdas[j])); err != nil {
				return err
			}
			for k, l := range t.lossesOf(folds[i].held, folds[i].y) {
				list[j].losses[folds[i].rows[k]] = l
			}
		}
		return nil
	})
}

func least(values []float64) int { return slices.Index(values, slices.Min(values)) }

func parallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = do(i)
		}()
	}
	wg.Wait()
	return kit.FirstOf(errs...)
}
