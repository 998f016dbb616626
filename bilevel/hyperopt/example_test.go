package hyperopt_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
)

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
	parts, err := d.Split(1, 1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := hyperopt.New(parts[0], parts[1], hyperopt.Options{Loss: hyperopt.Squared})
	if err != nil {
		fmt.Println(err)
		return
	}
	lo, hi := p.Box()
	s, err := bilevel.New(p, bilevel.STABLE{MuG: p.StrongConvexity()},
		bilevel.Options{Set: bilevel.Box{Lo: lo, Hi: hi}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 20000})
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := implicit.Minimise(p.Objective, r.X, implicit.Options{Lo: lo, Hi: hi})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := p.Objective(nil, r.X)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f of at least %.2f, weights %.1f\n", f, best.F, r.X)
	// Output: 0.49 of at least 0.49, weights [0.0 0.0 1.0 0.1]
}
