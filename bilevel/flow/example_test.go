package flow_test

import (
	"fmt"

	"stable/bilevel/flow"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// At half of Theorem 1's bound on α/β, the distance to the solution falls.
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
	star, _ := p.Optimum()
	away := func() float64 {
		d := append([]float64(nil), f.X()...)
		mat.Axpy(d, -1, star)
		return mat.Norm(d)
	}
	start := away()
	for f.T() < 200 {
		if err := f.Step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("t = %.0f, a thousandth of the way left: %t\n", f.T(), away() < start/1000)
	// Output: t = 200, a thousandth of the way left: true
}
