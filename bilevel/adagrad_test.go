package bilevel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// The default steps of STABLE against their formulas, on a box and on a set that has no metric
// projection.
func TestSTABLEDefaultSteps(t *testing.T) {
	box := Box{[]float64{-1, 0, 0}, []float64{1, 0.5, math.Inf(1)}}
	for name, c := range map[string]struct {
		set   Set
		width []float64
	}{
		"box":    {box, []float64{2, 0.5, 1}},
		"euclid": {onlyEuclid{box}, []float64{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(t, newWavy(0.3), STABLE{MuG: 0.3, Plain: true}, Options{Set: c.set, Seed: 1})
			r := s.stepper.(*stable)
			var h2 [3][]float64 // of every step so far
			var y2 []float64
			for k := range 50 {
				x, y := slices.Clone(s.X()), slices.Clone(s.Y())
				require.NoError(t, s.Step())
				y2 = append(y2, mat.Dot(r.gy, r.gy))
				steps := math.Sqrt(float64(k) + 1)
				all := 0.0
				for i, h := range r.h {
					h2[i] = append(h2[i], h*h)
					all += cubicMean(h2[i]) / 3
				}
				least, most := math.Inf(1), 0.0
				for i, h := range r.h {
					step := 0.1 * c.width[i] / (steps * math.Sqrt(cubicMean(h2[i])))
					if name == "euclid" {
						step = 0.1 * c.width[i] / (steps * math.Sqrt(all))
					}
					least, most = min(least, step), max(most, step)
					v := x[i] - step*h
					assert.InDelta(t, min(max(v, box.Lo[i]), box.Hi[i]), s.X()[i], 1e-13)
				}
				beta := 0.5 / (steps * math.Sqrt(cubicMean(y2)))
				assert.InEpsilon(t, beta, s.it.beta, 1e-12)
				assert.InDelta(t, (least+most)/2, s.it.alpha, (most-least)/2+1e-12*most)
				for j, g := range r.gy {
					assert.InDelta(t, y[j]-beta*g-r.drift[j], s.Y()[j], 1e-13)
				}
			}
		})
	}
}

// cubicMean has weights (j+1)(j+2)(j+3).
func cubicMean(v []float64) float64 {
	var sum, weights float64
	for j, x := range v {
		w := float64(j+1) * float64(j+2) * float64(j+3)
		sum += w * x
		weights += w
	}
	return sum / weights
}

// onlyEuclid hides the metric projection of a box, and its width.
type onlyEuclid struct{ box Box }

func (o onlyEuclid) Project(dst, x []float64) { o.box.Project(dst, x) }
func (o onlyEuclid) Validate(d int) error     { return o.box.Validate(d) }

// An entry whose derivative has always been 0 does not move of itself, and has the weight 1/c_i where
// the projection moves it. The step size that is returned makes ‖Δ‖ over it the norm of the gradient
// mapping.
func TestAdagradZero(t *testing.T) {
	next, x := make([]float64, 2), []float64{0.5, 0.25}
	for _, set := range []Set{UniformBox(2, -1, 1), onlyEuclid{UniformBox(2, -1, 1)}} {
		a := newAdagrad(set, 2, 0.1)
		a.move(next, x, []float64{0, 0})
		assert.Equal(t, x, next)
		a.move(next, x, []float64{3, 0})
		assert.Less(t, next[0], 0.5)
		assert.Equal(t, 0.25, next[1])
	}
	a := newAdagrad(HalfSpace{A: []float64{1, 1}}, 2, 0.1)
	step := a.move(next, []float64{0, 0}, []float64{-3, 0}) // to (0.1, 0), with the weights 30 and 10
	assert.InDeltaSlice(t, []float64{0.075, -0.075}, next, 1e-15)
	assert.InEpsilon(t, math.Hypot(30*0.075, 10*0.075), math.Hypot(0.075, 0.075)/step, 1e-14)
}
