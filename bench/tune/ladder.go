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

// group is held-out rows that a climber's models are judged on, and that do not choose the weight
// by which they are judged.
type group struct {
	by   *climber
	rows []int // of those that are judged
	held *data.Data
}

func (t *search) groups() (climbers []*climber, list []*group, err error) {
	judged, k := t.design, t.Folds
	if !t.folded() {
		judged = t.parts[1]
		k = max(1, min(defaultFolds, fewest(judged, t.regression())))
	}
	of := foldsOf(judged, k, t.regression(), t.Seed)
	for fold := range k {
		g := new(group)
		var rest []int
		for i, f := range of {
			if f == fold {
				g.rows = append(g.rows, i)
			} else {
				rest = append(rest, i)
			}
		}
		g.held = judged.Subset(g.rows)
		if t.folded() || fold == 0 {
			train := judged.Subset(rest)
			if !t.folded() {
				train = t.parts[0]
			}
			c, err := t.newClimber(train)
			if err != nil {
				return nil, nil, err
			}
			climbers = append(climbers, c)
		}
		g.by = climbers[len(climbers)-1]
		list = append(list, g)
	}
	return climbers, list, nil
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

func (t *search) runExact(ctx context.Context, p *kit.Progress, out kit.Terminal) error {
	began := time.Now()
	climbers, groups, err := t.groups()
	if err != nil {
		return err
	}
	all, err := t.newClimber(t.design)
	if err != nil {
		return err
	}
	t.tell(climbers, out)
	lambdas, least := []float64{dropped}, 0
	for n := 0; n < mostRungs+1 && n <= max(least, 1)+idleRungs; n++ { // 0 is the constant
		p.Update(float64(n)/(mostRungs+1), "rung %d", n)
		r, loss, err := t.try(ctx, climbers, groups, lambdas)
		if err != nil {
			return err
		}
		r.Name, r.Rung = rungName(n), n
		r.enter(t.Seed, lambdas, loss)
		for j := len(r.entries) - 1; j >= 0; j-- { // the next rung begins at the first
			e := &r.entries[j]
			if err := all.fit(e.lambda * t.trainingShare()); err != nil {
				return err
			}
			e.weights, e.y = slices.Clone(all.weights), slices.Clone(all.y)
		}
		r.weights, r.y, r.seconds = r.entries[0].weights, r.entries[0].y, time.Since(began)
		t.results = append(t.results, r)
		if r.HeldOut < t.results[least].HeldOut {
			least = n
		}
		if lambdas = geometric(t.Lo, t.Hi, 13); n == 0 {
			continue
		}
		lambdas = geometric(max(r.Lambda/30, t.Lo), r.Lambda*30, 9)
		if err := kit.FirstOf(all.reweigh(), parallel(len(climbers), func(i int) error {
			return kit.FirstOf(climbers[i].fit(r.Lambda), climbers[i].reweigh())
		})); err != nil {
			return err
		}
	}
	return nil
}

func rungName(n int) string {
	return []string{"no features", "one weight for all", "ladder, rung " + fmt.Sprint(n)}[min(n, 2)]
}

// try returns the result of a rung, judged as pick says, with the losses of all its weights.
func (t *search) try(ctx context.Context, climbers []*climber, groups []*group, lambdas []float64) (*result, [][]float64, error) {
	of, rows := map[*climber][]*group{}, 0
	for _, g := range groups {
		of[g.by] = append(of[g.by], g)
		rows += len(g.rows)
	}
	loss := make([][]float64, len(lambdas))
	for j := range loss {
		loss[j] = make([]float64, rows)
	}
	err := parallel(len(climbers), func(i int) error {
		for j := len(lambdas) - 1; j >= 0; j-- {
			if err := kit.FirstOf(context.Cause(ctx), climbers[i].fit(lambdas[j])); err != nil {
				return err
			}
			for _, g := range of[climbers[i]] {
				for k, l := range t.lossesOf(g.held, climbers[i].y) {
					loss[j][g.rows[k]] = l
				}
			}
		}
		return nil
	})
	return pick(groups, lambdas, loss), loss, err
}

// pick returns the result of the weight of least loss, where each group's rows have the losses of
// the weight that is best on the other groups.
func pick(groups []*group, lambdas []float64, loss [][]float64) *result {
	total := make([]float64, len(lambdas))
	for j := range total {
		total[j] = sum(loss[j])
	}
	r := &result{Lambda: lambdas[least(total)], losses: slices.Clone(loss[0])}
	for _, group := range groups {
		others := slices.Clone(total)
		for _, i := range group.rows {
			for j := range others {
				others[j] -= loss[j][i] * float64(b2i(len(groups) > 1))
			}
		}
		best := loss[least(others)]
		for _, i := range group.rows {
			r.losses[i] = best[i]
		}
	}
	r.HeldOut, r.Error = meanOf(r.losses)
	return r
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
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

func (t *search) tell(climbers []*climber, out kit.Terminal) {
	start := time.Now()
	if climbers[0].fit(t.Hi) != nil {
		return // the search will say so
	}
	const models = 13 + 6*9
	if takes := models * time.Since(start) * time.Duration(len(climbers)) / 2; takes > 20*time.Second {
		fmt.Fprintf(out.Stderr,
			"bench: this takes some %v; one split (-folds 1) of fewer rows or features takes less\n", takes.Round(10*time.Second))
	}
}
