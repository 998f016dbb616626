package observe_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
)

// How much better could a run have been?
func ExampleLocalLimit() {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 1, SigmaGyy: 1}))
	x, best := p.Optimum()
	limit := bileveltest.Must(observe.LocalLimit(p, x, observe.LimitOptions{}))
	const n, runs = 2000, 20
	mean := 0.0
	for seed := range uint64(runs) {
		s := bileveltest.Must(bilevel.New(p, bilevel.STABLE{MuG: 1}, bilevel.Options{Seed: seed}))
		r := bileveltest.Must(s.Run(context.Background(), bilevel.Run{Steps: n}))
		mean += (bileveltest.Must(p.Objective(nil, r.Mean)) - best) / runs
	}
	fmt.Println("not better than the limit allows:", mean > 0.7*limit.At(n, n))
	fmt.Println("not three times as bad:", mean < 3*limit.At(n, n))
	// Output:
	// not better than the limit allows: true
	// not three times as bad: true
}
