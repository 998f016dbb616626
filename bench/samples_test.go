package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/method"
)

// BenchmarkSamples is a step of a method that evaluates n samples of each level, on 10,000 dense rows
// of 50 features; bench/peers/numba_bench.py has the same loops.
func BenchmarkSamples(b *testing.B) {
	p, err := hyperopt.New(denseRows(10000, 50, 1), denseRows(10000, 50, 2), hyperopt.Options{Form: hyperopt.Exp})
	must(err)
	step := bilevel.Constant(1e-3)
	for _, m := range []bilevel.Method{method.SOBA{Alpha: step, Beta: step}, method.SABA{Alpha: step, Beta: step}} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/n=%d", m.Name(), batch), func(b *testing.B) {
				lo, hi := p.Box()
				x, y := make([]float64, 50), make([]float64, 50)
				p.Start(x, y)
				opt := bilevel.Options{X0: x, Set: bilevel.Box{Lo: lo, Hi: hi}, UpperBatch: batch, LowerBatch: batch}
				s, err := bilevel.New(p, m, opt)
				must(err)
				must(s.Step())
				b.ReportAllocs()
				for b.Loop() {
					must(s.Step())
				}
			})
		}
	}
}

func denseRows(n, d int, seed uint64) *data.Data {
	rng, set := rand.New(rand.NewPCG(seed, 0)), &data.Data{Dim: d, RowPtr: []int{0}}
	for range n {
		sum := rng.NormFloat64()
		for j := range d {
			v := rng.NormFloat64()
			sum += v
			set.Col, set.Val = append(set.Col, int32(j)), append(set.Val, v)
		}
		label := 1.0
		if sum < 0 {
			label = -1
		}
		set.Label, set.RowPtr = append(set.Label, label), append(set.RowPtr, len(set.Col))
	}
	return set
}
