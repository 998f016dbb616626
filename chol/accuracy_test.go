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

func testAccuracy(t *testing.T) {
	c, count := newAccuracy(), mattest.Count(400, 3000, 60_000)
	factored := 0
	for k := range count {
		name, a := mattest.Draw(k)
		a = mattest.PadSym(a, k%2)
		c.where = fmt.Sprintf("%s, n=%d, matrix %d", name, a.N, k)
		x := mattest.Dense(1, a.N, uint64(k))
		mat.Scale(x, math.Sqrt(mat.NormFrobSym(a)), x)
		if c.factor(t, a, x.Data) {
			factored++
		}
	}
	require.Greater(t, factored, count/3)
	require.Less(t, factored, count*9/10)
	c.l.Check(t)
}

func FuzzFactor(f *testing.F) {
	mattest.Fuzz(f, func(t *testing.T, b mattest.Bytes) {
		a, c := b.Sym(), newAccuracy()
		c.factor(t, a, b.Vec(a.N))
		shift := b.Float()
		require.Equal(t, c.c.FactorShifted(a, shift) == nil, c.d.PosDef(a, shift))
		c.l.Within(t)
	})
}

type accuracy struct {
	l     *mattest.Ledger
	where string
	c, d  chol.Cholesky
}

func newAccuracy() *accuracy { return &accuracy{l: mattest.NewLedger(constants)} }

func (c *accuracy) see(name string, err, unit float64) {
	c.l.See(name, max(0, err-0x1p-1060), unit, c.where)
}

// factor checks all that a factor is for, updates too, and reports whether there is one.
func (c *accuracy) factor(t *testing.T, a *mat.Sym, x []float64) bool {
	before := mattest.Full(a)
	err := c.c.Factor(a)
	size := mat.NormFrobSym(a)
	large := slices.Repeat([]float64{-100 * math.Sqrt(size)}, a.N)
	for _, shift := range []float64{0, -1, -0.3, 0.1, 0.3} {
		if a.N > 0 {
			shift *= a.At(a.N-1, a.N-1)
		}
		positive := c.d.FactorShifted(a, shift) == nil
		if positive {
			_ = c.d.Downdate(large) // leaves large negative numbers in the workspace
		}
		require.Equal(t, positive, c.d.PosDef(a, shift), c.where)
	}
	mattest.CheckPadSym(t, a)
	require.Equal(t, mattest.Bits(before), mattest.Bits(mattest.Full(a)))
	require.Equal(t, err == nil, c.c.Valid(), c.where)
	normal := size > 1e-160 && size < 1e160 && (err != nil || c.c.Cond() < 1e100)
	if normal && (err == nil || requireNotPosDef(t, err, a.N).Value <= 0) {
		c.pivots(a, err == nil)
	}
	if err != nil {
		requireNotPosDef(t, err, a.N)
		require.Zero(t, c.c.Order(), c.where)
		return false
	}
	require.True(t, mattest.Finite(mat.MaxAbsSym(a)))
	c.residual(t, a)
	require.True(t, mattest.Finite(c.c.LogDet()))
	require.GreaterOrEqual(t, c.c.Cond(), 1.0)
	inv := mattest.PadSym(mat.NewSym(a.N), 1)
	c.c.Inverse(inv)
	mattest.CheckPadSym(t, inv)
	if normal {
		c.answers(a, inv)
	}
	low := factorOf(t, &c.c)
	require.NoError(t, c.c.Factor(a))
	up := c.update(t, "update", c.c.Update, low, x, normal)
	c.update(t, "downdate", c.c.Downdate, up, x, normal)
	require.NoError(t, c.c.Factor(a))
	c.update(t, "downdate", c.c.Downdate, low, x, normal)
	return true
}

// pivots finds the least power of two r at which A ± r·n·eps·D² changes definiteness.
func (c *accuracy) pivots(a *mat.Sym, positive bool) {
	sign, name := -1.0, "pivots, no"
	if positive {
		sign, name = 1, "pivots, yes"
	}
	r := 0.0
	for ; ; r = max(2*r, 0x1p-4) {
		e := mattest.ExactSym(a).AddDiag(func(i int) float64 { return sign * r * float64(a.N) * mattest.Eps * math.Abs(a.At(i, i)) })
		if _, pivots := e.Solve(mattest.ExactDense(mat.NewDense(a.N, 0))); (pivots != nil) == positive || r > 1e6 {
			break
		}
	}
	c.l.See(name, r, 1, c.where)
}

func (c *accuracy) residual(t *testing.T, a *mat.Sym) {
	unit := float64(a.N) * mattest.Eps
	low := mattest.ExactDense(factorOf(t, &c.c))
	diff := low.MulTrans(low).Sub(mattest.ExactSym(a))
	c.see("factor", diff.Norm(), unit*mattest.ExactSym(a).Norm())
	for i := range a.N {
		for j := range i + 1 {
			d := math.Sqrt(a.At(i, i)) * math.Sqrt(a.At(j, j))
			c.see("factor, scaled", math.Abs(mattest.Float(diff.At(i, j))), unit*d)
		}
	}
}

func (c *accuracy) answers(a *mat.Sym, inv *mat.Sym) {
	n := float64(a.N) * mattest.Eps
	exact := mattest.ExactSym(a)
	inverse, pivots := exact.Solve(mattest.ExactDense(mattest.One(a.N)))
	if pivots == nil {
		return
	}
	b := mattest.Vec(a.N, uint64(a.N))
	x := make([]float64, a.N)
	c.c.SolveVec(x, b)
	xe, be := mattest.ExactDense(column(x)), mattest.ExactDense(column(b))
	want := inverse.MulTrans(be.Trans())
	c.see("residual", be.Sub(exact.MulTrans(xe.Trans())).Norm(), n*exact.Norm()*xe.Norm())
	unit := n * exact.Norm() * inverse.Norm()
	if !(unit < 0.1) {
		return // nothing else is promised
	}
	c.see("solution", xe.Sub(want).Norm(), unit*want.Norm())
	c.see("inverse", mattest.ExactSym(inv).Sub(inverse).Norm(), unit*inverse.Norm())
	det, size := 0.0, 0.0
	for _, p := range pivots {
		det += math.Log(p)
		size += math.Abs(math.Log(p))
	}
	c.see("log det", math.Abs(c.c.LogDet()-det), unit+mattest.Eps*size)
	truth := exact.Norm1() * inverse.Norm1()
	c.see("cond, above", max(0, c.c.Cond()-truth), unit*truth)
	c.see("cond, below", truth, chol.CondEstimate(&c.c))
	if a.N <= chol.CondExact {
		c.see("cond, exact", max(0, truth-c.c.Cond()), unit*truth)
	}
}

// update changes the factor low, and returns what it becomes; a failure leaves it.
func (c *accuracy) update(t *testing.T, name string, change func(x []float64) error, low *mat.Dense, x []float64,
	normal bool) *mat.Dense {
	kept := mattest.Bits(column(x))
	err := change(x)
	require.Equal(t, kept, mattest.Bits(column(x)))
	y := mattest.Vec(len(x), 1)
	b := mattest.ExactDense(column(y))
	c.c.SolveVec(y, y)
	after := factorOf(t, &c.c)
	require.True(t, mattest.Finite(mat.MaxAbs(after)))
	if err != nil {
		require.ErrorIs(t, err, chol.ErrNotPosDef)
		require.True(t, name == "downdate" || !normal || !(mat.Norm(x) < 1e150), c.where)
		require.Equal(t, mattest.Bits(low), mattest.Bits(after))
		return low
	}
	n := float64(len(x)) * mattest.Eps
	less, more, xe, ye := mattest.ExactDense(low), mattest.ExactDense(after), mattest.ExactDense(column(x)), mattest.ExactDense(column(y))
	if normal && c.c.Cond() < 1e12 {
		c.see("residual", b.Sub(more.MulTrans(more).MulTrans(ye.Trans())).Norm(), n*more.MulTrans(more).Norm()*ye.Norm())
	}
	norm := max(less.Norm(), more.Norm())
	if name == "downdate" {
		less, more = more, less
	}
	diff := more.MulTrans(more).Sub(less.MulTrans(less)).Sub(xe.MulTrans(xe))
	c.see(name, diff.Norm(), n*norm*norm)
	return after
}

// A pivot left by cancellation has no digits; the factor must use that one number everywhere.
func TestPivotsWithoutDigits(t *testing.T) { mattest.EachKernel(t, testPivotsWithoutDigits) }

func testPivotsWithoutDigits(t *testing.T) {
	var c chol.Cholesky
	factored, count := 0, mattest.Count(5000, 20_000, 20_000)
	for k := range count {
		n := 2 + k%7
		ones := slices.Repeat([]float64{1 + mattest.Eps*float64(k%8)}, n-k%(n-1)-1)
		a := mattest.Spectrum(append(ones, make([]float64, k%(n-1)+1)...), uint64(k))
		if c.Factor(a) != nil {
			continue
		}
		factored++
		require.Less(t, factorError(t, a, &c), constants["factor"], "n=%d, matrix %d", n, k)
		require.False(t, math.IsNaN(c.LogDet()) || math.IsInf(c.LogDet(), 0))
	}
	require.Greater(t, factored, count/10)
}

func TestDominanceHasAMargin(t *testing.T) {
	for _, n := range []int{15, 33, 100} {
		a := mat.NewSym(n)
		for i := range n {
			a.Set(i, i, 1+0x1p-50*float64(n))
			a.Set(i, 0, 0x1.fp-54)
		}
		a.Set(n-1, 0, 1)
		a.Set(0, 0, 1+0x1p-54*float64(n)) // less than the sum of the others, which is 1 + 1.94·2⁻⁵⁴·(n−2)
		require.False(t, chol.Dominant(a, 0), "n=%d", n)
		a.Set(0, 0, 1+0x1p-50*float64(n))
		require.True(t, chol.Dominant(a, 0), "n=%d", n)
	}
}

func TestCondOfIntegers(t *testing.T) { mattest.EachKernel(t, testCondOfIntegers) }

// Exact up to order 16, else an estimate: small integers make its start orthogonal to all that makes
// A or A⁻¹ large, and the diagonals of Kahan's and of graded matrices hide what does.
func testCondOfIntegers(t *testing.T) {
	var c chol.Cholesky
	rng := mattest.Rand(1)
	trits := func(n int) []float64 { return mattest.List(n, func(int) float64 { return float64(rng.IntN(3) - 1) }) }
	for _, family := range []struct {
		name  string
		limit float64 // of κ₁ over the estimate
		make  func(a *mat.Sym)
	}{
		{"I + θwwᵀ", 1.01, func(a *mat.Sym) {
			mat.AddIdentity(a, 1)
			mat.RankOne(a, 1e5, trits(a.N))
		}},
		{"BBᵀ + δI", 4, func(a *mat.Sym) {
			k := 1 + rng.IntN(a.N)
			mat.RankK(a, 1, mat.DenseOf(a.N, k, trits(a.N*k)))
			mat.AddIdentity(a, math.Pow(10, -7*rng.Float64()))
		}},
		{"a random spectrum", 3, func(a *mat.Sym) {
			span := 8 * rng.Float64()
			lambda := mattest.List(a.N, func(i int) float64 { return math.Pow(10, -span*float64(i)/float64(a.N)) })
			mat.CopySym(a, mattest.Spectrum(lambda, rng.Uint64()))
		}},
		{"LLᵀ, a diagonal of ones", 5, func(a *mat.Sym) {
			l := mat.NewDense(a.N, a.N)
			for i := range a.N {
				copy(l.Row(i), append(trits(i), 1))
			}
			mat.RankK(a, 1, l)
		}},
		{"RᵀR, Kahan's R", 2, func(a *mat.Sym) {
			l, cos := mat.NewDense(a.N, a.N), 0.05+0.25*rng.Float64()
			for i := range a.N {
				r := l.Row(i)[:i+1]
				for j := range r {
					r[j] = -cos * math.Pow(1-cos*cos, float64(j)/2)
				}
				r[i] /= -cos
			}
			mat.RankK(a, 1, l)
		}},
		{"BBᵀ, graded", 2, func(a *mat.Sym) {
			mat.AddIdentity(a, 1e-8)
			b := mat.NewDense(a.N, 2*a.N)
			for i := range a.N {
				mat.Axpy(b.Row(i), math.Pow(10, -3*float64(i)/float64(a.N)), trits(2*a.N))
			}
			mat.RankK(a, 1, b)
		}},
	} {
		worst := 1.0
		for k := range mattest.Count(1000, 4000, 4000) {
			n := 3 + rng.IntN(8)
			if k%100 == 0 {
				n = 17 + rng.IntN(44)
			}
			a, inv := mat.NewSym(n), mat.NewSym(n)
			family.make(a)
			require.NoError(t, c.Factor(a))
			if k%3 == 0 {
				require.NoError(t, c.Update(make([]float64, n)))
			}
			c.Inverse(inv)
			want := mattest.ExactSym(a).Norm1() * mattest.ExactSym(inv).Norm1()
			if !(want < 1e10) {
				continue // rounding
			}
			estimate := chol.CondEstimate(&c)
			if n <= chol.CondExact {
				require.InEpsilon(t, want, c.Cond(), 1e-3, "%s, matrix %d", family.name, k)
			} else {
				require.Equal(t, estimate, c.Cond(), "%s, matrix %d", family.name, k)
			}
			require.LessOrEqual(t, estimate, want*1.001, "%s, matrix %d", family.name, k)
			worst = max(worst, want/estimate)
		}
		assert.Less(t, worst, family.limit, family.name)
	}
}
