package implicit_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
)

func ExampleTruth() {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 0.1, SigmaGy: 0.1, SigmaGyy: 0.3}))
	_, best := p.Optimum()
	s := bileveltest.Must(bilevel.New(p, bilevel.STABLE{MuG: 1}, bilevel.Options{Seed: 1}))
	truth := implicit.NewTruth(p)
	progress := func(s *bilevel.Solver) bool {
		f, err := truth.Objective(nil, s.X())
		fmt.Printf("%d: F − F* = %.0e\n", s.K(), f-best)
		return err == nil
	}
	bileveltest.Must(s.Run(context.Background(), bilevel.Run{Steps: 300, Every: 100, Progress: progress}))
	// Output:
	// 100: F − F* = 4e-04
	// 200: F − F* = 1e-04
	// 300: F − F* = 2e-05
}
