package chol_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

func factorOf(t *testing.T, c *chol.Cholesky) *mat.Dense {
	t.Helper()
	l := mattest.Pad(mat.NewDense(c.Order(), c.Order()), 2)
	c.LTo(l)
	mattest.CheckPad(t, l)
	for i := range c.Order() {
		assert.Positive(t, l.At(i, i))
		for j := i + 1; j < c.Order(); j++ {
			require.Zero(t, l.At(i, j))
		}
	}
	return l
}

// factorError is ‖A − LLᵀ‖_F in units of n·eps·‖A‖_F.
func factorError(t *testing.T, a *mat.Sym, c *chol.Cholesky) float64 {
	t.Helper()
	l := factorOf(t, c)
	return mattest.Residual(l, mattest.Trans(l), mattest.Full(a), mat.NormFrobSym(a))
}

func TestNotFinite(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, a := range mattest.NotFinite() {
			var c chol.Cholesky
			requireNotPosDef(t, c.Factor(a), a.N)
			require.False(t, c.Valid())
			require.False(t, c.PosDef(a, 0))
			for _, shift := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				require.NoError(t, c.Factor(mattest.SPD(a.N, 1)))
				require.False(t, c.PosDef(mattest.SPD(a.N, 1), shift), "n=%d shift=%g", a.N, shift)
				require.False(t, c.Valid())
				requireNotPosDef(t, c.FactorShifted(mattest.SPD(a.N, 1), shift), a.N)
			}
		}
	})
}

func requireNotPosDef(t *testing.T, err error, n int) *chol.NotPosDefError {
	t.Helper()
	require.ErrorIs(t, err, chol.ErrNotPosDef)
	var e *chol.NotPosDefError
	require.ErrorAs(t, err, &e)
	require.GreaterOrEqual(t, e.Pivot, 0)
	require.Less(t, e.Pivot, n)
	require.False(t, e.Value >= 0x1p-1022 && e.Value <= math.MaxFloat64, "pivot %g", e.Value)
	return e
}

func TestFactorSolveInverseAtAllOrders(t *testing.T) {
	mattest.EachKernel(t, testFactorSolveInverseAtAllOrders)
}

func testFactorSolveInverseAtAllOrders(t *testing.T) {
	var c, d chol.Cholesky
	for _, n := range mattest.Orders {
		for _, scale := range []float64{1, 1e150, 1e-150} {
			if testing.Short() && n > 65 && scale != 1 {
				continue
			}
			s := mattest.SPD(n, uint64(n))
			mat.ScaleSym(s, scale, s)
			shift := scale * float64(n) / 4
			require.NoError(t, c.Factor(mattest.Plus(s, -shift)))
			require.NoError(t, d.FactorShifted(s, shift))
			require.Zero(t, mattest.MaxDiff(factorOf(t, &c), factorOf(t, &d)), "n=%d", n)
			for _, pad := range mattest.Strides {
				a := mattest.PadSym(s, pad)
				require.NoError(t, c.Factor(a))
				b := mattest.Vec(n, 4)
				x, y := make([]float64, n), make([]float64, n)
				c.SolveVec(x, b)
				for _, m := range []int{0, 1, 2, 3, 8, 17} {
					b := mattest.Dense(n, m, 9)
					x, in := mattest.Pad(mat.NewDense(n, m), pad), mattest.Pad(b, pad)
					c.Solve(x, in)
					require.Less(t, mattest.SolveResidual(s, x, b), 2.0, "n=%d m=%d", n, m)
					require.Zero(t, mattest.MaxDiff(in, b), "b was modified")
					c.Solve(in, in)
					require.Zero(t, mattest.MaxDiff(in, x), "in place differs")
					mattest.CheckPad(t, in)
					mattest.CheckPad(t, x)
				}
				cond := c.Cond()
				require.Less(t, factorError(t, s, &c), 2.0, "n=%d", n)
				inv := mattest.PadSym(mat.NewSym(n), pad)
				c.Inverse(inv)
				mattest.CheckPadSym(t, inv)
				require.Less(t, mattest.SolveResidual(s, mattest.Full(inv), mattest.One(n)), 4.0, "n=%d", n)
				mattest.CheckPadSym(t, a)

				// questions leave the factor
				c.LogDet()
				require.Equal(t, cond, c.Cond(), "n=%d", n)
				c.SolveVec(y, b)
				require.Equal(t, x, y, "n=%d", n)
				require.Less(t, mattest.SolveResidual(s, column(x), column(b)), 2.0, "n=%d", n)
				c.SolveVec(b, b)
				require.Equal(t, x, b, "in place differs")
			}
		}
	}
}

func column(x []float64) *mat.Dense { return mat.DenseOf(len(x), 1, x) }

func TestErrorNamesThePivot(t *testing.T) { mattest.EachKernel(t, testErrorNamesThePivot) }

func testErrorNamesThePivot(t *testing.T) {
	for _, n := range []int{5, 17, 40, 100} {
		for p := range n {
			a := mattest.SPD(n, 1)
			a.Set(p, p, -1)
			var c chol.Cholesky
			e := requireNotPosDef(t, c.Factor(a), n)
			require.Equal(t, p, e.Pivot)
			require.Less(t, e.Value, 0.0)
			require.NoError(t, c.Factor(mattest.SPD(n, 1)), "not usable after a failure")
		}
	}
	var c chol.Cholesky
	err := c.Factor(&mat.Sym{N: 1, Stride: 1, Data: []float64{-2}})
	assert.EqualError(t, err, "chol: matrix is not positive definite: pivot 0 is -2")
}

// The bound on LLᵀ holds down to the smallest normal pivots; a subnormal one, whose reciprocal
// overflows, is none, for Factor and PosDef.
func TestFactorNextToUnderflow(t *testing.T) { mattest.EachKernel(t, testFactorNextToUnderflow) }

func testFactorNextToUnderflow(t *testing.T) {
	var c chol.Cholesky
	for _, n := range []int{1, 4, 7, 17, 40, 100} {
		a, small, l := mattest.SPD(n, 1), mat.NewSym(n), mat.NewDense(n, n)
		mat.ScaleSym(small, 0x1p-1020, a)
		require.NoError(t, c.Factor(small), "n=%d", n)
		c.LTo(l)
		mat.Scale(l, 0x1p510, l)
		require.LessOrEqual(t, mattest.Residual(l, mattest.Trans(l), mattest.Full(a), mat.NormFrobSym(a)), 4.0, "n=%d", n)

		clear(a.Row(n - 1))
		for d, want := range map[float64]bool{1e-310: false, 5e-324: false, 0: false, 1e-300: true} {
			a.Set(n-1, n-1, d)
			require.Equal(t, want, c.PosDef(a, 0), "n=%d d=%g", n, d)
			err := c.Factor(a)
			require.Equal(t, want, err == nil, "n=%d d=%g", n, d)
			if !want {
				require.Equal(t, n-1, requireNotPosDef(t, err, n).Pivot)
			}
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	mattest.EachKernel(t, testSteadyStateAllocatesNothing)
}

func testSteadyStateAllocatesNothing(t *testing.T) {
	const n = 40
	a, bad, small := mattest.SPD(n, 1), mattest.Sym(n, 1), mattest.SPD(9, 1)
	x, y := make([]float64, n), mattest.Vec(n, 3)
	b, inv, l := mattest.Dense(n, 7, 2), mat.NewSym(n), mat.NewDense(n, n)
	mat.AddIdentity(bad, 1)
	var c chol.Cholesky
	require.NoError(t, c.Factor(a))
	ok := true
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		ok = ok && c.PosDef(a, 0) && c.PosDef(a, float64(n)/2) && !c.PosDef(bad, 0) && !c.PosDef(bad, 2)
		ok = ok && c.Factor(small) == nil && c.FactorShifted(a, 0.1) == nil
		c.SolveVec(x, y)
		c.Solve(b, b)
		c.Inverse(inv)
		c.LTo(l)
		ok = ok && c.Update(y) == nil && c.Downdate(y) == nil && c.Cond() >= 1 && c.LogDet() > 0
	}))
	assert.True(t, ok)
}

func TestMisusePanicsWithAConstant(t *testing.T) {
	var none, c chol.Cholesky
	require.NoError(t, c.Factor(mattest.SPD(3, 1)))
	require.Error(t, none.Factor(mattest.Sym(3, 1)))
	v2, v3 := make([]float64, 2), make([]float64, 3)
	d2, d3 := mat.NewDense(2, 2), mat.NewDense(3, 3)
	for name, f := range map[string]func(c *chol.Cholesky, v []float64, d *mat.Dense){
		"SolveVec": func(c *chol.Cholesky, v []float64, _ *mat.Dense) { c.SolveVec(v, v) },
		"Solve":    func(c *chol.Cholesky, _ []float64, d *mat.Dense) { c.Solve(d, d) },
		"Inverse":  func(c *chol.Cholesky, _ []float64, d *mat.Dense) { c.Inverse(mat.NewSym(d.Rows)) },
		"LTo":      func(c *chol.Cholesky, _ []float64, d *mat.Dense) { c.LTo(d) },
		"Update":   func(c *chol.Cholesky, v []float64, _ *mat.Dense) { _ = c.Update(v) },
		"Downdate": func(c *chol.Cholesky, v []float64, _ *mat.Dense) { _ = c.Downdate(v) },
		"LogDet":   func(c *chol.Cholesky, _ []float64, _ *mat.Dense) { c.LogDet() },
		"Cond":     func(c *chol.Cholesky, _ []float64, _ *mat.Dense) { c.Cond() },
	} {
		assert.PanicsWithValue(t, fmt.Sprintf("chol: %s: no factor", name), func() { f(&none, v3, d3) })
		if name != "LogDet" && name != "Cond" {
			assert.PanicsWithValue(t, fmt.Sprintf("chol: %s: dimension mismatch", name), func() { f(&c, v2, d2) })
		}
	}
}

func TestAliasing(t *testing.T) {
	var c chol.Cholesky
	require.NoError(t, c.Factor(mat.NewSym(0)))
	assert.Equal(t, []float64{0, 1}, []float64{c.LogDet(), c.Cond()})
	require.NoError(t, c.Factor(mattest.SPD(3, 1)))
	torn, tornSym := mattest.Dense(3, 3, 1), mattest.SPD(3, 1)
	torn.Stride, tornSym.Stride = 2, 0
	d := mat.NewDense(3, 3)
	for name, calls := range map[string][]func(){
		"Factor":        {func() { _ = new(chol.Cholesky).Factor(tornSym) }},
		"FactorShifted": {func() { _ = new(chol.Cholesky).FactorShifted(tornSym, 1) }},
		"PosDef":        {func() { new(chol.Cholesky).PosDef(tornSym, 1) }},
		"Inverse":       {func() { c.Inverse(tornSym) }},
		"LTo":           {func() { c.LTo(torn) }},
		"Solve":         {func() { c.Solve(torn, d) }, func() { c.Solve(d, torn) }},
	} {
		for i, f := range calls {
			assert.PanicsWithValue(t, "chol: "+name+": rows overlap, Stride is too small", f, "%s, call %d", name, i)
		}
	}
	wide := mat.Dense{Rows: 3, Cols: 2, Stride: 3, Data: make([]float64, 9)}
	narrow := mat.Dense{Rows: 3, Cols: 2, Stride: 2, Data: wide.Data}
	assert.PanicsWithValue(t, "chol: Solve: dst overlaps an operand", func() { c.Solve(&narrow, &wide) })
	assert.True(t, c.Valid())
}

func TestFailedDowndateLeavesTheFactor(t *testing.T) {
	mattest.EachKernel(t, testFailedDowndateLeavesTheFactor)
}

func testFailedDowndateLeavesTheFactor(t *testing.T) {
	for _, n := range []int{1, 2, 5, 17, 65} {
		s := mattest.SPD(n, 1)
		var c, d chol.Cholesky
		require.NoError(t, c.Factor(s))
		before := factorOf(t, &c)
		for p := range n {
			// With x = L·q, blocks of A − xxᵀ are positive definite while ‖q_0…q_k−1‖ < 1.
			x, q := make([]float64, n), slices.Repeat([]float64{0.7 / math.Sqrt(float64(p))}, p)
			mat.MulVec(x, before, append(append(q, 2), make([]float64, n-p-1)...))
			got := requireNotPosDef(t, c.Downdate(x), n)
			require.Equal(t, p, got.Pivot)
			down := mattest.Plus(s, 0)
			mat.RankOne(down, -1, x)
			want := requireNotPosDef(t, d.Factor(down), n)
			require.Equal(t, p, want.Pivot)
			require.InEpsilon(t, want.Value, got.Value, 1e-12)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} { // the square of the last is infinite
				x[p] = bad
				requireNotPosDef(t, c.Downdate(x), n)
				requireNotPosDef(t, c.Update(x), n)
			}
		}
		require.True(t, c.Valid())
		require.Zero(t, mattest.MaxDiff(before, factorOf(t, &c)))
	}
}

func TestUpdateBeyondTheRange(t *testing.T) {
	const n = 3
	var c, big chol.Cholesky
	s, x := mattest.SPD(n, 1), []float64{1.9, -1.9, 1.9}
	require.NoError(t, c.Factor(s))
	require.NoError(t, c.Update(x))
	mat.ScaleSym(s, 0x1p1022, s)
	for i := range x {
		x[i] *= 0x1p511
	}
	require.NoError(t, big.Factor(s))
	require.NoError(t, big.Update(x))
	l := factorOf(t, &big)
	mat.Scale(l, 0x1p-511, l)
	require.LessOrEqual(t, mattest.MaxDiff(factorOf(t, &c), l), 1e-15)
}
