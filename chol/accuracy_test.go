package chol_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

var constants = map[string]float64{
	"factor":         4,
	"factor, scaled": 4,
	"pivots, yes":    1,
	"pivots, no":     1,
	"residual":       4,
	"solution":       4,
	"inverse":        4,
	"log det":        4,
	"cond, above":    4,
	"cond, below":    3,
	"cond, exact":    4,
	"update":         4,
	"downdate":       4,
}

func TestAccuracy(t *testing.T) { mattest.EachKernel(t, testAccuracy) }

// Every bound holds against arithmetic of 320 bits, on a long list of small matrices.
func testAccuracy(t *testing.T) {
	count := 3000
	switch {
	case mattest.Long():
		count = 60_000
	case testing.Short():
		count = 400
	}
	l := mattest.NewLedger(constants)
	var c, d chol.Cholesky
	factored := 0
	for k := range count {
		name, a := mattest.Draw(k)
		a = mattest.PadSym(a, k%2)
		where := fmt.Sprintf("%s, n=%d, matrix %d", name, a.N, k)
		err := c.Factor(a)
		checkPivots(l, a, err == nil, where)
		large := slices.Repeat([]float64{-100 * math.Sqrt(mat.NormFrobSym(a))}, a.N)
		for _, shift := range []float64{0, -1, -0.3, 0.1, 0.3} {
			shift *= a.At(a.N-1, a.N-1)
			positive := d.FactorShifted(a, shift) == nil
			if positive {
				_ = d.Downdate(large) // leaves large negative numbers in the workspace
			}
			require.Equal(t, positive, d.PosDef(a, shift), where)
		}
		mattest.CheckPadSym(t, a)
		require.Equal(t, err == nil, c.Valid(), where)
		if err != nil {
			requireNotPosDef(t, err, a.N)
			require.Zero(t, c.Order(), where)
			continue
		}
		factored++
		checkFactor(t, l, &c, a, where)
		if e, ok := mattest.ExactSym(a).Cholesky(); ok {
			checkAnswers(l, &c, a, e, where)
		}
		checkUpdate(t, l, &c, a, uint64(k), where)
	}
	require.Greater(t, factored, count/3)
	require.Less(t, factored, count*9/10)
	l.Check(t)
}

// checkPivots finds the least power of two r at which A ± r·n·eps·D² changes definiteness.
func checkPivots(l *mattest.Ledger, a *mat.Sym, positive bool, where string) {
	sign, name := -1.0, "pivots, no"
	if positive {
		sign, name = 1, "pivots, yes"
	}
	r := 0.0
	for ; ; r = max(2*r, 0x1p-4) {
		e := mattest.ExactSym(a).AddDiag(func(i int) float64 { return sign * r * float64(a.N) * mattest.Eps * math.Abs(a.At(i, i)) })
		if _, ok := e.Cholesky(); ok == positive || r > 1e6 {
			break
		}
	}
	l.See(name, r, 1, where)
}

func checkFactor(t *testing.T, l *mattest.Ledger, c *chol.Cholesky, a *mat.Sym, where string) {
	n := float64(a.N)
	low := mattest.ExactDense(factorOf(t, c))
	diff := low.MulTrans(low).Sub(mattest.ExactSym(a))
	l.See("factor", diff.Norm(), n*mattest.Eps*mat.NormFrobSym(a), where)
	for i := range a.N {
		for j := range i + 1 {
			d := math.Sqrt(a.At(i, i)) * math.Sqrt(a.At(j, j))
			l.See("factor, scaled", math.Abs(mattest.Float(diff.At(i, j))), n*mattest.Eps*d, where)
		}
	}
}

func checkAnswers(l *mattest.Ledger, c *chol.Cholesky, a *mat.Sym, e *mattest.Exact, where string) {
	n := float64(a.N)
	exact, inverse := mattest.ExactSym(a), e.CholeskySolve(mattest.Identity(a.N))
	kappa := mat.NormFrobSym(a) * inverse.Norm()
	if !(kappa*n*mattest.Eps < 0.1) {
		kappa = math.Inf(1) // nothing is promised
	}
	unit := n * mattest.Eps * kappa

	b := mattest.Vec(a.N, uint64(a.N))
	x := make([]float64, a.N)
	c.SolveVec(x, b)
	xe, be := mattest.ExactVec(x), mattest.ExactVec(b)
	l.See("residual", be.Sub(exact.MulTrans(xe.Trans())).Norm(), n*mattest.Eps*mat.NormFrobSym(a)*xe.Norm(), where)
	want := e.CholeskySolve(mattest.ExactVec(b))
	l.See("solution", xe.Sub(want).Norm(), unit*want.Norm(), where)

	inv := mat.NewSym(a.N)
	c.Inverse(inv)
	l.See("inverse", mattest.ExactSym(inv).Sub(inverse).Norm(), unit*inverse.Norm(), where)

	det, size := e.LogDet()
	l.See("log det", math.Abs(c.LogDet()-det), unit+mattest.Eps*size, where)

	if !math.IsInf(kappa, 1) {
		truth := exact.Norm1() * inverse.Norm1()
		l.See("cond, above", max(0, c.Cond()-truth), unit*truth, where)
		l.See("cond, below", truth, chol.CondEstimate(c), where)
		if a.N <= chol.CondExact {
			l.See("cond, exact", max(0, truth-c.Cond()), unit*truth, where)
		}
	}
}

func checkUpdate(t *testing.T, l *mattest.Ledger, c *chol.Cholesky, a *mat.Sym, seed uint64, where string) {
	n := float64(a.N)
	x := mattest.Vec(a.N, seed)
	size := math.Sqrt(mat.NormFrobSym(a))
	for i := range x {
		x[i] *= size
	}
	for _, name := range []string{"update", "downdate"} {
		before := mattest.ExactDense(factorOf(t, c))
		want := before.MulTrans(before)
		change, sign := c.Update, 1.0
		if name == "downdate" {
			change, sign = c.Downdate, -1
		}
		want.AddOuter(big.NewFloat(sign), mattest.ExactVec(x).Trans(), 0)
		if change(x) != nil {
			require.Equal(t, "downdate", name, where)
			continue
		}
		after := mattest.ExactDense(factorOf(t, c))
		norm := max(before.Norm(), after.Norm())
		l.See(name, after.MulTrans(after).Sub(want).Norm(), n*mattest.Eps*norm*norm, where)
	}
}

// A pivot left by cancellation has no digits; the factor must use that one number everywhere.
func TestPivotsWithoutDigits(t *testing.T) { mattest.EachKernel(t, testPivotsWithoutDigits) }

func testPivotsWithoutDigits(t *testing.T) {
	var c chol.Cholesky
	factored, count := 0, 20_000
	if testing.Short() {
		count = 5000
	}
	for k := range count {
		n := 2 + k%7
		lambda := make([]float64, n)
		for i := range lambda[k%(n-1)+1:] {
			lambda[i] = 1 + mattest.Eps*float64(k%8)
		}
		a := mattest.Spectrum(lambda, uint64(k))
		if c.Factor(a) != nil {
			continue
		}
		factored++
		require.Less(t, mattest.CholResidual(a, factorOf(t, &c)), constants["factor"], "n=%d, matrix %d", n, k)
		require.False(t, math.IsNaN(c.LogDet()) || math.IsInf(c.LogDet(), 0))
	}
	require.Greater(t, factored, count/10)
}
