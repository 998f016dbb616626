package data

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"stable/mat"
)

// Split deals the rows of d at random into parts in proportion to the fractions. Errors: a fraction
// that is not positive; an empty part. Memory: a copy of d.
func (d *Data) Split(seed uint64, fractions ...float64) ([]*Data, error) {
	return d.deal([][]int{shuffled(d.Rows(), seed)}, fractions)
}

// SplitStratified is Split class by class: each part has the classes in d's proportion, up to one
// row, ordered by class.
func (d *Data) SplitStratified(seed uint64, fractions ...float64) ([]*Data, error) {
	classes := make([][]int, max(2, len(d.Classes)))
	for _, i := range shuffled(d.Rows(), seed) {
		k := d.Label[i]
		if len(classes) == 2 {
			k = (k + 1) / 2
		}
		if !(k >= 0 && k < float64(len(classes))) || k != math.Trunc(k) {
			return nil, fmt.Errorf("data: SplitStratified: row %d has label %v: not a classification problem", i, d.Label[i])
		}
		classes[int(k)] = append(classes[int(k)], i)
	}
	return d.deal(classes, fractions)
}

func shuffled(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 0x73706c6974)).Perm(n)
}

func (d *Data) deal(lists [][]int, fractions []float64) ([]*Data, error) {
	total := 0.0
	for k, f := range fractions {
		if total += f; !(f > 0) || !mat.IsFinite(f) {
			return nil, fmt.Errorf("data: Split: fraction %d is %v, want a positive number", k, f)
		}
	}
	if len(fractions) == 0 || !mat.IsFinite(total) {
		return nil, errors.New("data: Split: no fractions, or their sum overflows")
	}
	parts, sum := make([]*Data, len(fractions)), 0.0
	for k, f := range fractions {
		var rows []int
		for _, list := range lists {
			n := float64(len(list))
			lo, hi := int(sum/total*n+0.5), int((sum+f)/total*n+0.5)
			if k == len(fractions)-1 {
				hi = len(list)
			}
			rows = append(rows, list[lo:hi]...)
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("data: Split: %d rows are too few for %d parts: part %d would be empty",
				d.Rows(), len(fractions), k)
		}
		parts[k] = d.Subset(rows)
		sum += f
	}
	return parts, nil
}
