package hyperopt

import (
	"math/rand/v2"
	"testing"

	"stable/bilevel"
	"stable/mat"
)

func BenchmarkOracle(b *testing.B) {
	const d = 54
	rng := rand.New(rand.NewPCG(1, 2))
	rows := random(rng, 1000, d, false)
	p, err := New(rows, rows, Options{})
	if err != nil {
		b.Fatal(err)
	}
	x, y, u, v := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	gxy, gyy := mat.NewDense(d, d), mat.NewSym(d)
	p.Start(x, y)
	one := []bilevel.Sample{0}
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"GradF", func() error { return p.GradF(u, v, x, y, one) }},
		{"GradG", func() error { return p.GradG(v, x, y, one) }},
		{"CrossG", func() error { return p.CrossG(gxy, x, y, one) }},
		{"HessG", func() error { return p.HessG(gyy, x, y, one) }},
		{"HessVecG", func() error { return p.HessVecG(u, x, y, v, one) }},
		{"Objective", func() error { _, err := p.Objective(u, x); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one[0] = bilevel.Sample(rng.IntN(1000))
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
