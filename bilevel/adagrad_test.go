package bilevel

import (
	"math"
	"math/rand/v2"
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
			s, err := New(newWavy(0.3), STABLE{MuG: 0.3, Plain: true}, Options{Set: c.set, Seed: 1})
			require.NoError(t, err)
			r := s.stepper.(*stable)
			var h2 [3][]float64 // of every step so far
			var y2 []float64
			for k := range 50 {
				x, y := append([]float64(nil), s.X()...), append([]float64(nil), s.Y()...)
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

// cubicMean is the mean of v with weights (j+1)(j+2)(j+3).
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

// An entry whose derivative has always been zero does not move, and all-zero derivatives move
// nothing.
func TestAdagradZero(t *testing.T) {
	for _, set := range []Set{UniformBox(2, -1, 1), onlyEuclid{UniformBox(2, -1, 1)}} {
		a := newAdagrad(set, 2, 0.1)
		next := make([]float64, 2)
		a.move(next, []float64{0.5, 0.25}, []float64{0, 0})
		assert.Equal(t, []float64{0.5, 0.25}, next)
		a.move(next, []float64{0.5, 0.25}, []float64{3, 0})
		assert.Less(t, next[0], 0.5)
		assert.Equal(t, 0.25, next[1])
	}
}

// Such an entry has the weight 1/c_i where the projection moves it. The step size that is returned
// makes ‖Δ‖ over it the norm of the gradient mapping.
func TestAdagradZeroWeight(t *testing.T) {
	a := newAdagrad(HalfSpace{A: []float64{1, 1}}, 2, 0.1)
	next := make([]float64, 2)
	step := a.move(next, []float64{0, 0}, []float64{-3, 0}) // to (0.1, 0), with the weights 30 and 10
	assert.InDeltaSlice(t, []float64{0.075, -0.075}, next, 1e-15)
	assert.InEpsilon(t, math.Hypot(30*0.075, 10*0.075), math.Hypot(0.075, 0.075)/step, 1e-14)
}

func TestWidth(t *testing.T) {
	inf := math.Inf(1)
	box := Box{[]float64{-1, -inf, 2, 0}, []float64{4, 0, 2, inf}}
	for i, want := range []float64{5, 1, 1, 1} {
		assert.Equal(t, want, Width(box, i), "entry %d of the box", i)
	}
	for _, c := range []struct {
		set  Set
		want float64
	}{{Ball{Radius: 3}, 6}, {Ball{}, 1}, {Simplex{5}, 5}, {Simplex{}, 1}, {Space{}, 1}, {NonNegative{},
		1}, {HalfSpace{[]float64{2}, 3}, 1}} {
		assert.Equal(t, c.want, Width(c.set, 0), "%T", c.set)
	}
}

// A projection in a diagonal metric is feasible, idempotent and nearest in that metric: Σ w_i (x_i
// − p_i)(z_i − p_i) ≤ 0 for every feasible z.
func TestSetsProjectMetric(t *testing.T) {
	for _, d := range []int{1, 2, 5, 30} {
		for name, c := range setCases(d) {
			set, ok := c.set.(MetricSet)
			if !ok {
				continue
			}
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(6, uint64(d)))
				x, p, again, z, w := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64,
					d), make([]float64, d)
				for range 200 {
					scale := math.Pow(10, 4*rng.Float64()-2)
					for i := range x {
						x[i], w[i] = scale*rng.NormFloat64(), math.Exp(3*rng.NormFloat64())
					}
					set.ProjectMetric(p, x, w)
					tol := 1e-12 * (1 + mat.Norm(x))
					require.True(t, c.inside(p, tol), "not feasible: %v", p)
					set.ProjectMetric(again, p, w)
					mat.Axpy(again, -1, p)
					require.LessOrEqual(t, mat.Norm(again), tol, "not idempotent")
					c.sample(rng, z)
					var inner, size float64
					for i := range x {
						inner += w[i] * (x[i] - p[i]) * (z[i] - p[i])
						size += w[i] * math.Abs(x[i]-p[i]) * (math.Abs(z[i]) + math.Abs(p[i]))
					}
					require.LessOrEqual(t, inner, 1e-11*(1+size), "not nearest")
					for i := range w {
						w[i] = 2
					}
					set.ProjectMetric(again, x, w)
					set.Project(p, x)
					mat.Axpy(again, -1, p)
					require.LessOrEqual(t, mat.Norm(again), tol, "equal weights differ from the Euclidean projection")
				}
				assert.Zero(t, testing.AllocsPerRun(10, func() { set.ProjectMetric(p, x, w) }))
			})
		}
	}
}
