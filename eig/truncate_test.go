package eig_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/chol"
	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

// scaleOf is n·eps·(‖A‖_F + |mu|·√n), the unit of a projection's errors.
func scaleOf(a *mat.Sym, mu float64) float64 {
	n := float64(a.N)
	return n * mattest.Eps * (norm(a) + math.Abs(mu)*math.Sqrt(n))
}

func difference(a, b *mat.Sym) *mat.Sym {
	d := mat.NewSym(a.N)
	mat.AddScaledSym(d, a, -1, b)
	return d
}

func inner(a *mat.Sym, sa float64, b *mat.Sym, sb float64) float64 {
	s := 0.0
	for i := range a.N {
		for j := range a.N {
			s += a.At(i, j) / sa * (b.At(i, j) / sb)
		}
	}
	return s
}

// requireProjection: feasible, ⟨A − P, P − Z⟩ ≥ 0 for feasible Z, and idempotent.
func requireProjection(t *testing.T, a, p *mat.Sym, mu float64) {
	t.Helper()
	n, unit := a.N, scaleOf(a, mu)
	if n == 0 || unit == 0 {
		return
	}
	assert.True(t, atLeast(p, mu-bound*unit), "not feasible")

	// Z = mu·I and 2P − mu·I give complementarity; the others are mu·I + wwᵀ.
	ap, pm := difference(a, p), difference(p, mat.NewSym(n))
	mat.AddIdentity(pm, -mu)
	s := unit / (float64(n) * mattest.Eps)
	assert.InDelta(t, 0, inner(ap, s, pm, s), bound*float64(n)*mattest.Eps, "not nearest")
	assert.True(t, atLeast(difference(p, a), -bound*unit), "A − P must not be positive in any direction")
	for seed := range uint64(3) {
		z := mat.NewSym(n)
		mat.AddIdentity(z, mu/s)
		mat.RankOne(z, 1, mattest.Vec(n, seed))
		pz := mat.NewSym(n)
		mat.AddScaledSym(pz, z, -1/s, p)
		mat.ScaleSym(pz, -1, pz)
		assert.GreaterOrEqual(t, inner(ap, s, pz, 1), -bound*float64(n)*float64(n)*mattest.Eps, "not nearest")
	}

	again := mat.NewSym(n)
	var tr eig.Truncator
	_, err := tr.Truncate(again, p, mu)
	require.NoError(t, err)
	assert.LessOrEqual(t, norm(difference(again, p)), bound*unit, "not idempotent")
}

func atLeast(a *mat.Sym, least float64) bool {
	shifted := mat.NewSym(a.N)
	mat.CopySym(shifted, a)
	mat.AddIdentity(shifted, -least)
	var c chol.Cholesky
	return c.Factor(shifted) == nil
}

func valuesOf(t *testing.T, a *mat.Sym) []float64 {
	t.Helper()
	var e eig.Jacobi
	require.NoError(t, e.FactorValues(a))
	return e.Values()
}

func requireSolves(t *testing.T, tr *eig.Truncator, p *mat.Sym, mu float64) {
	t.Helper()
	n := p.N
	b := mattest.Vec(n, 9)
	x := append([]float64(nil), b...)
	if mu <= 0 || mu < 4*scaleOf(p, mu) {
		return
	}
	for range 2 { // the second finds the factor that the first made
		copy(x, b)
		require.NoError(t, tr.SolveVec(x, x))
		column := func(v []float64) *mat.Dense { return &mat.Dense{Rows: n, Cols: 1, Stride: 1, Data: v} }
		assert.Less(t, mattest.SolveResidual(p, column(x), column(b)), float64(bound))
	}
}

func requireReport(t *testing.T, rep eig.Report, lambda []float64, a, p *mat.Sym, mu float64) {
	t.Helper()
	unit := bound * scaleOf(a, mu)
	least, most := 0, 0
	for _, v := range lambda {
		if v < mu-unit {
			least++
		}
		if v < mu+unit {
			most++
		}
	}
	assert.GreaterOrEqual(t, rep.Clipped, least)
	assert.LessOrEqual(t, rep.Clipped, most)
	assert.InDelta(t, norm(difference(a, p)), rep.Change, unit)
	if rep.Clipped > 0 {
		assert.InDelta(t, lambda[0], rep.MinEigenvalue, unit)
	} else {
		assert.Equal(t, mu, rep.MinEigenvalue)
		assert.Zero(t, rep.Change)
	}
}

func thresholds(a *mat.Sym) []float64 {
	s := norm(a) / math.Sqrt(float64(max(a.N, 1)))
	if testing.Short() && a.N > 32 {
		return []float64{0.1, -0.5 * s, 3 * s}
	}
	return []float64{0, 0.1, 1e-3 * s, 0.5 * s, -0.5 * s, 3 * s, -3 * s}
}

func TestTruncateHardList(t *testing.T) {
	for _, c := range mattest.Hard() {
		t.Run(c.Name, func(t *testing.T) {
			var tr eig.Truncator
			if !c.Finite {
				p := mattest.Sym(c.A.N, 1)
				_, err := tr.Truncate(p, c.A, 0.1)
				require.ErrorIs(t, err, eig.ErrNotFinite)
				require.Equal(t, mattest.Sym(c.A.N, 1), p, "dst must stay as it was")
				require.PanicsWithValue(t, "eig: Truncator.SolveVec: no projection", func() { _ = tr.SolveVec(nil, nil) })
				require.PanicsWithValue(t, "eig: Truncator.Solve: no projection", func() { _ = tr.Solve(nil, nil) })
				return
			}
			lambda := valuesOf(t, c.A)
			for _, mu := range thresholds(c.A) {
				p := mat.NewSym(c.A.N)
				rep, err := tr.Truncate(p, c.A, mu)
				require.NoError(t, err)
				requireProjection(t, c.A, p, mu)
				requireReport(t, rep, lambda, c.A, p, mu)
				requireSolves(t, &tr, p, mu)
			}
		})
	}
}

func TestTruncateAtAllOrdersAndStrides(t *testing.T) {
	var tr eig.Truncator
	for _, n := range sizes {
		lambda := valuesOf(t, mattest.Sym(n, uint64(n)))
		for _, pad := range mattest.Strides {
			a := mattest.PadSym(mattest.Sym(n, uint64(n)), pad)
			p := mattest.PadSym(mat.NewSym(n), 2*pad)
			rep, err := tr.Truncate(p, a, 0.1)
			require.NoError(t, err)
			requireProjection(t, a, p, 0.1)
			requireReport(t, rep, lambda, a, p, 0.1)
			requireSolves(t, &tr, p, 0.1)
			mattest.CheckPadSym(t, a)
			mattest.CheckPadSym(t, p)

			// in place, with a fresh Truncator: the same bits
			var fresh eig.Truncator
			inPlace, err := fresh.Truncate(a, a, 0.1)
			require.NoError(t, err)
			require.Equal(t, rep, inPlace)
			require.Zero(t, norm(difference(a, p)))
		}
	}
}

func TestTruncateReturnsAFeasibleMatrixBitForBit(t *testing.T) {
	var tr eig.Truncator
	for _, n := range []int{0, 1, 7, 54} {
		a, p := mattest.SPD(n, 4), mat.NewSym(n)
		rep, err := tr.Truncate(p, a, 0.1)
		require.NoError(t, err)
		assert.Equal(t, eig.Report{MinEigenvalue: 0.1, Route: eig.RouteClear}, rep)
		assert.Equal(t, a, p)
		requireSolves(t, &tr, p, 0.1)
	}
}

func TestTruncateRefusesBadMu(t *testing.T) {
	var tr eig.Truncator
	for _, mu := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := tr.Truncate(mat.NewSym(3), mattest.SPD(3, 1), mu)
		require.ErrorIs(t, err, eig.ErrNotFinite)
		require.EqualError(t, err, fmt.Sprintf("eig: mu is %g", mu))
	}
}

func TestSolveAfterTruncationToASingularMatrix(t *testing.T) {
	var tr eig.Truncator
	for _, mu := range []float64{0, -1} {
		_, err := tr.Truncate(mat.NewSym(9), mattest.Sym(9, 2), mu)
		require.NoError(t, err)
		require.ErrorIs(t, tr.SolveVec(make([]float64, 9), make([]float64, 9)), chol.ErrNotPosDef)
	}
}

func TestTruncateSteadyStateAllocatesNothing(t *testing.T) {
	type list []*mat.Sym
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection allocates, too
	for _, c := range []struct {
		name         string
		route        eig.Route
		seen, others list
	}{
		{"clear", eig.RouteClear, list{mattest.SPD(24, 1)}, list{mattest.SPD(24, 2)}},
		{"half", eig.RouteTridiagonal, list{mattest.Sym(24, 1)},
			list{few(24, 1, 0.1), few(24, 12, 0.1), few(24, 23, 0.1)}},
		{"one", eig.RouteTridiagonal, list{few(64, 1, 0.1), few(64, 22, 0.1)},
			list{few(64, 31, 0.1), few(64, 33, 0.1)}},
		{"three far", eig.RouteKrylov, list{spiked(100, -3, -2, -1)},
			list{spiked(100, -30, -20, -10), spiked(100, -2)}},
		{"few", eig.RouteTridiagonal, list{few(200, 3, 0.1), few(200, 100, 0.1)}, list{few(200, 2, 0.1)}},
		{"many of many", eig.RouteTridiagonal, list{mattest.Sym(200, 1), few(200, 40, 0.1)},
			list{few(200, 170, 0.1), few(200, 100, 0.1)}},
	} {
		n := c.seen[0].N
		p, x := mat.NewSym(n), mattest.Vec(n, 3)
		var tr eig.Truncator
		truncate := func(matrices list) {
			for _, a := range matrices {
				rep, err := tr.Truncate(p, a, 0.1)
				if err != nil || rep.Route != c.route {
					panic(fmt.Sprint(rep.Route, err))
				}
				if err := tr.SolveVec(x, x); err != nil {
					panic(err)
				}
			}
		}
		truncate(c.seen)
		calls := 0
		total := testing.AllocsPerRun(1, func() { // which makes a call before the one it counts
			if calls++; calls == 1 {
				return
			}
			for range rounds {
				truncate(c.others)
				truncate(c.seen)
			}
		})
		assert.Zero(t, total, c.name)
	}
}

// Whatever a Truncator tries first, and however far, a matrix of the same route has made the room.
func TestTruncateAllocatesNothingByARouteTakenBefore(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	mat.Mul(mat.NewDense(64, 64), mat.NewDense(64, 64), mat.NewDense(64, 64)) // the first of a process makes a workspace
	orders := []int{24, 48, 64, 100, 120}
	if testing.Short() {
		orders = []int{24, 64, 100}
	}
	for _, n := range orders {
		near := tridiagonal(n, constant(0.1), constant(1))
		others := []*mat.Sym{mattest.Sym(n, 1), few(n, 1, 0.1), few(n, 3, 0.1), few(n, n/2, 0.1), few(n, n-1, 0.1),
			near,
			spiked(n, -3), spiked(n, -3, -2, -1), spiked(n, -1, -1, -1), spiked(n, 0.05, 0.06, 0.07), bulk(n, -9, 0.09),
			spiked(n, mattest.Vec(n/16+1, 1)...), spiked(n, mattest.Vec(n/4, 1)...), bulk(n, -1e6, 0.0999)}
		for i, a := range others {
			shifted := mat.NewSym(n)
			mat.CopySym(shifted, a)
			mat.AddIdentity(shifted, -10)
			for _, first := range append([]*mat.Sym{shifted}, others[max(0, i-1):min(i+2, len(others))]...) {
				var tr eig.Truncator
				p := mat.NewSym(n)
				taken, err := tr.Truncate(p, first, 0.1)
				require.NoError(t, err)
				calls, route := 0, taken.Route
				total := testing.AllocsPerRun(1, func() {
					if calls++; calls == 2 { // the one that is counted
						rep, err := tr.Truncate(p, a, 0.1)
						if err != nil {
							panic(err)
						}
						route = rep.Route
					}
				})
				if route == taken.Route {
					assert.Zero(t, total, "n=%d, matrix %d, %v", n, i, route)
				}
			}
		}
	}
}

func TestErrorsAndRoutesHaveNames(t *testing.T) {
	assert.EqualError(t, &eig.NotFiniteError{I: 2, J: 1, Value: math.Inf(-1)}, "eig: entry (2, 1) is -Inf")
	assert.EqualError(t, &eig.NoConvergenceError{Sweeps: 60, OffNorm: 1.5},
		"eig: no convergence after 60 sweeps, off-diagonal norm 1.5")
	assert.ErrorIs(t, &eig.NoConvergenceError{}, eig.ErrNoConvergence)
	for r, name := range map[eig.Route]string{
		eig.RouteClear: "clear", eig.RouteKrylov: "krylov", eig.RouteTridiagonal: "tridiagonal", 9: "unknown",
	} {
		assert.Equal(t, name, r.String())
	}
}

// Accept leaves what Truncate leaves where nothing is clipped, and refuses an indefinite a.
func TestTruncatorAccept(t *testing.T) {
	for _, n := range []int{1, 5, 33} {
		a, b := mattest.SPD(n, uint64(n)), mattest.Vec(n, 1)
		var accepted, truncated eig.Truncator
		p, x, y := mat.NewSym(n), make([]float64, n), make([]float64, n)
		require.True(t, accepted.PosDef(a, 0.1))
		require.False(t, accepted.PosDef(a, float64(3*n)))
		require.NoError(t, accepted.Accept(a, 0.1))
		_, err := truncated.Truncate(p, a, 0.1)
		require.NoError(t, err)
		require.NoError(t, accepted.SolveVec(x, b))
		require.NoError(t, truncated.SolveVec(y, b))
		require.Equal(t, y, x)
		assert.Zero(t, testing.AllocsPerRun(5, func() { _ = accepted.Accept(a, 0.1) }))
		z := mat.DenseOf(n, 1, append([]float64(nil), b...))
		require.NoError(t, truncated.Solve(z, z))
		require.InDeltaSlice(t, y, z.Data, 1e-14)

		mat.AddIdentity(a, -float64(n))
		q := mat.NewSym(n)
		r, err := accepted.Truncate(q, a, 0.1)
		require.NoError(t, err)
		s, err := truncated.Truncate(p, a, 0.1)
		require.NoError(t, err)
		require.Equal(t, p, q)
		require.Equal(t, s, r)

		mat.AddIdentity(a, -float64(3*n))
		require.ErrorIs(t, accepted.Accept(a, 0.1), chol.ErrNotPosDef)
		require.Panics(t, func() { _ = accepted.SolveVec(x, b) })
	}
}

func TestRoutesWithoutVectors(t *testing.T) {
	if !kernel.Vector() {
		t.Skip("no vector code in this build or on this machine")
	}
	for _, n := range []int{17, 65, 129} {
		for name, a := range map[string]*mat.Sym{"half": mattest.Sym(n, 1), "few": few(n, 3, 0.1)} {
			want, p := mat.NewSym(n), mat.NewSym(n)
			var tr eig.Truncator
			_, err := tr.Truncate(want, a, 0.1)
			require.NoError(t, err)
			was := kernel.SetLanes(0)
			_, err = tr.Truncate(p, a, 0.1)
			kernel.SetLanes(was)
			require.NoError(t, err)
			requireProjection(t, a, p, 0.1)
			assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, 0.1), "%s of %d", name, n)
		}
	}
}
