package tune

import (
	"math/rand/v2"

	"stable/mat"
)

const resamples = 100

// candidate is a model of the design rows, with the losses of the held-out rows by models of its kind
// that were not trained on them.
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
	counts, total := make([]float64, n), make([]float64, len(list))
	losses = make([]float64, n)
	without := make([]float64, n)
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
// less than the loss of their mean. Its weights are inverses of mean inverses: of the variances that a
// coefficient has before the data.
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
		for j, v := range c.y {
			mean.y[j] += v / resamples
		}
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
	mean.HeldOut, mean.Error = meanOf(mean.losses)
	return mean
}
