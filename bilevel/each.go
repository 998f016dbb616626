package bilevel

import "iter"

// Each returns the terms that a batch of a finite sum stands for, each with its weight in the mean:
// the samples of the batch, with 1/len(batch), or, where the batch is empty and so asks for the
// exact mean, all of them, 0 … terms−1, with 1/terms. It does not look whether samples are in range.
// It does not allocate.
func Each(batch []Sample, terms int) iter.Seq2[Sample, float64] {
	return func(yield func(Sample, float64) bool) {
		if len(batch) == 0 {
			for i := range terms {
				if !yield(Sample(i), 1/float64(terms)) {
					return
				}
			}
			return
		}
		for _, s := range batch {
			if !yield(s, 1/float64(len(batch))) {
				return
			}
		}
	}
}
