package hyperopt_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &data.Data{Name: "example", Dim: 4, RowPtr: []int{0}}
	for range 200 {
		a := [4]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		for j, v := range a {
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		d.RowPtr = append(d.RowPtr, len(d.Col))
		d.Label = append(d.Label, 2*a[0]-a[1]+rng.NormFloat64())
	}
	parts := must(d.Split(1, 1, 1))
	p := must(hyperopt.New(parts[0], parts[1], hyperopt.Options{Loss: hyperopt.Squared}))
	lo, hi := p.Box()
	s := must(bilevel.New(p, bilevel.STABLE{MuG: p.StrongConvexity()}, bilevel.Options{Set: bilevel.Box{Lo: lo, Hi: hi}}))
	r := must(s.Run(context.Background(), bilevel.Run{Steps: 20000}))
	best := must(implicit.Minimise(p.Objective, r.X, implicit.Options{Lo: lo, Hi: hi}))
	fmt.Printf("%.2f of at least %.2f, weights %.1f\n", must(p.Objective(nil, r.X)), best.F, r.X)
	// Output: 0.49 of at least 0.49, weights [0.0 0.0 1.0 0.1]
}
