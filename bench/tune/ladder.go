package tune

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
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
	of := foldsOf(t.design, t.Folds, t.regression(), t.Seed)
	for k := range t.Folds {
		in, out := inAndOut(of, k)
		c, err := t.newClimber(t.design.Subset(in))
		if err != nil {
			return nil, err
		}
		list = append(list, fold{c, out, t.design.Subset(out)})
	}
	return list, nil
}

func inAndOut(of []int, fold int) (in, out []int) {
	for i, f := range of {
		if f == fold {
			out = append(out, i)
		} else {
			in = append(in, i)
		}
	}
	return in, out
}

func foldsOf(d *data.Data, k int, regression bool, seed uint64) []int {
	of, dealt := make([]int, d.Rows()), map[float64]int{}
	for _, i := range rand.New(rand.NewPCG(seed, 'f')).Perm(d.Rows()) {
		class := 0.0
		if !regression {
			class = d.Label[i]
		}
		of[i] = dealt[class] % k
		dealt[class]++
	}
	return of
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
	errs, next := make([]error, n), make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				errs[i] = do(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return kit.FirstOf(errs...)
}
