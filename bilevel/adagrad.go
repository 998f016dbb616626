package bilevel

import "math"

// adagrad keeps the step sizes c_i/√(Σ g_i²) of AdaGrad (Duchi, Hazan, Singer, J. Mach. Learn. Res. 12, 2011; algorithm of its equation (1), diagonal
// form): one for each entry, or, over a set that only projects in the Euclidean norm, one for all.
type adagrad struct {
	set    Set
	metric MetricSet // nil: one step size for all entries
	scale  []float64 // c_i
	sum    []float64 // Σ g_i² so far
	weight []float64 // 1/step size
}

// newAdagrad starts with c_i = share·(width of the set in direction i, or 1).
func newAdagrad(set Set, d int, share float64) *adagrad {
	a := &adagrad{set: set, scale: make([]float64, d), sum: make([]float64, d), weight: make([]float64, d)}
	a.metric, _ = set.(MetricSet)
	for i := range a.scale {
		a.scale[i] = share * width(set, i)
	}
	return a
}

// move writes the projection of x − step·g into next, and returns the mean step size.
func (a *adagrad) move(next, x, g []float64) (mean float64) {
	for i, v := range g {
		a.sum[i] += v * v
	}
	if a.metric == nil {
		var sum, scale float64
		for i, v := range a.sum {
			sum += v
			scale += a.scale[i] / float64(len(a.sum))
		}
		step := 0.0
		if sum > 0 {
			step = scale * math.Sqrt(float64(len(g))/sum)
		}
		for i, v := range g {
			next[i] = x[i] - step*v
		}
		a.set.Project(next, next)
		return step
	}
	for i, v := range g {
		if a.sum[i] == 0 { // g_i has always been 0
			next[i], a.weight[i] = x[i], 1/a.scale[i]
			continue
		}
		step := a.scale[i] / math.Sqrt(a.sum[i])
		next[i], a.weight[i] = x[i]-step*v, 1/step
		mean += step / float64(len(g))
	}
	a.metric.ProjectMetric(next, next, a.weight)
	return mean
}

// width is the extent of a set in direction i, or 1 where it has none.
func width(set Set, i int) float64 {
	w := math.Inf(1)
	switch s := set.(type) {
	case Box:
		w = s.Hi[i] - s.Lo[i]
	case Ball:
		w = 2 * s.Radius
	case Simplex:
		w = s.sum()
	}
	if w > 0 && !math.IsInf(w, 1) {
		return w
	}
	return 1
}
