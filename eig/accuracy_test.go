package eig_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

var constants = map[string]float64{
	"eigenvalues":              4,
	"eigenvalues, relative":    4,
	"eigenvectors":             4,
	"orthogonality":            4,
	"symmetric, eigenvalues":   4,
	"symmetric, eigenvectors":  4,
	"symmetric, orthogonality": 16,
	"projection":               16,
	"projection, tridiagonal":  16,
	"projection, krylov":       16,
	"floor":                    16,
	"idempotence":              16,
	"report":                   16,
	"solve":                    4,
}

// Every bound holds against arithmetic of 320 bits, on a long list of small matrices.
func TestAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	defer kernel.SetLanes(kernel.Lanes())
	for _, n := range kernel.AllLanes() {
		kernel.SetLanes(n)
		t.Run(fmt.Sprintf("lanes=%d", n), testAccuracy)
	}
}

func testAccuracy(t *testing.T) {
	count := 1000
	if mattest.Long() {
		count = 50_000
	}
	l := mattest.NewLedger(constants)
	c := accuracy{l: l}
	routes := map[eig.Route]int{}
	for k := range count {
		name, a := mattest.Draw(k)
		c.where = fmt.Sprintf("%s, n=%d, matrix %d", name, a.N, k)
		c.jacobi(t, a)
		mu := c.someMu(a, uint64(k))
		c.where += fmt.Sprintf(", mu=%g", mu)
		routes[c.truncate(t, a, mu)]++
	}
	assert.Greater(t, routes[eig.RouteClear], count/10)
	assert.Greater(t, routes[eig.RouteTridiagonal], count/2)
	l.Check(t)
}

type accuracy struct {
	l      *mattest.Ledger
	where  string
	e      eig.Jacobi
	s      eig.Symmetric
	tr, by eig.Truncator
	lambda []*big.Float // exact
	v      *mattest.Exact
}

func (c *accuracy) jacobi(t *testing.T, a *mat.Sym) {
	require.NoError(t, c.e.Factor(a), c.where)
	c.lambda, c.v = mattest.ExactEig(a, c.e.VectorsT())
	c.decomposition(a, &c.e, [...]string{"eigenvalues", "eigenvectors", "orthogonality"})
	c.relative(a)

	require.NoError(t, c.s.Factor(a), c.where)
	names := [...]string{"symmetric, eigenvalues", "symmetric, eigenvectors", "symmetric, orthogonality"}
	c.decomposition(a, &c.s, names)
}

type decomposition interface {
	Values() []float64
	VectorsT() *mat.Dense
}

func (c *accuracy) decomposition(a *mat.Sym, e decomposition, names [3]string) {
	unit := float64(a.N) * mattest.Eps
	norm := norm(a)
	for i, v := range e.Values() {
		c.l.See(names[0], distance(v, c.lambda[i]), unit*norm, c.where)
	}
	v := mattest.ExactDense(e.VectorsT())
	lambda := mattest.NewExact(a.N, a.N).AddDiag(func(i int) float64 { return e.Values()[i] })
	residual := v.MulTrans(mattest.ExactSym(a)).Sub(lambda.MulTrans(v.Trans()))
	c.l.See(names[1], residual.Norm(), unit*norm, c.where)
	c.l.See(names[2], v.MulTrans(v).Sub(mattest.Identity(a.N)).Norm(), unit, c.where)
}

// relative holds the eigenvalues of a positive definite matrix to units of n·eps·κ(D⁻¹AD⁻¹).
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
	low, ok := h.Cholesky()
	if !ok {
		return
	}
	unit := float64(a.N) * mattest.Eps * h.Norm() * low.CholeskySolve(mattest.Identity(a.N)).Norm()
	if !(unit < 0.1) {
		return
	}
	for i, v := range c.e.Values() {
		c.l.See("eigenvalues, relative", distance(v, c.lambda[i]), unit*mattest.Float(c.lambda[i]), c.where)
	}
}

func (c *accuracy) someMu(a *mat.Sym, seed uint64) float64 {
	rng := mattest.Rand(seed)
	low, high := mattest.Float(c.lambda[0]), mattest.Float(c.lambda[a.N-1])
	some := mattest.Float(c.lambda[rng.IntN(a.N)])
	switch rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return some
	case 2:
		return some * (1 + mattest.Eps*float64(rng.IntN(9)-4))
	case 3:
		return some + norm(a)*math.Pow(10, -16*rng.Float64())
	case 4:
		return low - (high-low)*rng.Float64()
	case 5:
		return high + (high-low)*rng.Float64()
	case 6:
		return norm(a) * math.Pow(10, -16*rng.Float64())
	}
	return low + (high-low)*rng.Float64()
}

func (c *accuracy) truncate(t *testing.T, a *mat.Sym, mu float64) eig.Route {
	n := float64(a.N)
	unit := n * mattest.Eps * (norm(a) + math.Sqrt(n)*math.Abs(mu))
	exact, change := exactProjection(a, mu, c.lambda, c.v)
	least := new(big.Float).SetFloat64(mu)
	if c.lambda[0].Cmp(least) < 0 {
		least = c.lambda[0]
	}

	p := mattest.PadSym(mat.NewSym(a.N), 1)
	rep, err := c.tr.Truncate(p, a, mu)
	require.NoError(t, err, c.where)
	mattest.CheckPadSym(t, p)
	c.l.See("projection", mattest.ExactSym(p).Sub(exact).Norm(), unit, c.where)
	c.l.See("report", distance(rep.MinEigenvalue, least), unit, c.where)
	c.l.See("report", math.Abs(rep.Change-change), unit, c.where)
	c.floor(p, mu, unit)
	c.solve(t, p)

	again := mat.NewSym(a.N)
	_, err = c.by.Truncate(again, p, mu)
	require.NoError(t, err, c.where)
	c.l.See("idempotence", mattest.ExactSym(again).Sub(mattest.ExactSym(p)).Norm(), unit, c.where)

	for _, r := range []eig.Route{eig.RouteTridiagonal, eig.RouteKrylov} {
		if _, ok := c.by.TruncateBy(r, again, a, mu); ok {
			c.l.See("projection, "+r.String(), mattest.ExactSym(again).Sub(exact).Norm(), unit, c.where)
		} else {
			require.Equal(t, eig.RouteKrylov, r, c.where)
		}
	}
	return rep.Route
}

// exactProjection returns P = A + Σ_{λ<mu} (mu − λ)·v·vᵀ and ‖P − A‖_F.
func exactProjection(a *mat.Sym, mu float64, lambda []*big.Float, v *mattest.Exact) (p *mattest.Exact, change float64) {
	p = mattest.ExactSym(a)
	clipped := mattest.NewExact(1, a.N)
	for i, l := range lambda {
		if d := new(big.Float).Sub(new(big.Float).SetPrec(320).SetFloat64(mu), l); d.Sign() > 0 {
			p.AddOuter(d, v, i)
			clipped.At(0, i).Set(d)
		}
	}
	return p, clipped.Norm()
}

// floor finds, up to a factor of 2, the r from which p − mu·I + r·unit·I is positive definite.
func (c *accuracy) floor(p *mat.Sym, mu, unit float64) {
	r := 0x1p-4
	for ; r < 1e6; r *= 2 {
		e := mattest.ExactSym(p).AddDiag(func(int) float64 { return -mu }).AddDiag(func(int) float64 { return r * unit })
		if _, ok := e.Cholesky(); ok || unit == 0 {
			break
		}
	}
	c.l.See("floor", r, 1, c.where)
}

func (c *accuracy) solve(t *testing.T, p *mat.Sym) {
	b, x := mattest.Vec(p.N, 3), make([]float64, p.N)
	if c.tr.SolveVec(x, b) != nil {
		return
	}
	xe := mattest.ExactVec(x)
	residual := mattest.ExactVec(b).Sub(mattest.ExactSym(p).MulTrans(xe.Trans()))
	c.l.See("solve", residual.Norm(), float64(p.N)*mattest.Eps*norm(p)*xe.Norm(), c.where)
}

func distance(v float64, exact *big.Float) float64 {
	d := new(big.Float).SetPrec(320).SetFloat64(v)
	return math.Abs(mattest.Float(d.Sub(d, exact)))
}
