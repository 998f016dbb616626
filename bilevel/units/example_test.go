package units_test

import (
	"fmt"

	"stable/bilevel/bileveltest"
	"stable/bilevel/quadratic"
	"stable/bilevel/units"
)

// Someone has written x in micrometres and y in kilometres.
func ExampleIn() {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 2, Dy: 3, Seed: 1}))
	s := bileveltest.Must(units.In(p, units.Units{X: []float64{1e6, 1e6}, Y: []float64{1e-3, 1e-3, 1e-3}}))
	x, best := p.Optimum()
	s.X(x, x)
	f, err := s.Objective(nil, x)
	fmt.Printf("%.6f %v\n", f-best, err)
	// Output: 0.000000 <nil>
}
