package flow_test

import (
	"fmt"

	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// At half of Theorem 1's bound on α/β, V falls to F*.
func Example() {
	p := must(quadratic.New(quadratic.Options{Dx: 3, Dy: 3, Seed: 1}))
	most := must(flow.MaxAlpha(p.Constants(3), 1))
	f := must(flow.New(p, flow.Options{Alpha: most / 2, Beta: 1, H: 0.2}))
	start := must(f.Lyapunov())
	for f.T() < 200 {
		if err := f.Step(); err != nil {
			panic(err)
		}
	}
	_, least := p.Optimum()
	fmt.Printf("t = %.0f, a millionth of V − F* left: %t\n", f.T(), must(f.Lyapunov())-least < (start-least)/1e6)
	// Output: t = 200, a millionth of V − F* left: true
}
