package stream

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/bilevel/units"
	"stable/mat"
)

// Simulators without means have no exact oracles.
func TestErrorsComeThrough(t *testing.T) {
	loss := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Add(y).Square().Sum() }
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, F: loss, G: loss}))
	v, gxy, gyy := []float64{1}, mat.NewDense(1, 1), mat.NewSym(1)
	for _, w := range []*bilevel.Completed{bilevel.Complete(Of(p)), bilevel.Complete(bileveltest.Must(units.In(p, units.Units{})))} {
		_, f := w.ValueF(v, v, nil)
		_, g := w.ValueG(v, v, nil)
		for k, err := range []error{f, g, w.GradF(v, v, v, v, nil), w.GradG(v, v, v, nil), w.GradXG(v, v, v, nil),
			w.CrossG(gxy, v, v, nil), w.HessG(gyy, v, v, nil), w.HessVecG(v, v, v, v, nil), w.CrossVecG(v, v, v, v, nil)} {
			assert.ErrorIs(t, err, bilevel.ErrNoExact, "%T, oracle %d", w.Problem, k)
		}
	}
}

// The samples are the terms of the sum, each as often: derivatives agree, and the limit is the sum's.
func TestOf(t *testing.T) {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, Terms: 12,
		SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}))
	s := Of(p)
	upper, lower := s.Streams()
	assert.Zero(t, upper+lower)
	r := bileveltest.Must(check.Problem(s, check.Options{}))
	assert.NoError(t, r.Err(), "%v", r)

	best, _ := p.Optimum()
	want := bileveltest.Must(observe.LocalLimit(p, best, observe.LimitOptions{}))
	got := bileveltest.Must(observe.LocalLimit(s, best, observe.LimitOptions{Draws: 4000}))
	assert.InDelta(t, want.Xi+want.Phi, got.Xi+got.Phi, 4*got.StdErr)

	var buf []bilevel.Sample
	names, count := []bilevel.Sample{7, 1 << 60}, [12]int{}
	assert.Equal(t, names, terms(&buf, names, 0), "a stream without end stays as it is")
	for n := range bilevel.Sample(12000) {
		count[terms(&buf, []bilevel.Sample{n}, 12)[0]]++
	}
	for _, c := range count {
		assert.InDelta(t, 1000, c, 5*math.Sqrt(1000))
	}
}
