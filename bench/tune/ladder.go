package tune

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

const (
	mostRungs   = 9
	leastWeight = 1e-10
	idleGain    = 0.05 // of the held-out loss's standard error, for which work goes on
	idleRungs   = 3    // without a gain in held-out loss end the search
	tooFar      = 4    // standard errors of loss end a rung; half: 0.93 of the CPU; twice: 1.2
)

type fold struct {
	*climber
	rows []int
	held *data.Data
}

func (t *search) climbers() (list []fold, err error) {
	if !t.folded() {
		c, err := t.newClimber(t.parts[0])
		return []fold{{c, ascending(make([]float64, t.parts[1].Rows())), t.parts[1]}}, err
	}
	for k := range t.Folds * t.repeats {
		in, out := t.folds(k / t.Folds)
		c, failed := t.newClimber(t.design.Subset(in[k%t.Folds]))
		c.enough = ofFolds
		list, err = append(list, fold{c, out[k%t.Folds], t.design.Subset(out[k%t.Folds])}), cmp.Or(err, failed)
	}
	return list, err
}

func (t *search) folds(repeat int) (in, out [][]int) {
	kin := t.kin
	if kin == nil || t.apart {
		kin = ascending(make([]float64, t.design.Rows()))
	}
	of := deal(t.design, kin, t.regression(), t.Folds, t.Seed, 'f'+uint64(repeat)<<8)
	for k := range t.Folds {
		i, o := inAndOut(of, k)
		in, out = append(in, i), append(out, o)
	}
	return in, out
}

func inAndOut(of []int, k int) (in, out []int) {
	for i, own := range of {
		if own == k {
			out = append(out, i)
		} else {
			in = append(in, i)
		}
	}
	return in, out
}

// deal deals the rows to parts, kin to one, with the same share of each class; nil if there are no kin, or
// a part would have no row, or all others none of a class.
func deal(d *data.Data, kin []int, regression bool, parts int, seeds ...uint64) []int {
	of, size, total := slices.Repeat([]int{-1}, len(kin)), make([]int, len(kin)), make([]int, parts)
	rows, only := map[float64][]int{}, map[float64]int{} // the part of a class; -1: there are several
	for _, k := range kin {
		size[k]++
	}
	single := !slices.ContainsFunc(size, func(n int) bool { return n > 1 })
	for _, i := range rand.New(rand.NewPCG(seeds[0], seeds[1])).Perm(len(kin)) {
		k, class := kin[i], 0.0
		if !regression {
			class = d.Label[k]
		}
		if rows[class] == nil {
			rows[class] = make([]int, parts)
		}
		if own, best := rows[class], 0; of[k] < 0 {
			for p := range parts {
				if own[p] < own[best] || own[p] == own[best] && !single && total[p] < total[best] {
					best = p
				}
			}
			of[k], own[best], total[best] = best, own[best]+size[k], total[best]+size[k]
		}
		of[i] = of[k]
		if p, seen := only[d.Label[i]]; !seen {
			only[d.Label[i]] = of[k]
		} else if p != of[k] {
			only[d.Label[i]] = -1
		}
	}
	for _, p := range only {
		if !regression && p >= 0 {
			return nil
		}
	}
	if slices.Min(total) == 0 {
		return nil
	}
	return of
}

// kin returns for each row the first of one name or, where all differ and nil follows, of the same features, if
// these never differ in label; nil if there are none.
func kin(d *data.Data, kinds ...[]string) []int {
	var h maphash.Hash
	for _, names := range kinds {
		first, at, clash := make([]int, d.Rows()), map[any]int{}, false
		for i := range first {
			var key any = hashRow(&h, d, i, 0)
			if names != nil && names[i] != "" {
				key = names[i]
			}
			if _, seen := at[key]; !seen {
				at[key] = i
			}
			first[i] = at[key]
			clash = clash || names == nil && d.Label[i] != d.Label[first[i]]
		}
		if len(at) < d.Rows() && !clash && (names != nil || varied(d, len(at))) {
			return first
		}
	}
	return nil
}

// varied says that a feature tells half of the kinds apart, as no category does.
func varied(d *data.Data, kinds int) bool {
	columns := make([]map[float64]bool, d.Dim)
	for i := range d.Rows() {
		col, val := d.Row(i)
		for k, j := range col {
			if columns[j] == nil {
				columns[j] = map[float64]bool{}
			}
			columns[j][val[k]] = true
		}
	}
	return slices.ContainsFunc(columns, func(c map[float64]bool) bool { return len(c) >= 20 && 2*len(c) >= kinds })
}

func hashRow(h *maphash.Hash, d *data.Data, i int, label float64) uint64 {
	h.Reset()
	maphash.WriteComparable(h, label)
	col, val := d.Row(i)
	for k, j := range col {
		maphash.WriteComparable(h, j)
		maphash.WriteComparable(h, val[k])
	}
	return h.Sum64()
}

func (t *search) runExact(ctx context.Context, p *kit.Progress) error {
	folds, err := t.climbers()
	all, failed := t.newClimber(t.design)
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	lambdas, best, idle := []float64{dropped}, 0, idleRungs
	if t.design.Rows() > 100*len(t.used) { // weights matter little
		idle = 1
	}
	for n := 0; n < mostRungs+1 && n <= max(best, 1)+idle; n++ { // 0 is the constant
		began := time.Now()
		p.Update(float64(n)/(mostRungs+1), "rung %d", n)
		if n == 1 {
			lambdas = kit.Ratios(t.Lo, t.Hi, 13)
		} else if n > 1 {
			lambda, share := t.results[n-1].Lambda, t.trainingShare()
			lambdas = kit.Ratios(max(lambda/30, t.Lo), lambda*30, 9)
			if err := cmp.Or(all.fit(lambda*share), all.reweigh(), kit.Parallel(len(folds), func(i int) error {
				return cmp.Or(folds[i].fit(lambda), folds[i].reweigh())
			})); err != nil {
				return err
			}
		}
		r := &result{Name: rungName(n), Rung: n}
		list, err := t.try(ctx, r, folds, all, lambdas)
		if err != nil {
			return err
		}
		r.take(list, t.Seed, t.kin)
		for n == 1 && t.open && t.Lo > leastWeight {
			if d, _ := difference(list[1].losses, list[0].losses); r.Lambda > t.Lo || d < idleGain*r.Error || !t.regression() && r.HeldOut*float64(len(r.losses)) < 4 {
				break
			}
			t.Lo /= 1000
			more, err := t.try(ctx, r, folds, all, kit.Ratios(t.Lo, t.Lo*math.Sqrt(1e5), 6))
			if err != nil { // g_yy is singular
				t.Lo *= 1000
				for _, f := range append(folds, fold{climber: all}) {
					clear(f.u)
				}
				break
			}
			list = append(more, list...)
			r.take(list, t.Seed, t.kin)
		}
		r.seconds = time.Since(began)
		t.results, t.candidates = append(t.results, r), append(t.candidates, list...)
		if d, _ := difference(t.results[best].losses, r.losses); d > float64(b2i(idle == 1))*idleGain*r.Error {
			best = n
		}
	}
	return nil
}

// take makes the candidate of least loss the result, judged by what bag picks of them.
func (r *result) take(list []candidate, seed uint64, kin []int) {
	total := make([]float64, len(list))
	for k, c := range list {
		total[k], _ = meanOf(c.losses)
	}
	c := list[least(total)]
	r.Lambda, r.weights, r.y = c.lambda, c.weights, c.y
	_, r.losses = bag(list, seed, 0)
	r.HeldOut, r.Error = meanOf(r.losses, kin...)
}

func rungName(n int) string {
	return []string{"no features", "one weight for all", "ladder, rung " + fmt.Sprint(n)}[min(n, 2)]
}

func (t *search) try(ctx context.Context, r *result, folds []fold, all *climber, lambdas []float64) (list []candidate, err error) {
	rows, each := 0, append([]fold{{climber: all}}, folds...)
	for _, f := range folds {
		rows += len(f.rows)
	}
	for _, lambda := range lambdas {
		list = append(list, candidate{of: r, lambda: lambda, losses: make([]float64, rows/t.repeats)})
	}
	held, mean := make([][]float64, len(folds)), make([]float64, len(list))
	for j := len(lambdas) - 1; j >= 0; j-- {
		err = kit.Parallel(len(each), func(i int) error {
			c, share := each[i], either(i > 0, 1, t.trainingShare())
			err := cmp.Or(context.Cause(ctx), c.fit(lambdas[j]*share))
			if err == nil && i == 0 {
				list[j].weights, list[j].y = slices.Clone(c.weights), slices.Clone(c.y)
			} else if err == nil {
				held[i-1] = t.lossesOf(c.held, c.y)
			}
			return err
		})
		for i, losses := range held {
			for k, l := range losses {
				list[j].losses[folds[i].rows[k]] += l / float64(t.repeats)
			}
		}
		mean[j], _ = meanOf(list[j].losses)
		if d, e := difference(list[j].losses, list[j+least(mean[j:])].losses); err != nil || d > tooFar*e {
			return list[j:], err
		}
	}
	return list, nil
}

func least(values []float64) int { return slices.Index(values, slices.Min(values)) }

const resamples = 100

// candidate is a model of the design rows, with the losses of held-out rows by such models not trained on them.
type candidate struct {
	of                 *result
	lambda             float64
	losses, weights, y []float64
}

// bag picks a candidate on each of many resamples, drawn with replacement, of the held-out rows: bagging of
// the choice (Breiman, Machine Learning 24, 1996; Efron, J. Am. Stat. Assoc. 109, 2014). It is the best of
// the first result whose best is within margin standard errors of the least loss, for a constant at most
// half of one. A row is judged by the picks of the resamples without it.
func bag(list []candidate, seed uint64, margin float64) (picked [resamples]*candidate, losses []float64) {
	n := len(list[0].losses)
	counts, without, total := make([]float64, n), make([]float64, n), make([]float64, len(list))
	losses = make([]float64, n)
	for b := range picked {
		clear(counts)
		rng := rand.New(rand.NewPCG(seed, uint64(b)))
		for range n {
			counts[rng.IntN(n)]++
		}
		for k, c := range list {
			total[k] = mat.Dot(counts, c.losses)
		}
		best := least(total)
		for m, from, to := min(0.5, margin), 0, 0; picked[b] == nil; m, from = margin, to {
			for to < len(list) && list[to].of == list[from].of {
				to++
			}
			k := from + least(total[from:to])
			if _, e := difference(list[k].losses, list[best].losses); total[k]-total[best] <= m*e*float64(n) {
				picked[b] = &list[k]
			}
		}
		for i, count := range counts {
			if count == 0 {
				losses[i] += picked[b].losses[i]
				without[i]++
			}
		}
	}
	for i := range losses {
		if losses[i] /= without[i]; without[i] == 0 { // of a single row
			losses[i] = picked[0].losses[i]
		}
	}
	return picked, losses
}

// average returns the mean of the models that bag picks. It is judged by the mean of their losses: no
// less than the loss of their mean. Its weights are inverses of mean inverses.
func (t *search) average() *result {
	margin := 0.5
	if !t.folded() { // the held-out losses leave out the chance in the training rows
		margin = 2
	}
	picked, losses := bag(t.candidates, t.Seed, margin)
	mean := &result{Name: "average", losses: losses, y: make([]float64, len(picked[0].y)),
		weights: make([]float64, len(picked[0].weights))}
	used := make([]int, len(mean.weights))
	for _, c := range picked {
		c.of.Share += 1. / resamples
		mat.Axpy(mean.y, 1./resamples, c.y)
		for j, w := range c.weights {
			if w != dropped {
				mean.weights[j] += 1 / w
				used[j]++
			}
		}
	}
	for j, v := range mean.weights {
		if mean.weights[j] = resamples / v; used[j] < resamples/2 {
			mean.weights[j] = dropped
			for at := j; at < len(mean.y); at += t.design.Dim {
				mean.y[at] = 0
			}
		}
	}
	mean.HeldOut, mean.Error = meanOf(mean.losses, t.kin...)
	return mean
}
