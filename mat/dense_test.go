package mat_test

import (
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
