package flow_test

import (
	"fmt"

	"stable/bilevel/bileveltest"
	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
)

// At half of Theorem 1's bound on α/β, V falls to F*.
func Example() {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 3, Seed: 1}))
	most := bileveltest.Must(flow.MaxAlpha(p.Constants(3), 1))
	f := bileveltest.Must(flow.New(p, flow.Options{Alpha: most / 2, Beta: 1, H: 0.2}))
	start := bileveltest.Must(f.Lyapunov())
	for f.T() < 200 {
		bileveltest.Must(0, f.Step())
	}
	_, least := p.Optimum()
	fmt.Printf("t = %.0f, a millionth of V − F* left: %t\n", f.T(), bileveltest.Must(f.Lyapunov())-least < (start-least)/1e6)
	// Output: t = 200, a millionth of V − F* left: true
}
