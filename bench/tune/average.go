package tune

import (
	"math/rand/v2"
	"slices"

	"stable/mat"
)

const (
	resamples  = 100
	leastShare = 0.05
)

// candidate is a model of the design rows, with the losses of the held-out rows by models of its kind
// that were not trained on them.
type candidate struct {
	lambda             float64
	losses, weights, y []float64
}

// draw counts how often a resample of the held-out rows has each: so many are drawn, with replacement.
func draw(counts []float64, seed uint64, resample int) {
	clear(counts)
	rng := rand.New(rand.NewPCG(seed, uint64(resample)))
	for range counts {
		counts[rng.IntN(len(counts))]++
	}
}

func (r *result) entry(resample int) *candidate { return &r.entries[r.winners[resample]] }

// enter makes candidates of the weights that are best on a resample, and of the best on all rows, which
// is the first.
func (r *result) enter(seed uint64, lambdas []float64, loss [][]float64) {
	counts, at := make([]float64, len(loss[0])), map[float64]int{}
	add := func(j int) int {
		k, known := at[lambdas[j]]
		if !known {
			k, at[lambdas[j]] = len(r.entries), len(r.entries)
			r.entries = append(r.entries, candidate{lambda: lambdas[j], losses: loss[j]})
		}
		return k
	}
	add(slices.Index(lambdas, r.Lambda))
	total := make([]float64, len(lambdas))
	for b := range r.winners {
		draw(counts, seed, b)
		for j := range lambdas {
			total[j] = mat.Dot(counts, loss[j])
		}
		r.winners[b] = add(least(total))
	}
}

// average returns the mean of the models that are chosen on resamples of the held-out rows, each the
// simplest within margin standard errors of the least loss there: bagging of the choice (Breiman, Machine
// Learning 24, 1996; Efron, J. Am. Stat. Assoc. 109, 2014). A row is judged by the choices of the
// resamples without it, and has the mean of their losses: no less than the loss of their mean. The
// weights are inverses of mean inverses: of the variances that a coefficient has before the data.
func (t *search) average() *result {
	results := slices.DeleteFunc(slices.Clone(t.results), func(r *result) bool { return r.Cleaned })
	var picked [resamples]*result
	counts, total := make([]float64, len(results[0].losses)), make([]float64, len(results))
	for b := range picked {
		draw(counts, t.Seed, b)
		for k, r := range results {
			total[k] = mat.Dot(counts, r.entry(b).losses)
		}
		best := least(total)
		for k, r := range results {
			_, e := difference(r.entry(b).losses, results[best].entry(b).losses)
			if total[k]-total[best] <= t.margin(k)*e*float64(len(counts)) {
				picked[b] = r
				r.Share += 1. / resamples
				break
			}
		}
	}
	first := results[0].entries[0]
	mean := &result{Name: "average", losses: make([]float64, len(counts)), y: make([]float64, len(first.y)),
		weights: make([]float64, len(first.weights))}
	without, used, kept := make([]float64, len(counts)), make([]float64, len(mean.weights)), 0.0
	for b, r := range picked {
		e := r.entry(b)
		draw(counts, t.Seed, b)
		for i, count := range counts {
			if count == 0 {
				mean.losses[i] += e.losses[i]
				without[i]++
			}
		}
		if r.Share < leastShare {
			continue
		}
		kept++
		for j, v := range e.y {
			mean.y[j] += (v - mean.y[j]) / kept
		}
		for j, w := range e.weights {
			if w != dropped {
				mean.weights[j] += 1 / w
				used[j]++
			}
		}
	}
	for i, n := range without {
		mean.losses[i] /= n
	}
	for j, v := range mean.weights {
		if mean.weights[j] = kept / v; used[j] < kept/2 {
			mean.weights[j] = dropped
			for at := j; at < len(mean.y); at += t.design.Dim {
				mean.y[at] = 0
			}
		}
	}
	mean.HeldOut, mean.Error = meanOf(mean.losses)
	return mean
}
