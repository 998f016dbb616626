package bilevel

import "stable/bilevel/bileveltest"

type (
	wavy   = bileveltest.Wavy[Sample]
	call   = bileveltest.Call[Sample]
	quiet  = bileveltest.Quiet[Sample]
	faulty = bileveltest.Faulty[Sample]
)

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[Sample](noise) }
