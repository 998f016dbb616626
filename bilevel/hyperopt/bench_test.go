package hyperopt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"stable/bilevel"
	"stable/mat"
)

// BenchmarkReadLIBSVM reads text of the shape of covtype: twelve six-digit values a row.
func BenchmarkReadLIBSVM(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for range 20_000 {
		fmt.Fprintf(&text, "%d", 1+rng.IntN(2))
		for j := range 12 {
			fmt.Fprintf(&text, " %d:%.6g", 4*j+1, rng.Float64())
		}
		text.WriteString(" \n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadLIBSVM(bytes.NewReader(text.Bytes()), "bench", ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOracle evaluates one sample of each oracle at d = 54.
func BenchmarkOracle(b *testing.B) {
	const d = 54
	rng := rand.New(rand.NewPCG(1, 2))
	data := random(rng, 1000, d, false)
	p, err := New(data, data, Options{})
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
