package compose_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
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
	m := bileveltest.Must(compose.NewMeanVariance(returns, 1))
	s := bileveltest.Must(bilevel.New(compose.Adapt(m),
		bilevel.STABLE{MuG: 1, Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5)},
		bilevel.Options{Set: bilevel.Simplex{}, LowerBatch: bilevel.Full}))
	r := bileveltest.Must(s.Run(context.Background(), bilevel.Run{Steps: 500}))
	fmt.Printf("weights %.3f, mean return %.3f\n", r.X, r.Y[0])
	// Output: weights [0.227 0.773], mean return 0.100
}
