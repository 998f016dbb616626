package eig_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

type decomposition interface {
	Values() []float64
	VectorsT() *mat.Dense
}

type solver struct {
	decomposition
	name, bounds         string // bounds begins the names of its constants
	factor, factorValues func(a *mat.Sym) error
}

func solvers() []solver {
	j, s := new(eig.Jacobi), new(eig.Symmetric)
	return []solver{
		{j, "Jacobi", "", j.Factor, j.FactorValues},
		{s, "Symmetric", "symmetric, ", s.Factor, s.FactorValues},
	}
}

func TestNotFinite(t *testing.T) {
	for _, a := range mattest.NotFinite() {
		for _, e := range solvers() {
			require.NoError(t, e.factor(mattest.Sym(3, 1)))
			require.True(t, refused(t, a, e.factor(a)))
			require.True(t, refused(t, a, e.factorValues(a)))
			require.Empty(t, e.Values())
			require.PanicsWithValue(t, "eig: "+e.name+".VectorsT: no vectors", func() { e.VectorsT() })
		}
		var tr eig.Truncator
		p := mattest.Sym(a.N, 1)
		_, err := tr.Truncate(p, mattest.SPD(a.N, 1), 0.1)
		require.NoError(t, err)
		_, err = tr.Truncate(p, a, 0.1)
		require.True(t, refused(t, a, err))
		require.Equal(t, mattest.SPD(a.N, 1), p, "dst must stay as it was")
		require.PanicsWithValue(t, "eig: Truncator.SolveVec: no projection", func() { _ = tr.SolveVec(nil, nil) })
		require.PanicsWithValue(t, "eig: Truncator.Solve: no projection", func() { _ = tr.Solve(nil, nil) })
	}
	for _, mu := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := new(eig.Truncator).Truncate(mat.NewSym(3), mattest.SPD(3, 1), mu)
		require.ErrorIs(t, err, eig.ErrNotFinite)
		require.EqualError(t, err, fmt.Sprintf("eig: mu is %g", mu))
	}
}

func TestJacobiIsExactOnADiagonal(t *testing.T) {
	for _, d := range [][]float64{
		{3, -1, 4, 1e-300, -5}, {1e91, 1e-290}, {1e16, 1e-308}, {1, 0x1p-1074}, {1e-300, 0x1p-1074}, {1e299, 1e-290},
	} {
		a := mat.NewSym(len(d))
		mat.AddDiag(a, d)
		var e eig.Jacobi
		require.NoError(t, e.Factor(a))
		assert.Equal(t, slices.Sorted(slices.Values(d)), e.Values())
	}
}

// Of a and c at (0, 0) and (1, 1), b beside: c − b²/a and a, to the last digits.
func TestJacobiAtTheEndsOfTheRange(t *testing.T) {
	for _, v := range [][3]float64{{1e280, 0.5, 1e-280}, {1e-3, 1e-155, 1e-300}, {1e20, 1e-140, 1e-290}, {1e40, 1, 1e-39}} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			a, least := mat.NewSym(2), v[2]-v[1]/v[0]*v[1]
			a.Set(order[0], order[0], v[0])
			a.Set(1, 0, v[1])
			a.Set(order[1], order[1], v[2])
			var e eig.Jacobi
			require.NoError(t, e.Factor(a))
			assert.InEpsilonSlice(t, []float64{least, v[0]}, e.Values(), 8*mattest.Eps, "%g", v)
		}
	}
}

func TestMisusePanicsWithAConstant(t *testing.T) {
	a, torn := mattest.Sym(3, 1), mattest.Sym(3, 1)
	torn.Stride = 0
	const overlap = ": rows overlap, Stride is too small"
	for _, e := range solvers() {
		none := "eig: " + e.name + ".VectorsT: no vectors"
		assert.PanicsWithValue(t, none, func() { e.VectorsT() })
		require.NoError(t, e.factorValues(a))
		assert.PanicsWithValue(t, none, func() { e.VectorsT() })
		assert.PanicsWithValue(t, "eig: "+e.name+".Factor"+overlap, func() { _ = e.factor(torn) })
		assert.PanicsWithValue(t, "eig: "+e.name+".FactorValues"+overlap, func() { _ = e.factorValues(torn) })
	}
	data := make([]float64, 16)
	wide, narrow := &mat.Sym{N: 3, Stride: 4, Data: data}, &mat.Sym{N: 3, Stride: 3, Data: data}
	for _, c := range []struct {
		dst, a *mat.Sym
		want   string
	}{
		{mat.NewSym(2), a, ": dimension mismatch"},
		{a, torn, overlap},
		{torn, a, overlap},
		{wide, narrow, ": dst overlaps an operand"},
	} {
		assert.PanicsWithValue(t, "eig: Truncator.Truncate"+c.want, func() { _, _ = new(eig.Truncator).Truncate(c.dst, c.a, 0) })
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	const n = 64
	all := []*mat.Sym{mattest.Sym(n, 1), mat.NewSym(n), dst1(n), dct4(n)}
	for n := 17; n >= 0; n-- {
		all = append(all, mattest.Sym(n, uint64(n)))
	}
	for _, e := range solvers() {
		for i, a := range all {
			for _, first := range all[:min(i+1, 4)] {
				require.NoError(t, e.factor(first))
				assert.Zero(t, testing.AllocsPerRun(2, func() { must(e.factor(a)) }), "%s, matrix %d", e.name, i)
				assert.Zero(t, testing.AllocsPerRun(2, func() { must(e.factorValues(a)) }), "%s, matrix %d", e.name, i)
				if a.N < n || e.name == "Jacobi" {
					break
				}
			}
		}
	}
}

func TestSymmetricOverflow(t *testing.T) {
	a := mat.SymOf(3, slices.Repeat([]float64{math.MaxFloat64}, 9))
	var e eig.Symmetric
	require.NoError(t, e.Factor(a))
	require.Len(t, e.Values(), 3)
	assert.True(t, math.IsInf(e.Values()[2], 1))
	v := e.VectorsT()
	assert.Less(t, mattest.Residual(v, mattest.Trans(v), mattest.One(3), 1), float64(bound))
}

var constants = map[string]float64{
	"eigenvalues":              4,
	"eigenvalues, relative":    4,
	"eigenvectors":             4,
	"orthogonality":            4,
	"symmetric, eigenvalues":   4,
	"symmetric, eigenvectors":  4,
	"symmetric, orthogonality": 16,
	"projection":               16, // and so P ⪰ (mu − 16u)·I
	"projection, tridiagonal":  16,
	"projection, krylov":       16,
	"idempotence":              16,
	"report":                   16,
	"solve":                    4,
}

// below is underflow's share of a bound; from above on, nothing is promised.
const (
	below = 0x1p-1060
	above = 0x1p1020
)

func TestAccuracy(t *testing.T) { mattest.EachKernel(t, testAccuracy) }

func testAccuracy(t *testing.T) {
	c := newAccuracy()
	count, check := mattest.Count(120, 1000, 50_000), c.l.Check
	if testing.Short() {
		check = c.l.Within // which krylov does not reach
	}
	routes := map[eig.Route]int{}
	for k := range count {
		name, a := mattest.Draw(k)
		a = mattest.PadSym(a, k%2)
		c.where = fmt.Sprintf("%s, n=%d, matrix %d", name, a.N, k)
		require.True(t, c.decompositions(t, a), c.where)
		c.relative(a)
		mu := c.someMu(a, uint64(k))
		c.where += fmt.Sprintf(", mu=%g", mu)
		require.True(t, c.truncate(t, a, mu), c.where)
		c.solve(c.p)
		routes[c.rep.Route]++
	}
	assert.Greater(t, routes[eig.RouteClear], count/10)
	assert.Greater(t, routes[eig.RouteTridiagonal], count/2)
	check(t)
}

func FuzzTruncate(f *testing.F) {
	mattest.Fuzz(f, func(t *testing.T, b mattest.Bytes) {
		c, a := newAccuracy(), b.Sym()
		c.decompositions(t, a)
		if c.truncate(t, a, b.Float()) {
			x := b.Vec(a.N)
			_ = c.tr.SolveVec(x, x)
		}
		c.l.Within(t)
	})
}

type accuracy struct {
	l       *mattest.Ledger
	where   string
	solvers []solver
	tr, by  eig.Truncator
	p       *mat.Sym
	rep     eig.Report
	d, v    *mattest.Exact // A = Vᵀ·D·V
	lambda  []*big.Float   // exact, ascending
}

func newAccuracy() *accuracy { return &accuracy{l: mattest.NewLedger(constants), solvers: solvers()} }

func (c *accuracy) see(name string, err, unit float64) {
	c.l.See(name, max(0, err-below), unit, c.where)
}

func (c *accuracy) exact(a *mat.Sym, guess *mat.Dense) {
	c.d, c.v = mattest.ExactEig(a, guess)
	c.lambda = nil
	for i := range a.N {
		c.lambda = append(c.lambda, c.d.At(i, i))
	}
	slices.SortFunc(c.lambda, (*big.Float).Cmp)
}

// decompositions finds the exact eigenpairs by both solvers; false: a is refused, or may overflow.
func (c *accuracy) decompositions(t *testing.T, a *mat.Sym) bool {
	unit, size := float64(a.N)*mattest.Eps, math.Inf(1)
	for i, e := range c.solvers {
		err := e.factor(a)
		mattest.CheckPadSym(t, a)
		if refused(t, a, err) {
			require.Empty(t, e.Values())
			continue
		}
		v, values := mattest.ExactDense(e.VectorsT()), e.Values()
		require.Len(t, values, a.N)
		c.see(e.bounds+"orthogonality", v.MulTrans(v).Sub(mattest.ExactDense(mattest.One(a.N))).Norm(), unit)
		if size = mattest.ExactSym(a).Norm(); !(size < above) {
			continue
		}
		if i == 0 {
			c.exact(a, e.VectorsT())
		}
		for i, v := range values {
			c.see(e.bounds+"eigenvalues", distance(v, c.lambda[i]), unit*size)
		}
		lambda := mattest.ExactSym(mat.NewSym(a.N)).AddDiag(func(i int) float64 { return values[i] })
		residual := v.MulTrans(mattest.ExactSym(a)).Sub(lambda.MulTrans(v.Trans()))
		c.see(e.bounds+"eigenvectors", residual.Norm(), unit*size)
	}
	return size < above
}

func refused(t *testing.T, a *mat.Sym, err error) bool {
	t.Helper()
	if mattest.Finite(mat.MaxAbsSym(a)) {
		require.NoError(t, err)
		return false
	}
	var bad *eig.NotFiniteError
	require.ErrorIs(t, err, eig.ErrNotFinite)
	require.ErrorAs(t, err, &bad)
	require.False(t, mattest.Finite(a.At(bad.I, bad.J)))
	return true
}

// relative holds Jacobi's eigenvalues of a positive definite matrix to units of n·eps·κ(D⁻¹AD⁻¹).
func (c *accuracy) relative(a *mat.Sym) {
	if c.lambda[0].Sign() <= 0 {
		return
	}
	h := mattest.ExactSym(a)
	for i := range a.N {
		for j := range a.N {
			h.At(i, j).Quo(h.At(i, j), new(big.Float).SetFloat64(math.Sqrt(a.At(i, i))))
			h.At(i, j).Quo(h.At(i, j), new(big.Float).SetFloat64(math.Sqrt(a.At(j, j))))
		}
	}
	inverse, pivots := h.Solve(mattest.ExactDense(mattest.One(a.N)))
	if pivots == nil {
		return
	}
	unit := float64(a.N) * mattest.Eps * h.Norm() * inverse.Norm()
	if !(unit < 0.1) {
		return
	}
	for i, v := range c.solvers[0].Values() {
		c.l.See("eigenvalues, relative", distance(v, c.lambda[i]), unit*mattest.Float(c.lambda[i]), c.where)
	}
}

func (c *accuracy) someMu(a *mat.Sym, seed uint64) float64 {
	rng := mattest.Rand(seed)
	low, high := mattest.Float(c.lambda[0]), mattest.Float(c.lambda[a.N-1])
	some, size, share := mattest.Float(c.lambda[rng.IntN(a.N)]), mat.NormFrobSym(a)*math.Pow(10, -16*rng.Float64()), rng.Float64()
	return []float64{0, some, some * (1 + mattest.Eps*float64(rng.IntN(9)-4)), some + size, size,
		low - (high-low)*share, high + (high-low)*share, low + (high-low)*share}[rng.IntN(8)]
}

// truncate looks at P, at its projection and at each route; false: a or mu is refused, or close to
// overflow. The eigenpairs are those of decompositions, if they are a's.
func (c *accuracy) truncate(t *testing.T, a *mat.Sym, mu float64) bool {
	var err error
	c.p = mattest.PadSym(mat.NewSym(a.N), 1)
	c.rep, err = c.tr.Truncate(c.p, a, mu)
	mattest.CheckPadSym(t, a)
	mattest.CheckPadSym(t, c.p)
	if !mattest.Finite(mu) {
		require.ErrorIs(t, err, eig.ErrNotFinite)
		return false
	}
	if refused(t, a, err) {
		require.Zero(t, mat.MaxAbsSym(c.p))
		return false
	}
	n := float64(a.N)
	size := mattest.ExactSym(a).Norm() + math.Sqrt(n)*math.Abs(mu)
	if !(size < above) {
		return false
	}
	if c.v == nil {
		c.exact(a, mattest.Orthogonal(a.N, 1))
	}
	unit := n * mattest.Eps * size
	exact, change := c.projection(a, mu)
	least := new(big.Float).SetFloat64(mu)
	if a.N > 0 && c.lambda[0].Cmp(least) < 0 {
		least = c.lambda[0]
	}
	c.see("projection", mattest.ExactSym(c.p).Sub(exact).Norm(), unit)
	c.see("report", distance(c.rep.MinEigenvalue, least), unit)
	c.see("report", math.Abs(c.rep.Change-change), unit)

	again, _ := truncate(t, &c.by, c.p, mu)
	c.see("idempotence", mattest.ExactSym(again).Sub(mattest.ExactSym(c.p)).Norm(), unit)
	for _, r := range []eig.Route{eig.RouteTridiagonal, eig.RouteKrylov} {
		if _, ok := c.by.TruncateBy(r, again, a, mu); ok {
			c.see("projection, "+r.String(), mattest.ExactSym(again).Sub(exact).Norm(), unit)
		} else {
			require.Equal(t, eig.RouteKrylov, r)
		}
	}
	return true
}

// projection returns P = A + Σ_{λ<mu} (mu − λ)·v·vᵀ and ‖P − A‖_F, exact.
func (c *accuracy) projection(a *mat.Sym, mu float64) (p *mattest.Exact, change float64) {
	clip, v := mattest.ExactSym(mat.NewSym(a.N)), c.v.Trans()
	for i := range a.N {
		if d, m := c.d.At(i, i), big.NewFloat(mu); d.Cmp(m) < 0 {
			clip.At(i, i).Sub(d, m)
		}
	}
	return mattest.ExactSym(a).Sub(v.MulTrans(clip).MulTrans(v)), clip.Norm()
}

func (c *accuracy) solve(p *mat.Sym) {
	b, x := mattest.Dense(p.N, 1, 3), mat.NewDense(p.N, 1)
	if c.tr.SolveVec(x.Data, b.Data) != nil {
		return
	}
	xe := mattest.ExactDense(x)
	residual := mattest.ExactDense(b).Sub(mattest.ExactSym(p).MulTrans(xe.Trans()))
	c.l.See("solve", residual.Norm(), float64(p.N)*mattest.Eps*mat.NormFrobSym(p)*xe.Norm(), c.where)
}

func distance(v float64, exact *big.Float) float64 {
	d := new(big.Float).SetPrec(320).SetFloat64(v)
	return math.Abs(mattest.Float(d.Sub(d, exact)))
}
