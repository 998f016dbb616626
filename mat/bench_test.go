package mat_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// A desk has what an operation reads and writes, of order n.
type desk struct {
	a, b, c *mat.Dense // the diagonal of a dominates
	s, t    *mat.Sym
	x, y    []float64
}

func newDesk(n, pad int) *desk {
	d := &desk{mattest.Pad(mattest.Dense(n, n, 1), pad), mattest.Pad(mattest.Dense(n, n, 2), pad), mattest.Pad(mat.NewDense(n, n), pad),
		mattest.PadSym(mattest.Sym(n, 3), pad), mattest.PadSym(mattest.Sym(n, 4), pad), mattest.Vec(n, 1), mattest.Vec(n, 2)}
	for i := range n {
		d.a.Set(i, i, 1+float64(n))
	}
	return d
}

// operations are those on whole matrices, each with its flops, flops·n^power.
var operations = []struct {
	name         string
	flops, power float64
	run          func(d *desk)
}{
	{"Mul", 2, 3, func(d *desk) { mat.Mul(d.c, d.a, d.b) }},
	{"MulTransA", 2, 3, func(d *desk) { mat.MulTransA(d.c, d.a, d.b) }},
	{"MulTransB", 2, 3, func(d *desk) { mat.MulTransB(d.c, d.a, d.b) }},
	{"MulSym", 2, 3, func(d *desk) { mat.MulSym(d.c, d.s, d.b) }},
	{"RankK", 1, 3, func(d *desk) { mat.RankK(d.s, 1e-9, d.a) }},
	{"RankKTrans", 1, 3, func(d *desk) { mat.RankKTrans(d.s, 1e-9, d.a) }},
	{"AddMulTransASym", 1, 3, func(d *desk) { mat.AddMulTransASym(d.s, 1e-9, d.a, d.b) }},
	{"MulVec", 2, 2, func(d *desk) { mat.MulVec(d.y, d.a, d.x) }},
	{"MulVecTrans", 2, 2, func(d *desk) { mat.MulVecTrans(d.y, d.a, d.x) }},
	{"MulVecSym", 2, 2, func(d *desk) { mat.MulVecSym(d.y, d.s, d.x) }},
	{"SolveUpper", 1, 3, func(d *desk) { mat.SolveUpper(d.c, d.a, d.b) }},
	{"SolveUpperTrans", 1, 3, func(d *desk) { mat.SolveUpperTrans(d.c, d.a, d.b) }},
	{"SolveLower", 1, 3, func(d *desk) { mat.SolveLower(d.c, d.a, d.b) }},
	{"SolveLowerTrans", 1, 3, func(d *desk) { mat.SolveLowerTrans(d.c, d.a, d.b) }},
	{"SolveUpperVec", 1, 2, func(d *desk) { mat.SolveUpperVec(d.y, d.a, d.x) }},
	{"SolveUpperTransVec", 1, 2, func(d *desk) { mat.SolveUpperTransVec(d.y, d.a, d.x) }},
	{"SolveLowerVec", 1, 2, func(d *desk) { mat.SolveLowerVec(d.y, d.a, d.x) }},
	{"SolveLowerTransVec", 1, 2, func(d *desk) { mat.SolveLowerTransVec(d.y, d.a, d.x) }},
	{"RankOne", 1, 2, func(d *desk) { mat.RankOne(d.s, 1e-9, d.x) }},
	{"Recur", 3, 2, func(d *desk) { mat.Recur(d.c, 0.5, d.c, d.a, d.a) }},
	{"RecurSym", 1.5, 2, func(d *desk) { mat.RecurSym(d.s, 0.5, d.s, d.t, d.t) }},
	{"AddScaled", 2, 2, func(d *desk) { mat.AddScaled(d.c, d.a, 0.3, d.b) }},
	{"ProjectFrob", 3, 2, func(d *desk) { mat.ProjectFrob(d.c, d.a, 1) }},
	{"CopyFull", 0, 2, func(d *desk) { mat.CopyFull(d.c, d.s) }},
	{"CopyTrans", 0, 2, func(d *desk) { mat.CopyTrans(d.c, d.a) }},
	{"NormFrob", 2, 2, func(d *desk) { d.y[0] = mat.NormFrob(d.a) }},
	{"NormFrobSym", 2, 2, func(d *desk) { d.y[0] = mat.NormFrobSym(d.s) }},
	{"Axpy", 4, 1, func(d *desk) { mat.Axpy(d.y, mat.Dot(d.x, d.y)+mat.Norm(d.x), d.x) }},
}

func BenchmarkForms(b *testing.B) {
	for _, o := range operations {
		for _, n := range []int{14, 22, 32, 37, 54, 64, 91, 100, 128, 200, 256, 300, 512} {
			b.Run(fmt.Sprintf("%s/n=%d", o.name, n), func(b *testing.B) {
				d := newDesk(n, 0)
				b.ReportAllocs()
				for b.Loop() {
					o.run(d)
				}
				b.ReportMetric(o.flops*math.Pow(float64(n), o.power)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func TestKernelsAllocateNothing(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range []int{5, 54, 130} {
			d := newDesk(n, 0)
			for _, o := range operations {
				assert.Zero(t, testing.AllocsPerRun(10, func() { o.run(d) }), "%s, n=%d", o.name, n)
			}
		}
	})
}

func TestResultsDoNotDependOnStrides(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range mattest.Orders {
			for _, o := range operations {
				first := newDesk(n, 0)
				o.run(first)
				for _, pad := range []int{1, 5, 8} {
					d := newDesk(n, pad)
					o.run(d)
					for i := range n {
						require.Equal(t, first.c.Row(i), d.c.Row(i), "%s n=%d pad=%d", o.name, n, pad)
						require.Equal(t, first.s.Row(i), d.s.Row(i), "%s n=%d pad=%d", o.name, n, pad)
					}
					require.Equal(t, first.y, d.y, "%s n=%d pad=%d", o.name, n, pad)
					mattest.CheckPad(t, d.c)
					mattest.CheckPadSym(t, d.s)
				}
			}
		}
	})
}
