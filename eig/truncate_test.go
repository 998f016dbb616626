package eig_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
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

func plus(a *mat.Sym, shift float64) *mat.Sym {
	s := mat.NewSym(a.N)
	mat.CopySym(s, a)
	mat.AddIdentity(s, shift)
	return s
}

func truncate(t *testing.T, tr *eig.Truncator, a *mat.Sym, mu float64) (*mat.Sym, eig.Report) {
	t.Helper()
	p := mat.NewSym(a.N)
	rep, err := tr.Truncate(p, a, mu)
	require.NoError(t, err)
	return p, rep
}

// requireProjection: P ⪰ mu·I, P ⪰ A, ⟨P − A, P − mu·I⟩ = 0, and P is its own projection.
func requireProjection(t *testing.T, a, p *mat.Sym, mu float64) {
	t.Helper()
	unit := scaleOf(a, mu)
	if unit == 0 {
		return
	}
	var c chol.Cholesky
	moved, inner := difference(p, a), 0.0
	assert.True(t, c.PosDef(p, mu-bound*unit), "not feasible")
	assert.True(t, c.PosDef(moved, -bound*unit), "A − P must not be positive in any direction")
	s, above := unit/(float64(a.N)*mattest.Eps), plus(p, -mu)
	for i := range a.N {
		for j := range a.N {
			inner += moved.At(i, j) / s * (above.At(i, j) / s)
		}
	}
	assert.InDelta(t, 0, inner, bound*float64(a.N)*mattest.Eps, "not nearest")
	again, _ := truncate(t, new(eig.Truncator), p, mu)
	assert.LessOrEqual(t, norm(difference(again, p)), bound*unit, "not idempotent")
}

func valuesOf(t *testing.T, a *mat.Sym) []float64 {
	t.Helper()
	var e eig.Jacobi
	require.NoError(t, e.FactorValues(a))
	return e.Values()
}

func requireSolves(t *testing.T, tr *eig.Truncator, p *mat.Sym, mu float64) {
	t.Helper()
	if mu <= 0 || mu < 4*scaleOf(p, mu) {
		return
	}
	b := mattest.Vec(p.N, 9)
	for range 2 { // the second finds the factor that the first made
		x := slices.Clone(b)
		require.NoError(t, tr.SolveVec(x, x))
		assert.Less(t, mattest.SolveResidual(p, mat.DenseOf(p.N, 1, x), mat.DenseOf(p.N, 1, b)), float64(bound))
	}
}

// requireReport holds rep to the eigenvalues lambda of a.
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
				p, rep := truncate(t, &tr, c.A, mu)
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
			inPlace, err := new(eig.Truncator).Truncate(a, a, 0.1)
			require.NoError(t, err)
			require.Equal(t, rep, inPlace)
			require.Zero(t, norm(difference(a, p)))
		}
	}
}

func TestTruncateReturnsAFeasibleMatrixBitForBit(t *testing.T) {
	var tr eig.Truncator
	for _, n := range []int{0, 1, 7, 54} {
		p, rep := truncate(t, &tr, mattest.SPD(n, 4), 0.1)
		assert.Equal(t, eig.Report{MinEigenvalue: 0.1, Route: eig.RouteClear}, rep)
		assert.Equal(t, mattest.SPD(n, 4), p)
		requireSolves(t, &tr, p, 0.1)
	}
}

func TestTruncateRefusesBadMu(t *testing.T) {
	for _, mu := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := new(eig.Truncator).Truncate(mat.NewSym(3), mattest.SPD(3, 1), mu)
		require.ErrorIs(t, err, eig.ErrNotFinite)
		require.EqualError(t, err, fmt.Sprintf("eig: mu is %g", mu))
	}
}

func TestSolveAfterTruncationToASingularMatrix(t *testing.T) {
	var tr eig.Truncator
	for _, mu := range []float64{0, -1} {
		truncate(t, &tr, mattest.Sym(9, 2), mu)
		require.ErrorIs(t, tr.SolveVec(make([]float64, 9), make([]float64, 9)), chol.ErrNotPosDef)
	}
}

// allocations counts those of the second of two calls: the first one is not counted.
func allocations(second func()) float64 {
	calls := 0
	return testing.AllocsPerRun(1, func() {
		if calls++; calls == 2 {
			second()
		}
	})
}

func TestTruncateSteadyStateAllocatesNothing(t *testing.T) {
	type list []*mat.Sym
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection allocates, too
	cluster := func(seed uint64) *mat.Sym { return repeated(40, seed) }
	for name, c := range map[string]struct {
		route        eig.Route
		seen, others list
	}{
		"clear":   {eig.RouteClear, list{mattest.SPD(24, 1)}, list{mattest.SPD(24, 2)}},
		"half":    {eig.RouteTridiagonal, list{mattest.Sym(24, 1)}, list{few(24, 1, 0.1), few(24, 12, 0.1), few(24, 23, 0.1)}},
		"cluster": {eig.RouteTridiagonal, list{cluster(1)}, list{cluster(2), cluster(3)}},
		"one":     {eig.RouteTridiagonal, list{few(64, 1, 0.1), few(64, 22, 0.1)}, list{few(64, 31, 0.1), few(64, 33, 0.1)}},
		"three far": {eig.RouteKrylov, list{spiked(100, -3, -2, -1)},
			list{spiked(100, -30, -20, -10), spiked(100, -2)}},
		"few": {eig.RouteTridiagonal, list{few(200, 3, 0.1), few(200, 100, 0.1)}, list{few(200, 2, 0.1)}},
		"many of many": {eig.RouteTridiagonal, list{mattest.Sym(200, 1), few(200, 40, 0.1)},
			list{few(200, 170, 0.1), few(200, 100, 0.1)}},
	} {
		n := c.seen[0].N
		p, x := mat.NewSym(n), mattest.Vec(n, 3)
		var tr eig.Truncator
		truncate := func(matrices list) {
			for _, a := range matrices {
				rep, err := tr.Truncate(p, a, 0.1)
				if err != nil || rep.Route != c.route {
					panic(fmt.Sprint(name, rep.Route, err))
				}
				must(tr.SolveVec(x, x))
			}
		}
		truncate(c.seen)
		assert.Zero(t, allocations(func() {
			truncate(c.others)
			truncate(c.seen)
		}), name)
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
		others := []*mat.Sym{mattest.Sym(n, 1), few(n, 1, 0.1), few(n, 3, 0.1), few(n, n/2, 0.1), few(n, n-1, 0.1),
			tridiagonal(n, constant(0.1), constant(1)),
			spiked(n, -3), spiked(n, -3, -2, -1), spiked(n, -1, -1, -1), spiked(n, 0.05, 0.06, 0.07),
			plus(spiked(n, -9, 0.09), -0.899), spiked(n, mattest.Vec(n/16+1, 1)...), spiked(n, mattest.Vec(n/4, 1)...),
			plus(spiked(n, -1e6, 0.0999), -0.899)}
		for i, a := range others {
			for _, first := range append([]*mat.Sym{plus(a, -10)}, others[max(0, i-1):min(i+2, len(others))]...) {
				var tr eig.Truncator
				p, taken := truncate(t, &tr, first, 0.1)
				rep := taken
				total := allocations(func() {
					var err error
					rep, err = tr.Truncate(p, a, 0.1)
					must(err)
				})
				if rep.Route == taken.Route {
					assert.Zero(t, total, "n=%d, matrix %d, %v", n, i, rep.Route)
				}
			}
		}
	}
}

func TestErrorsAndRoutesHaveNames(t *testing.T) {
	assert.EqualError(t, &eig.NotFiniteError{I: 2, J: 1, Value: math.Inf(-1)}, "eig: entry (2, 1) is -Inf")
	assert.EqualError(t, &eig.NoConvergenceError{Sweeps: 60, OffNorm: 1.5},
		"eig: no convergence after 60 sweeps, off-diagonal norm 1.5")
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
		x, y, z := make([]float64, n), make([]float64, n), mat.NewDense(n, 1)
		require.True(t, accepted.PosDef(a, 0.1))
		require.False(t, accepted.PosDef(a, float64(3*n)))
		require.NoError(t, accepted.Accept(a, 0.1))
		truncate(t, &truncated, a, 0.1)
		require.NoError(t, accepted.SolveVec(x, b))
		require.NoError(t, truncated.SolveVec(y, b))
		require.Equal(t, y, x)
		assert.Zero(t, testing.AllocsPerRun(5, func() { _ = accepted.Accept(a, 0.1) }))
		require.NoError(t, truncated.Solve(z, mat.DenseOf(n, 1, b)))
		require.InDeltaSlice(t, y, z.Data, 1e-14)

		p, rep := truncate(t, &truncated, plus(a, -float64(n)), 0.1)
		q, same := truncate(t, &accepted, plus(a, -float64(n)), 0.1)
		require.Equal(t, p, q)
		require.Equal(t, rep, same)

		require.ErrorIs(t, accepted.Accept(plus(a, -float64(4*n)), 0.1), chol.ErrNotPosDef)
		require.Panics(t, func() { _ = accepted.SolveVec(x, b) })
		require.False(t, truncated.PosDef(a, float64(3*n)))
		require.Panics(t, func() { _ = truncated.SolveVec(x, b) }, "PosDef discards the projection")
	}
}

func TestRoutesWithoutVectors(t *testing.T) {
	if !kernel.Vector() {
		t.Skip("no vector code in this build or on this machine")
	}
	for _, n := range []int{17, 65, 129} {
		for name, a := range map[string]*mat.Sym{"half": mattest.Sym(n, 1), "few": few(n, 3, 0.1)} {
			var tr eig.Truncator
			want, _ := truncate(t, &tr, a, 0.1)
			was := kernel.SetLanes(0)
			p, _ := truncate(t, &tr, a, 0.1)
			kernel.SetLanes(was)
			requireProjection(t, a, p, 0.1)
			assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, 0.1), "%s of %d", name, n)
		}
	}
}
