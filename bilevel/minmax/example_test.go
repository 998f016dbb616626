package minmax_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/minmax"
	"stable/bilevel/saa"
	"stable/mat"
)

// hedge is s(x, y; ζ) = ½x² + y(x − ζ) − ½y², with ζ one of 1, 2, 4, 5: F(x) = ½x² + ½(x − 3)² is least at
// x = 3/2.
type hedge struct{}

func (hedge) Dims() (dx, dy int) { return 1, 1 }
func (hedge) Stream() uint64     { return 4 }

func (hedge) mean(zeta []bilevel.Sample) (mean float64) {
	for name, w := range bilevel.Each(zeta, 4) {
		mean += w * []float64{1, 2, 4, 5}[name]
	}
	return mean
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
	s := bileveltest.Must(bilevel.New(minmax.Adapt(hedge{}), saa.Newton{}, bilevel.Options{}))
	r, err := s.Run(context.Background(), bilevel.Run{Steps: 20000})
	fmt.Printf("x = %.1f, y = %.1f, %v\n", r.X[0], r.Y[0], err)
	// Output: x = 1.5, y = -1.5, <nil>
}
