package quadratic_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
)

// A problem with a known solution: a method of one's own is measured against the truth.
func Example() {
	p, err := quadratic.New(quadratic.Options{Dx: 4, Dy: 6, Seed: 7, SigmaGy: 0.1, SigmaFy: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, best := p.Optimum()
	gap := func(x []float64) float64 {
		f, err := p.Objective(nil, x)
		if err != nil {
			fmt.Println(err)
		}
		return f - best
	}
	s, err := bilevel.New(p, saa.Newton{}, bilevel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := gap(s.X())
	if _, err := s.Run(context.Background(), bilevel.Run{Steps: 5000}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	fmt.Println("F − F* below a thousandth of the start's:", gap(s.X()) < start/1000)
	// Output:
	// SAA-Newton at step 5000, after 5000 samples of ξ and 5000 of φ
	// F − F* below a thousandth of the start's: true
}
