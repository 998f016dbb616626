package kit

import (
	"math"
	"math/rand/v2"

	"stable/bilevel/hyperopt"
	"stable/bilevel/implicit"
)

// ManyRows is the number of training rows from which commands compute fewer exact values.
const ManyRows, manyFeatures = 5000, 150

// LeastF returns the least minimum of F from the given points, from uniform weights, and, where rows
// are few, from random points: F need not be convex. With many features the given points, if any,
// are all.
func LeastF(p *hyperopt.Problem, from ...[]float64) (best *implicit.Minimum, err error) {
	lo, hi := p.Box()
	rng := rand.New(rand.NewPCG(0, 'F'))
	if p.Train().Dim <= manyFeatures || len(from) == 0 {
		for _, share := range []float64{0, 0.3, 0.6, 1} {
			from = append(from, within(lo, hi, func() float64 { return share }))
			if lo[0] > 0 { // raw weights: in their logarithms, too
				share = (math.Pow(hi[0]/lo[0], share) - 1) / (hi[0]/lo[0] - 1)
				from = append(from, within(lo, hi, func() float64 { return share }))
			}
		}
		if p.Train().Rows() <= ManyRows {
			for range 24 {
				from = append(from, within(lo, hi, rng.Float64))
			}
		}
	}
	y := make([]float64, p.Train().Dim)
	for _, x := range from {
		m, err := implicit.Minimise(func(grad, x []float64) (float64, error) {
			return p.ObjectiveFrom(grad, y, x)
		}, x, implicit.Options{Lo: lo, Hi: hi})
		if err != nil {
			return nil, err
		}
		if best == nil || m.F < best.F {
			best = m
		}
	}
	return best, nil
}

func within(lo, hi []float64, share func() float64) []float64 {
	x := make([]float64, len(lo))
	for i := range x {
		x[i] = lo[i] + share()*(hi[i]-lo[i])
	}
	return x
}
