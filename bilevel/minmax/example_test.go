package minmax_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/minmax"
	"stable/bilevel/saa"
	"stable/mat"
)

// hedge is s(x, y; ζ) = ½x² + y(x − ζ) − ½y², with ζ ~ N(3, 1): F(x) = ½x² + ½(x − 3)² is least at
// x = 3/2.
type hedge struct{}

func (hedge) Dims() (dx, dy int) { return 1, 1 }
func (hedge) Stream() uint64     { return 0 } // a simulator

// mean is that of the draws with these names, or the expectation.
func (hedge) mean(zeta []bilevel.Sample) float64 {
	if len(zeta) == 0 {
		return 3
	}
	sum := 0.0
	for _, name := range zeta {
		sum += 3 + rand.New(rand.NewPCG(uint64(name), 0)).NormFloat64()
	}
	return sum / float64(len(zeta))
}

func (h hedge) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	return x[0]*x[0]/2 + y[0]*(x[0]-h.mean(zeta)) - y[0]*y[0]/2, nil
}

func (h hedge) Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error {
	sx[0], sy[0] = x[0]+y[0], x[0]-h.mean(zeta)-y[0]
	return nil
}

func (hedge) Cross(sxy *mat.Dense, _, _ []float64, _ []bilevel.Sample) error {
	sxy.Set(0, 0, 1)
	return nil
}

func (hedge) Hess(syy *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	syy.Set(0, 0, -1)
	return nil
}

func ExampleAdapt() {
	p := minmax.Adapt(hedge{})
	s, err := bilevel.New(p, saa.Newton{}, bilevel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 20000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("x = %.1f, y = %.1f\n", r.X[0], r.Y[0])
	// Output: x = 1.5, y = -1.5
}
