package hyperopt

import (
	"errors"
	"fmt"
	"math"
)

// GridPoint is the model of one weight for all features.
type GridPoint struct {
	Lambda float64   // the weight: reg_i = Lambda
	Loss   float64   // F: its validation loss
	Y      []float64 // the model
}

// GridSearch trains one model for each weight > 0 of all features, in or outside the box, and
// returns them in order. Errors: those of Objective; a weight out of range.
func (p *Problem) GridSearch(lambdas []float64) ([]GridPoint, error) {
	points := make([]GridPoint, len(lambdas))
	if p.of == nil {
		return nil, errors.New("hyperopt: GridSearch: x weighs rows, not features")
	}
	x, y := make([]float64, p.dx), make([]float64, p.train.Dim)
	for k, lambda := range lambdas {
		if !(lambda > 0) || math.IsInf(lambda, 1) {
			return nil, fmt.Errorf("hyperopt: GridSearch: weight %d is %v, want a positive number", k, lambda)
		}
		p.Uniform(x, lambda)
		f, err := p.ObjectiveFrom(nil, y, x)
		if err != nil {
			return nil, err
		}
		points[k] = GridPoint{Lambda: lambda, Loss: f, Y: append([]float64(nil), y...)}
	}
	return points, nil
}

// Best returns the index of the least loss, the first of equals; −1 if there is none.
func Best(points []GridPoint) int {
	best := -1
	for k, g := range points {
		if best < 0 || g.Loss < points[best].Loss {
			best = k
		}
	}
	return best
}

// Geometric returns n numbers from lo to hi with equal ratios, both ends exact; nil if n < 1.
func Geometric(lo, hi float64, n int) []float64 {
	if n < 1 {
		return nil
	}
	s := make([]float64, n)
	for k := range s {
		t := float64(k) / float64(max(n-1, 1))
		s[k] = math.Exp((1-t)*math.Log(lo) + t*math.Log(hi))
	}
	s[0] = lo
	if n > 1 {
		s[n-1] = hi
	}
	return s
}
