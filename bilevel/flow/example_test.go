package flow_test

import (
	"fmt"

	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
)

// At half of Theorem 1's bound on α/β, V falls to F*.
func Example() {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 3, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	most, err := flow.MaxAlpha(p.Constants(3), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := flow.New(p, flow.Options{Alpha: most / 2, Beta: 1, H: 0.2})
	if err != nil {
		fmt.Println(err)
		return
	}
	start, _ := f.Lyapunov()
	for f.T() < 200 {
		if err := f.Step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, least := p.Optimum()
	v, _ := f.Lyapunov()
	fmt.Printf("t = %.0f, a millionth of V − F* left: %t\n", f.T(), v-least < (start-least)/1e6)
	// Output: t = 200, a millionth of V − F* left: true
}
