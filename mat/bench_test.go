package mat_test

import (
	"fmt"
	"testing"

	"stable/mat"
	"stable/mat/mattest"
)

var sink float64

func BenchmarkForms(b *testing.B) {
	type in struct {
		a, b, c *mat.Dense // the diagonal of a dominates
		s, t    *mat.Sym
		x, y    []float64
	}
	for _, f := range []struct {
		name  string
		flops func(n float64) float64
		run   func(in *in)
	}{
		{"MulTransA", func(n float64) float64 { return 2 * n * n * n }, func(in *in) { mat.MulTransA(in.c, in.a, in.b) }},
		{"MulTransB", func(n float64) float64 { return 2 * n * n * n }, func(in *in) { mat.MulTransB(in.c, in.a, in.b) }},
		{"MulSym", func(n float64) float64 { return 2 * n * n * n }, func(in *in) { mat.MulSym(in.c, in.s, in.b) }},
		{"RankK", func(n float64) float64 { return n * n * n }, func(in *in) { mat.RankK(in.s, 1e-9, in.a) }},
		{"RankKTrans", func(n float64) float64 { return n * n * n }, func(in *in) { mat.RankKTrans(in.s, 1e-9, in.a) }},
		{"MulVec", func(n float64) float64 { return 2 * n * n }, func(in *in) { mat.MulVec(in.y, in.a, in.x) }},
		{"MulVecTrans", func(n float64) float64 { return 2 * n * n }, func(in *in) { mat.MulVecTrans(in.y, in.a, in.x) }},
		{"MulVecSym", func(n float64) float64 { return 2 * n * n }, func(in *in) { mat.MulVecSym(in.y, in.s, in.x) }},
		{"SolveUpperVec", func(n float64) float64 { return n * n }, func(in *in) { mat.SolveUpperVec(in.y, in.a, in.x) }},
		{"SolveUpperTransVec", func(n float64) float64 { return n * n }, func(in *in) { mat.SolveUpperTransVec(in.y, in.a, in.x) }},
		{"SolveLowerVec", func(n float64) float64 { return n * n }, func(in *in) { mat.SolveLowerVec(in.y, in.a, in.x) }},
		{"SolveLowerTransVec", func(n float64) float64 { return n * n }, func(in *in) { mat.SolveLowerTransVec(in.y, in.a, in.x) }},
		{"RankOne", func(n float64) float64 { return n * n }, func(in *in) { mat.RankOne(in.s, 1e-9, in.x) }},
		{"Recur", func(n float64) float64 { return 3 * n * n }, func(in *in) { mat.Recur(in.c, 0.5, in.c, in.a, in.a) }},
		{"RecurSym", func(n float64) float64 { return 1.5 * n * n }, func(in *in) { mat.RecurSym(in.s, 0.5, in.s, in.t, in.t) }},
		{"NormFrob", func(n float64) float64 { return 2 * n * n }, func(in *in) { sink = mat.NormFrob(in.a) }},
	} {
		for _, n := range []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512} {
			b.Run(fmt.Sprintf("%s/n=%d", f.name, n), func(b *testing.B) {
				in := in{mattest.Dense(n, n, 1), mattest.Dense(n, n, 2), mat.NewDense(n, n), mattest.Sym(n, 3), mattest.Sym(n, 4),
					mattest.Vec(n, 1), mattest.Vec(n, 2)}
				for i := range n {
					in.a.Set(i, i, 1+float64(n))
				}
				b.ReportAllocs()
				for b.Loop() {
					f.run(&in)
				}
				b.ReportMetric(f.flops(float64(n))*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
