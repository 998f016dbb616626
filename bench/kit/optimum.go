package kit

import (
	"math/rand/v2"

	"stable/bilevel/hyperopt"
)

// ManyRows is the number of training rows from which commands compute fewer exact values.
const ManyRows, manyFeatures = 5000, 150

// LeastF returns the least minimum of F from the given points, the four of Minimise and, where rows
// are few, eight random points: the best claim to F*, since F need not be convex. With many
// features it starts from the given points alone, if any.
func LeastF(p *hyperopt.Problem, from ...[]float64) (*hyperopt.Minimum, error) {
	if p.Train().Dim > manyFeatures && len(from) > 0 {
		return p.Minimise(from...)
	}
	best, err := p.Minimise()
	if err != nil {
		return nil, err
	}
	if p.Train().Rows() <= ManyRows {
		lo, hi := p.Box()
		rng := rand.New(rand.NewPCG(0, 'F'))
		for range 8 {
			x := make([]float64, len(lo))
			for i := range x {
				x[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
			}
			from = append(from, x)
		}
	}
	if len(from) == 0 {
		return best, nil
	}
	m, err := p.Minimise(from...)
	if err != nil || best.F <= m.F {
		return best, err
	}
	return m, nil
}
