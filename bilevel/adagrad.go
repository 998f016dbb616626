package bilevel

import "math"

// adagrad keeps the step sizes c_i/√((k+1)·v_i) of step k ≥ 0, one for each entry, or one for all
// if the set has no metric projection. v_i is a running mean of g_i²: with equal weights, AdaGrad
// (Duchi, Hazan, Singer, J. Mach. Learn. Res. 12, 2011, diagonal form); here with weights of order
// j³, because the first gradients are long.
type adagrad struct {
	set    Set
	metric MetricSet // nil: one step size for all entries
	scale  []float64 // c_i
	mean   []float64 // v_i
	weight []float64 // 1/step size
	k      int
}

// newAdagrad starts with c_i = share·Width(set, i).
func newAdagrad(set Set, d int, share float64) *adagrad {
	a := &adagrad{set: set, scale: make([]float64, d), mean: make([]float64, d), weight: make([]float64, d)}
	a.metric, _ = set.(MetricSet)
	for i := range a.scale {
		a.scale[i] = share * Width(set, i)
	}
	return a
}

// move writes the projection of x − step·g into next, and returns the step size, or the MetricStep.
func (a *adagrad) move(next, x, g []float64) float64 {
	steps := float64(a.k + 1)
	weight := cubicWeight(a.k)
	for i, v := range g {
		a.mean[i] += weight * (v*v - a.mean[i])
	}
	a.k++
	if a.metric == nil {
		return a.moveEuclid(next, x, g, steps)
	}
	for i, v := range g {
		if a.mean[i] == 0 {
			next[i], a.weight[i] = x[i], 1/a.scale[i]
			continue
		}
		step := a.scale[i] / math.Sqrt(steps*a.mean[i])
		next[i], a.weight[i] = x[i]-step*v, 1/step
	}
	a.metric.ProjectMetric(next, next, a.weight)
	return MetricStep(next, x, a.weight)
}

// moveEuclid is move with one step size for all entries, from the means of c_i and v_i.
func (a *adagrad) moveEuclid(next, x, g []float64, steps float64) (step float64) {
	var scale, mean float64
	for i, v := range a.mean {
		scale += a.scale[i]
		mean += v
	}
	if d := float64(len(g)); mean > 0 {
		step = scale / d / math.Sqrt(steps*mean/d)
	}
	for i, v := range g {
		next[i] = x[i] - step*v
	}
	a.set.Project(next, next)
	return step
}
