package auto_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

// rows is data of 1000 rows, of which a share of the entries is stored.
func rows(d int, share float64) *data.Data {
	rng := rand.New(rand.NewPCG(1, 2))
	data := &data.Data{Name: "bench", Dim: d, RowPtr: []int{0}}
	for i := range 1000 {
		for j := range d {
			if rng.Float64() < share {
				data.Col = append(data.Col, int32(j))
				data.Val = append(data.Val, rng.NormFloat64())
			}
		}
		data.RowPtr = append(data.RowPtr, len(data.Col))
		data.Label = append(data.Label, float64(2*(i%2)-1))
	}
	return data
}

// tuning is the problem of hyperopt with x for weights, Σ x_i·y_i², as two losses.
func tuning(tb testing.TB, data *data.Data) *auto.Problem {
	loss := func(y auto.Vec, s bilevel.Sample) auto.Num {
		col, val := data.Row(int(s))
		if len(col) == data.Dim {
			return y.Dot(auto.Data(val)).Scale(-data.Label[s]).Softplus()
		}
		return y.DotSparse(col, val).Scale(-data.Label[s]).Softplus()
	}
	p, err := auto.New(auto.Losses{Dx: data.Dim, Dy: data.Dim, Upper: uint64(data.Rows()), Lower: uint64(data.Rows()),
		F:       func(x, y auto.Vec, s bilevel.Sample) auto.Num { return loss(y, s) },
		G:       func(x, y auto.Vec, s bilevel.Sample) auto.Num { return loss(y, s).Add(y.WeightedSquares(x)) },
		Modulus: func(x []float64) float64 { return 2 * slices.Min(x) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

type oracles interface {
	bilevel.Problem
	bilevel.Products
}

// BenchmarkAuto evaluates each oracle at one sample, recorded and by hand.
func BenchmarkAuto(b *testing.B) {
	for _, d := range []int{14, 54, 123} {
		for _, rowsOf := range []struct {
			name  string
			share float64
		}{{"dense", 1}, {"sparse", 0.1}} {
			data := rows(d, rowsOf.share)
			hand, err := hyperopt.New(data, data, hyperopt.Options{})
			if err != nil {
				b.Fatal(err)
			}
			for _, impl := range []struct {
				name string
				p    oracles
			}{{"hand", hand}, {"auto", tuning(b, data)}} {
				for _, c := range calls(impl.p, d) {
					name := fmt.Sprintf("%s/d=%d/rows=%s/impl=%s", c.name, d, rowsOf.name, impl.name)
					b.Run(name, func(b *testing.B) {
						b.ReportAllocs()
						for i := 0; b.Loop(); i++ {
							if err := c.call(bilevel.Sample(i % 1000)); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}

type call struct {
	name string
	call func(s bilevel.Sample) error
}

func calls(p oracles, d int) []call {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y, v, u, w := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range x {
		x[i], y[i], v[i] = 0.01+rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
	}
	gxy, gyy := mat.NewDense(d, d), mat.NewSym(d)
	one := make([]bilevel.Sample, 1)
	at := func(f func(phi []bilevel.Sample) error) func(bilevel.Sample) error {
		return func(s bilevel.Sample) error {
			one[0] = s
			return f(one)
		}
	}
	return []call{
		{"GradF", at(func(phi []bilevel.Sample) error { return p.GradF(u, w, x, y, phi) })},
		{"GradG", at(func(phi []bilevel.Sample) error { return p.GradG(u, x, y, phi) })},
		{"CrossG", at(func(phi []bilevel.Sample) error { return p.CrossG(gxy, x, y, phi) })},
		{"HessG", at(func(phi []bilevel.Sample) error { return p.HessG(gyy, x, y, phi) })},
		{"HessVecG", at(func(phi []bilevel.Sample) error { return p.HessVecG(u, x, y, v, phi) })},
		{"CrossVecG", at(func(phi []bilevel.Sample) error { return p.CrossVecG(u, x, y, v, phi) })},
	}
}
