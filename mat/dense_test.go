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

func TestViewsShareMemory(t *testing.T) {
	a := mattest.Pad(mattest.Dense(5, 7, 1), 2)
	v := a.View(1, 2, 3, 4)
	require.Equal(t, a.At(3, 5), v.At(2, 3))
	require.Equal(t, 7, cap(a.Row(1)), "an append cannot run on")
	v.Set(2, 3, 9)
	require.Equal(t, 9.0, a.At(3, 5))
	v.Zero()
	mattest.CheckPad(t, a)
	require.Zero(t, a.At(1, 2))
	require.NotZero(t, a.At(1, 1))
	require.NotZero(t, a.At(4, 2))

	s := mattest.PadSym(mattest.Sym(6, 1), 2)
	w := s.View(2, 3)
	require.Equal(t, s.At(4, 3), w.At(1, 2))
	require.Equal(t, 2, cap(s.Row(1)))
	w.Set(1, 2, 9)
	require.Equal(t, 9.0, s.At(4, 3))
	w.Zero()
	mattest.CheckPadSym(t, s)
	require.NotZero(t, s.At(5, 2))
	for i := range s.N + 1 { // to the last row
		tail := s.View(i, s.N-i)
		for k := range tail.N {
			require.Equal(t, s.At(s.N-1, i+k), tail.At(tail.N-1, k))
		}
		require.Equal(t, mat.Sym{Stride: s.Stride}, s.View(i, 0))
	}

	sq := mattest.Dense(4, 4, 3)
	as := mat.AsSym(sq)
	require.Equal(t, sq.At(3, 1), as.At(1, 3))
	low := as.Lower()
	low.Set(3, 1, 8)
	require.Equal(t, 8.0, sq.At(3, 1))

	for _, e := range []mat.Dense{a.View(5, 7, 0, 0), a.View(0, 0, 0, 7), a.View(0, 3, 5, 0)} {
		e.Zero()
		require.Empty(t, e.Data)
	}
}

func TestOfSharesMemory(t *testing.T) {
	data := []float64{1, 2, 3, 4}
	a, s := mat.DenseOf(2, 2, data), mat.SymOf(2, data)
	require.Equal(t, 2., a.At(0, 1))
	require.Equal(t, 3., s.At(0, 1))
	a.Set(1, 1, 7)
	s.Set(0, 0, 5)
	require.Equal(t, []float64{5, 2, 3, 7}, data)
	require.Equal(t, &mat.Dense{Cols: 3, Stride: 3}, mat.DenseOf(0, 3, nil))
	require.Equal(t, &mat.Sym{}, mat.SymOf(0, nil))
}

func TestShapeBugsPanicWithAConstant(t *testing.T) {
	d23, s2 := mat.NewDense(2, 3), mat.NewSym(2)
	v2, v3 := make([]float64, 2), make([]float64, 3)
	for msg, calls := range map[string][]func(){
		"Dot: dimension mismatch":  {func() { mat.Dot(v2, v3) }},
		"Axpy: dimension mismatch": {func() { mat.Axpy(v2, 1, v3) }, func() { mat.Axpy(v3, 1, v2) }},
		"NewDense: negative size":  {func() { mat.NewDense(-1, 2) }, func() { mat.NewDense(2, -1) }},
		"NewSym: negative size":    {func() { mat.NewSym(-1) }},
		"DenseOf: negative size":   {func() { mat.DenseOf(-1, -2, v2) }, func() { mat.DenseOf(2, -1, v2) }},
		"SymOf: negative size":     {func() { mat.SymOf(-1, v2) }},
		"DenseOf: len(data) is not rows·cols": {
			func() { mat.DenseOf(1, 3, v2) }, func() { mat.DenseOf(1, 1, v2) }, func() { mat.DenseOf(1, 1, nil) },
		},
		"SymOf: len(data) is not n²":  {func() { mat.SymOf(1, v2) }, func() { mat.SymOf(2, v3) }},
		"AsSym: matrix is not square": {func() { mat.AsSym(d23) }},
		"Dense.At: index out of range": {
			func() { d23.At(0, 3) }, func() { d23.At(2, 0) }, func() { d23.At(1, -1) }, func() { d23.At(-1, 0) },
		},
		"Dense.Set: index out of range": {
			func() { d23.Set(0, 3, 1) }, func() { d23.Set(2, 0, 1) }, func() { d23.Set(1, -1, 1) }, func() { d23.Set(-1, 0, 1) },
		},
		"Dense.Row: index out of range": {func() { d23.Row(-1) }, func() { d23.Row(2) }},
		"Dense.View: block out of range": {
			func() { d23.View(1, 1, 2, 1) }, func() { d23.View(1, 1, 1, 3) }, func() { d23.View(-1, 0, 1, 1) }, func() { d23.View(0, -1, 1, 1) },
			func() { d23.View(0, 0, -1, 1) }, func() { d23.View(0, 0, 1, -1) },
		},
		"Sym.At: index out of range":   {func() { s2.At(-1, 0) }, func() { s2.At(0, -1) }, func() { s2.At(2, 0) }, func() { s2.At(0, 2) }},
		"Sym.Set: index out of range":  {func() { s2.Set(-1, 0, 1) }, func() { s2.Set(0, -1, 1) }, func() { s2.Set(2, 0, 1) }, func() { s2.Set(0, 2, 1) }},
		"Sym.Row: index out of range":  {func() { s2.Row(-1) }, func() { s2.Row(2) }},
		"Sym.View: block out of range": {func() { s2.View(1, 2) }, func() { s2.View(-1, 1) }, func() { s2.View(0, -1) }},
	} {
		for i, f := range calls {
			assert.PanicsWithValue(t, "mat: "+msg, f, "%s, call %d", msg, i)
		}
	}
}

func TestViewsWithoutColumns(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range []int{1, 5, 40} {
			a := mattest.Dense(n, 3, 1)
			e := a.View(0, 1, n, 0)
			none, x, c := []float64{}, mattest.Vec(n, 1), mattest.Dense(n, n, 2)
			u := mattest.Full(mattest.SPD(n, 1))
			mat.Copy(&e, &e)
			mat.Scale(&e, 2, &e)
			mat.AddScaled(&e, &e, 2, &e)
			mat.Recur(&e, 0.5, &e, &e, &e)
			mat.Outer(&e, 1, x, none)
			mat.SolveUpper(&e, u, &e)
			mat.SolveUpperTrans(&e, u, &e)
			mat.SolveLower(&e, u, &e)
			mat.SolveLowerTrans(&e, u, &e)
			mat.MulSym(&e, mattest.Sym(n, 1), &e)
			require.Zero(t, mat.NormFrob(&e)+mat.MaxAbs(&e)+mat.ProjectFrob(&e, &e, 1))
			mat.MulVecTrans(none, &e, x)
			mat.MulVec(x, &e, none)
			require.Equal(t, make([]float64, n), x)
			mat.MulTransB(c, &e, &e)
			require.Zero(t, mat.MaxAbs(c))
			s := mattest.Sym(n, 4)
			mat.RankK(s, 1, &e)
			require.Zero(t, mattest.MaxDiff(mattest.Full(mattest.Sym(n, 4)), mattest.Full(s)))
			require.Zero(t, mattest.MaxDiff(mattest.Dense(n, 3, 1), a))
		}
	})
}

func TestFormat(t *testing.T) {
	a := mat.Dense{Rows: 2, Cols: 2, Stride: 3, Data: []float64{1, -2.5, nan, 1.0 / 3, 1e10, nan}}
	assert.Equal(t, "[       1   -2.5\n 0.333333  1e+10]", fmt.Sprint(a))
	assert.Equal(t, fmt.Sprint(a), fmt.Sprintf("%s", &a))
	assert.Equal(t, "[1.00           -2.50\n 0.33  10000000000.00]", fmt.Sprintf("%.2f", a))
	for _, layout := range []string{"%5.1g", "%-5.1g", "%+05.1g", "% #5.1g"} {
		assert.Equal(t, "[    1     -2\n   0.3  1e+10]", fmt.Sprintf(layout, a))
	}
	assert.Contains(t, fmt.Sprintf("%#v", a), "mat.Dense{Rows:2, Cols:2, Stride:3, Data:[]float64{1, -2.5")

	s := mat.Sym{N: 2, Stride: 2, Data: []float64{2, nan, 1, 3}}
	assert.Equal(t, "[2  1\n 1  3]", fmt.Sprint(s))
	assert.Contains(t, fmt.Sprintf("%#v", s), "mat.Sym{N:2, Stride:2")

	assert.Equal(t, "[] (0 × 3)", fmt.Sprint(mat.NewDense(0, 3)))
	assert.Equal(t, "[NaN  +Inf]", fmt.Sprint(mat.Dense{Rows: 1, Cols: 2, Stride: 2, Data: []float64{nan, inf}}))
}

func TestFormatLeavesOutTheMiddle(t *testing.T) {
	a := mat.NewDense(12, 11)
	for i := range 12 {
		for j := range 11 {
			a.Set(i, j, float64(100*i+j))
		}
	}
	text := fmt.Sprint(a)
	assert.Contains(t, text, "[   0     1     2     3     4  …     6     7     8     9    10\n")
	assert.Contains(t, text, "\n    ⋮     ⋮     ⋮     ⋮     ⋮  ⋮     ⋮     ⋮     ⋮     ⋮     ⋮\n")
	assert.NotContains(t, text, "505")
	assert.Contains(t, text, "1110]")
	assert.Contains(t, fmt.Sprintf("%+v", a), " 505 ")
	assert.Equal(t, fmt.Sprintf("%v", mat.NewDense(10, 10)), fmt.Sprintf("%+v", mat.NewDense(10, 10)))
}

func TestElementwise(t *testing.T) {
	const tau, s = 0.3, -1.7
	for name, f := range map[string]struct {
		dense func(dst, a, b, c *mat.Dense)
		sym   func(dst, a, b, c *mat.Sym)
		want  func(a, b, c float64) float64
	}{
		"Copy": {
			func(dst, a, _, _ *mat.Dense) { mat.Copy(dst, a) },
			func(dst, a, _, _ *mat.Sym) { mat.CopySym(dst, a) },
			func(a, _, _ float64) float64 { return a }},
		"Scale": {
			func(dst, a, _, _ *mat.Dense) { mat.Scale(dst, s, a) },
			func(dst, a, _, _ *mat.Sym) { mat.ScaleSym(dst, s, a) },
			func(a, _, _ float64) float64 { return s * a }},
		"AddScaled": {
			func(dst, a, b, _ *mat.Dense) { mat.AddScaled(dst, a, s, b) },
			func(dst, a, b, _ *mat.Sym) { mat.AddScaledSym(dst, a, s, b) },
			func(a, b, _ float64) float64 { return a + s*b }},
		"Recur": {
			func(dst, a, b, c *mat.Dense) { mat.Recur(dst, tau, a, b, c) },
			func(dst, a, b, c *mat.Sym) { mat.RecurSym(dst, tau, a, b, c) },
			func(a, b, c float64) float64 { return (1-tau)*(a-b) + c }},
	} {
		t.Run(name, func(t *testing.T) {
			mattest.EachKernel(t, func(t *testing.T) {
				for _, n := range append([]int{0}, mattest.Orders...) {
					a, b, c := mattest.Dense(n, n+2, 1), mattest.Dense(n, n+2, 2), mattest.Dense(n, n+2, 3)
					p, q, r := mattest.Sym(n, 1), mattest.Sym(n, 2), mattest.Sym(n, 3)
					want := mattest.DenseOf(n, n+2, func(i, j int) float64 { return f.want(a.At(i, j), b.At(i, j), c.At(i, j)) })
					wantSym := mattest.SymOf(n, func(i, j int) float64 { return f.want(p.At(i, j), q.At(i, j), r.At(i, j)) })
					for _, pad := range mattest.Strides {
						for alias := range 4 {
							in := []*mat.Dense{mattest.Pad(a, pad), mattest.Pad(b, 2*pad), mattest.Pad(c, 3*pad),
								mattest.Pad(a, 4*pad)}
							dst := in[(alias+3)%4]
							f.dense(dst, in[0], in[1], in[2])
							mattest.CheckPad(t, dst)
							near(t, want, dst, 0)

							ins := []*mat.Sym{mattest.PadSym(p, pad), mattest.PadSym(q, 2*pad), mattest.PadSym(r, 3*pad),
								mattest.PadSym(p, 4*pad)}
							ds := ins[(alias+3)%4]
							f.sym(ds, ins[0], ins[1], ins[2])
							mattest.CheckPadSym(t, ds)
							near(t, mattest.Full(wantSym), mattest.Full(ds), 0)
						}
					}
				}
			})
		})
	}
}

func TestRecurIdentities(t *testing.T) {
	h, old, now, dst := mattest.Dense(9, 7, 1), mattest.Dense(9, 7, 2), mattest.Dense(9, 7, 3), mat.NewDense(9, 7)
	mat.Recur(dst, 1, h, old, now)
	require.Zero(t, mattest.MaxDiff(now, dst))
	mat.Recur(dst, 0.123, h, h, now)
	require.Zero(t, mattest.MaxDiff(now, dst))
}

func TestAddDiagonal(t *testing.T) {
	for _, n := range append([]int{0}, mattest.Orders...) {
		s, d := mattest.PadSym(mattest.Sym(n, 1), 3), mattest.Vec(n, 2)
		mat.AddDiag(s, d)
		mat.AddIdentity(s, 5)
		mattest.CheckPadSym(t, s)
		want := mattest.Sym(n, 1)
		for i := range n {
			want.Set(i, i, want.At(i, i)+d[i]+5)
		}
		require.Zero(t, mattest.MaxDiff(mattest.Full(want), mattest.Full(s)))
	}
}

func TestCopyTransAndFull(t *testing.T) {
	for _, n := range append([]int{0}, mattest.Orders...) {
		for _, m := range []int{0, 1, 3, 8, 17} {
			a := mattest.Dense(n, m, 1)
			dst := mattest.Pad(mat.NewDense(m, n), 2)
			mat.CopyTrans(dst, mattest.Pad(a, 3))
			mattest.CheckPad(t, dst)
			require.Zero(t, mattest.MaxDiff(mattest.Trans(a), dst))
		}
		s := mattest.Sym(n, 2)
		full := mattest.Pad(mat.NewDense(n, n), 2)
		mat.CopyFull(full, mattest.PadSym(s, 3))
		mattest.CheckPad(t, full)
		require.Zero(t, mattest.MaxDiff(mattest.Full(s), full))
		if n > 0 {
			own := mattest.PadSym(s, 0)
			low := own.Lower()
			mat.CopyFull(&low, own)
			require.Zero(t, mattest.MaxDiff(mattest.Full(s), &low))
		}
	}
}

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
