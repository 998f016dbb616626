package hyperopt_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
)

// A weight for each of four features of a regression, of which only the first two matter.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	data := &hyperopt.Data{Name: "example", Dim: 4, RowPtr: []int{0}}
	for range 200 {
		a := [4]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		for j, v := range a {
			data.Col, data.Val = append(data.Col, int32(j)), append(data.Val, v)
		}
		data.RowPtr = append(data.RowPtr, len(data.Col))
		data.Label = append(data.Label, 2*a[0]-a[1]+rng.NormFloat64())
	}
	parts, err := data.Split(1, 1, 1)
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
	s, err := bilevel.New(p, bilevel.STABLE{MuG: p.StrongConvexity()}, bilevel.Options{Set: bilevel.Box{Lo: lo, Hi: hi}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 20000})
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := p.Minimise()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := p.Objective(nil, r.X)
	fmt.Println(math.Abs(f-best.F) < 1e-3, r.X[0] < r.X[2] && r.X[1] < r.X[3], err)
	// Output: true true <nil>
}
