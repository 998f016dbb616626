package quadratic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
)

// A method is measured against a known solution.
func Example() {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 4, Dy: 6, Seed: 7, SigmaGy: 0.1, SigmaFy: 0.1}))
	_, best := p.Optimum()
	s := bileveltest.Must(bilevel.New(p, saa.Newton{}, bilevel.Options{}))
	start := bileveltest.Must(p.Objective(nil, s.X())) - best
	bileveltest.Must(s.Run(context.Background(), bilevel.Run{Steps: 5000}))
	fmt.Println(s)
	fmt.Println("F − F* below a thousandth of the start's:", bileveltest.Must(p.Objective(nil, s.X()))-best < start/1000)
	// Output:
	// SAA-Newton at step 5000, after 5000 samples of ξ and 5000 of φ
	// F − F* below a thousandth of the start's: true
}

func TestVariantsPassTheChecks(t *testing.T) {
	for name, o := range quadratic.Variants() {
		t.Run(name, func(t *testing.T) {
			r := bileveltest.Must(check.Problem(bileveltest.Must(quadratic.New(o)), check.Options{Points: 1, MuG: 1, Samples: 4000}))
			require.NoError(t, r.Err(), r)
			var passed []string
			for _, p := range r.Passed {
				passed = append(passed, p.Check+" "+p.Oracle)
			}
			assert.Subset(t, passed, []string{"same draw GradXG", "batch mean HessG", "unbiased ValueG", "derivative GradXG",
				"derivative CrossG", "product HessVecG", "product CrossVecG", "truth Objective"})
		})
	}
}
