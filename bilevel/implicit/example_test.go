package implicit_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
)

func ExampleTruth() {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 0.1, SigmaGy: 0.1, SigmaGyy: 0.3})
	if err != nil {
		panic(err)
	}
	_, best := p.Optimum()
	s, err := bilevel.New(p, bilevel.STABLE{MuG: 1}, bilevel.Options{Seed: 1})
	if err != nil {
		panic(err)
	}
	truth := implicit.NewTruth(p)
	_, err = s.Run(context.Background(), bilevel.Run{Steps: 300, Every: 100, Progress: func(s *bilevel.Solver) bool {
		f, err := truth.Objective(nil, s.X())
		fmt.Printf("%d: F − F* = %.0e\n", s.K(), f-best)
		return err == nil
	}})
	if err != nil {
		panic(err)
	}
	// Output:
	// 100: F − F* = 4e-04
	// 200: F − F* = 1e-04
	// 300: F − F* = 2e-05
}
