package method

import (
	"math"
	"testing"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
)

type (
	wavy   = bileveltest.Wavy[bilevel.Sample]
	call   = bileveltest.Call[bilevel.Sample]
	faulty = bileveltest.Faulty[bilevel.Sample]
	turn   = bileveltest.Turn
)

// late is NaN from step 4 on.
var late = turn{K: 4, V: math.NaN()}

// watcher hands out its Iteration.
type watcher struct {
	STFBO
	it **bilevel.Iteration
}

func (w watcher) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	*w.it = it
	return w.STFBO.Start(it)
}

// iteration is what a method sees at the start of a run.
func iteration(t *testing.T, p bilevel.Problem, opt bilevel.Options) (it *bilevel.Iteration) {
	start(t, p, watcher{it: &it}, opt)
	return it
}

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[bilevel.Sample](noise) }

type withProducts struct {
	*wavy
	bilevel.Products
}

func newProducts(noise float64) withProducts {
	w := newWavy(noise)
	return withProducts{w, bilevel.Complete(w)}
}

func sq(x float64) float64 { return x * x }
