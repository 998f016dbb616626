package compose_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/mat"
)

// A portfolio of two assets from four scenarios of their returns, by STABLE.
func ExampleAdapt() {
	returns := mat.DenseOf(4, 2, []float64{
		0.9, 0.2,
		-0.5, 0.1,
		0.4, -0.3,
		-0.4, 0.4,
	})
	m, err := compose.NewMeanVariance(returns, 1)
	if err != nil {
		panic(err)
	}
	s, err := bilevel.New(compose.Adapt(m),
		bilevel.STABLE{MuG: 1, Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5)},
		bilevel.Options{Set: bilevel.Simplex{}, LowerBatch: bilevel.Full})
	if err != nil {
		panic(err)
	}
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 500})
	if err != nil {
		panic(err)
	}
	fmt.Printf("weights %.3f, mean return %.3f\n", r.X, r.Y[0])
	// Output: weights [0.227 0.773], mean return 0.100
}
