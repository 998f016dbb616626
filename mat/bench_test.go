package mat_test

import (
	"fmt"
	"testing"

	"stable/mat"
	"stable/mat/mattest"
)

// Mul is measured in bench, beside its peers; here is what it leaves out.
var benchSizes = []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512}

func each(b *testing.B, flops func(n float64) float64, f func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
			b.ReportMetric(flops(float64(n))*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func square(n float64) float64  { return n * n }
func square2(n float64) float64 { return 2 * n * n }
func square3(n float64) float64 { return 3 * n * n }
func cube(n float64) float64    { return n * n * n }
func cube2(n float64) float64   { return 2 * n * n * n }

func benchProduct(b *testing.B, f func(dst, x, y *mat.Dense)) {
	each(b, cube2, func(b *testing.B, n int) {
		x, y, c := mattest.Dense(n, n, uint64(n)), mattest.Dense(n, n, uint64(n)), mat.NewDense(n, n)
		for b.Loop() {
			f(c, x, y)
		}
	})
}

func BenchmarkMulTransA(b *testing.B) { benchProduct(b, mat.MulTransA) }
func BenchmarkMulTransB(b *testing.B) { benchProduct(b, mat.MulTransB) }
func BenchmarkMulSym(b *testing.B) {
	benchProduct(b, func(c, x, y *mat.Dense) { s := mat.AsSym(x); mat.MulSym(c, &s, y) })
}

func benchRank(b *testing.B, f func(s *mat.Sym, alpha float64, a *mat.Dense)) {
	each(b, cube, func(b *testing.B, n int) {
		a, s := mattest.Dense(n, n, uint64(n)), mattest.Sym(n, uint64(n))
		for b.Loop() {
			f(s, 1e-9, a)
		}
	})
}

func BenchmarkRankK(b *testing.B)      { benchRank(b, mat.RankK) }
func BenchmarkRankKTrans(b *testing.B) { benchRank(b, mat.RankKTrans) }

func benchVec(b *testing.B, flops func(n float64) float64, f func(a, c *mat.Dense, s, t *mat.Sym, x, y []float64)) {
	each(b, flops, func(b *testing.B, n int) {
		a, c, s, t := mattest.Dense(n, n, 1), mattest.Dense(n, n, 2), mattest.Sym(n, 3), mattest.Sym(n, 4)
		for i := range n {
			a.Set(i, i, 1+float64(n))
		}
		x, y := mattest.Vec(n, 1), mattest.Vec(n, 2)
		for b.Loop() {
			f(a, c, s, t, x, y)
		}
	})
}

var sink float64

func BenchmarkMulVec(b *testing.B) {
	benchVec(b, square2, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.MulVec(y, a, x) })
}
func BenchmarkMulVecTrans(b *testing.B) {
	benchVec(b, square2, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.MulVecTrans(y, a, x) })
}
func BenchmarkMulVecSym(b *testing.B) {
	benchVec(b, square2, func(_, _ *mat.Dense, s, _ *mat.Sym, x, y []float64) { mat.MulVecSym(y, s, x) })
}
func BenchmarkSolveUpperVec(b *testing.B) {
	benchVec(b, square, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.SolveUpperVec(y, a, x) })
}
func BenchmarkSolveUpperTransVec(b *testing.B) {
	benchVec(b, square, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.SolveUpperTransVec(y, a, x) })
}
func BenchmarkSolveLowerVec(b *testing.B) {
	benchVec(b, square, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.SolveLowerVec(y, a, x) })
}
func BenchmarkSolveLowerTransVec(b *testing.B) {
	benchVec(b, square, func(a, _ *mat.Dense, _, _ *mat.Sym, x, y []float64) { mat.SolveLowerTransVec(y, a, x) })
}
func BenchmarkRankOne(b *testing.B) {
	benchVec(b, square, func(_, _ *mat.Dense, s, _ *mat.Sym, x, _ []float64) { mat.RankOne(s, 1e-9, x) })
}
func BenchmarkRecur(b *testing.B) {
	benchVec(b, square3, func(a, c *mat.Dense, _, _ *mat.Sym, _, _ []float64) { mat.Recur(c, 0.5, c, a, a) })
}
func BenchmarkRecurSym(b *testing.B) {
	benchVec(b, square3, func(_, _ *mat.Dense, s, t *mat.Sym, _, _ []float64) { mat.RecurSym(s, 0.5, s, t, t) })
}
func BenchmarkNormFrob(b *testing.B) {
	benchVec(b, square2, func(a, _ *mat.Dense, _, _ *mat.Sym, _, _ []float64) { sink = mat.NormFrob(a) })
}
