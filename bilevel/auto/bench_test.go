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
	bilevel.UpperGradient
	bilevel.Values
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
				x, y, v := pointOf(impl.p)
				for name, call := range calls(impl.p, x, y, v) {
					b.Run(fmt.Sprintf("%s/d=%d/rows=%s/impl=%s", name, d, rowsOf.name, impl.name), func(b *testing.B) {
						b.ReportAllocs()
						one := make([]bilevel.Sample, 1)
						for i := 0; b.Loop(); i++ {
							one[0] = bilevel.Sample(i % 1000)
							if _, err := call(one); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}

// pointOf is a point with x > 0, and a v.
func pointOf(p bilevel.Problem) (x, y, v []float64) {
	dx, dy := p.Dims()
	rng := rand.New(rand.NewPCG(3, 4))
	x, y, v = make([]float64, dx), make([]float64, dy), make([]float64, dy)
	for i := range x {
		x[i] = 0.01 + rng.Float64()
	}
	for i := range y {
		y[i], v[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	return x, y, v
}

type batch = []bilevel.Sample

// oracle returns what it has written for a batch.
type oracle = func(b batch) ([]float64, error)

// calls has the oracles of p at a point, which write to memory of their own.
func calls(p oracles, x, y, v []float64) map[string]oracle {
	dx, dy := len(x), len(y)
	vec := func(n int) []float64 { return make([]float64, n) }
	f, g, fxy, gx, gy, hv, cv := vec(1), vec(1), vec(dx+dy), vec(dx), vec(dy), vec(dy), vec(dx)
	gxy, gyy := mat.NewDense(dx, dy), mat.NewSym(dy)
	return map[string]oracle{
		"ValueF":    func(b batch) (_ []float64, err error) { f[0], err = p.ValueF(x, y, b); return f, err },
		"ValueG":    func(b batch) (_ []float64, err error) { g[0], err = p.ValueG(x, y, b); return g, err },
		"GradF":     func(b batch) ([]float64, error) { return fxy, p.GradF(fxy[:dx], fxy[dx:], x, y, b) },
		"GradG":     func(b batch) ([]float64, error) { return gy, p.GradG(gy, x, y, b) },
		"GradXG":    func(b batch) ([]float64, error) { return gx, p.GradXG(gx, x, y, b) },
		"CrossG":    func(b batch) ([]float64, error) { return gxy.Data, p.CrossG(gxy, x, y, b) },
		"HessG":     func(b batch) ([]float64, error) { return gyy.Data, p.HessG(gyy, x, y, b) },
		"HessVecG":  func(b batch) ([]float64, error) { return hv, p.HessVecG(hv, x, y, v, b) },
		"CrossVecG": func(b batch) ([]float64, error) { return cv, p.CrossVecG(cv, x, y, v, b) },
	}
}
