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

func truncate(t *testing.T, tr *eig.Truncator, a *mat.Sym, mu float64) (*mat.Sym, eig.Report) {
	t.Helper()
	p := mat.NewSym(a.N)
	rep, err := tr.Truncate(p, a, mu)
	require.NoError(t, err)
	return p, rep
}

func TestSolveAfterTruncationToASingularMatrix(t *testing.T) {
	var tr eig.Truncator
	for _, mu := range []float64{0, -1} {
		truncate(t, &tr, mattest.Sym(9, 2), mu)
		require.ErrorIs(t, tr.SolveVec(make([]float64, 9), make([]float64, 9)), chol.ErrNotPosDef)
	}
}

func allocations(second func()) float64 {
	calls := 0
	return testing.AllocsPerRun(1, func() {
		if calls++; calls == 2 {
			second()
		}
	})
}

func TestTruncateAllocatesNothingByARouteTakenBefore(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))                          // a collection allocates, too
	mat.Mul(mat.NewDense(64, 64), mat.NewDense(64, 64), mat.NewDense(64, 64)) // the first of a process makes a workspace
	for _, n := range []int{24, 64, 100, 48, 120, 200}[:mattest.Count(3, 6, 6)] {
		x := mattest.Vec(n, 1)
		others := []*mat.Sym{mattest.Sym(n, 1), few(n, 1, 0.1), few(n, 3, 0.1), few(n, n/2, 0.1), few(n, n-1, 0.1),
			repeated(n, 1), repeated(n, 2), tridiagonal(n, constant(0.1), constant(1)),
			spiked(n, -3), spiked(n, -3, -2, -1), spiked(n, -1, -1, -1), spiked(n, 0.05, 0.06, 0.07),
			mattest.Plus(spiked(n, -9, 0.09), -0.899), spiked(n, mattest.Vec(n/16+1, 1)...), spiked(n, mattest.Vec(n/4, 1)...),
			mattest.Plus(spiked(n, -1e6, 0.0999), -0.899)}
		for i, a := range others {
			for _, first := range append([]*mat.Sym{mattest.Plus(a, -10)}, others[max(0, i-1):min(i+2, len(others))]...) {
				var tr eig.Truncator
				p, taken := truncate(t, &tr, first, 0.1)
				require.NoError(t, tr.SolveVec(x, x))
				rep := taken
				total := allocations(func() {
					var err error
					rep, err = tr.Truncate(p, a, 0.1)
					must(err)
					must(tr.SolveVec(x, x))
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
		own, _ := truncate(t, &truncated, a, 0.1)
		own.Zero() // P is a's, whatever becomes of dst
		require.NoError(t, accepted.SolveVec(x, b))
		require.NoError(t, truncated.SolveVec(y, b))
		require.Equal(t, y, x)
		assert.Zero(t, testing.AllocsPerRun(5, func() { _ = accepted.Accept(a, 0.1) }))
		require.NoError(t, truncated.Solve(z, mat.DenseOf(n, 1, b)))
		require.InDeltaSlice(t, y, z.Data, 1e-14)

		p, rep := truncate(t, &truncated, mattest.Plus(a, -float64(n)), 0.1)
		q, same := truncate(t, &accepted, mattest.Plus(a, -float64(n)), 0.1)
		require.Equal(t, p, q)
		require.Equal(t, rep, same)

		require.ErrorIs(t, accepted.Accept(mattest.Plus(a, -float64(4*n)), 0.1), chol.ErrNotPosDef)
		require.PanicsWithValue(t, "eig: Truncator.SolveVec: no projection", func() { _ = accepted.SolveVec(x, b) })
		require.False(t, truncated.PosDef(a, float64(3*n)))
		require.Panics(t, func() { _ = truncated.SolveVec(x, b) }, "PosDef discards the projection")
	}
}

// Pairs whose size, distance from mu, or product of both is next to over- or underflow: what comes
// first leaves no trace, and a subnormal projection is that of a multiple by a power of two.
func TestTruncateAtAnyScale(t *testing.T) {
	same := func(first, second *mat.Sym, mu float64, where string) (*mat.Sym, eig.Report) {
		t.Helper()
		var used eig.Truncator
		truncate(t, &used, first, mu)
		p, rep := truncate(t, &used, second, mu)
		want, wantRep := truncate(t, new(eig.Truncator), second, mu)
		require.Equal(t, wantRep, rep, where)
		require.Equal(t, want, p, where)
		return p, rep
	}
	same(mat.SymOf(2, []float64{-1e-200, 0, 0, 1e-200}), mat.SymOf(2, []float64{1e-200, 0, 0, 2e-200}), 5e-201, "1e-200")
	for _, exp := range []int{-1060, -1000, -700, -664, -600, -400, 0, 400, 508, 513, 700, 1000, 1012} {
		scale := math.Ldexp(1, exp)
		for seed := range uint64(mattest.Count(20, 100, 100)) {
			rng := mattest.Rand(seed)
			lambda := mattest.List(2+rng.IntN(7), func(int) float64 { return 1 + rng.Float64() })
			clear := mattest.Spectrum(lambda, seed)
			lambda[0] = -rng.Float64()
			clipped := mattest.Spectrum(lambda, seed+1)
			if seed%2 == 1 { // diagonal plus rank one
				mat.CopySym(clipped, clear)
				mat.RankOne(clipped, -1-rng.Float64(), mattest.Vec(len(lambda), seed))
			}
			mat.ScaleSym(clear, scale, clear)
			mat.ScaleSym(clipped, scale, clipped)
			for _, mu := range []float64{0, 0.5 * scale, 0.99 * scale, scale} {
				where := fmt.Sprintf("scale %g, seed %d, mu %g", scale, seed, mu)
				same(clipped, clear, mu, where)
				same(clear, clipped, mu, where)
			}
		}
	}

	routes := map[eig.Route]int{}
	for _, k := range []int{-420, -980, -1022, -1030, -1044, -1070} { // even, for square roots
		for _, n := range []int{1, 2, 3, 4, 14, 36, 54, 122} {
			for _, a := range []*mat.Sym{mattest.Sym(n, 1), spiked(n, []float64{-1, -0.5}[:min(2, n)]...), mat.NewSym(n)} {
				big := times2(times2(a, k), -k)
				a = times2(a, k)
				for _, mu := range []float64{0, 0.25, -0.25, -2} {
					where := fmt.Sprintf("n=%d, times 2^%d, mu=%g", n, k, mu)
					want, rep := truncate(t, new(eig.Truncator), big, mu)
					rep.MinEigenvalue, rep.Change = math.Ldexp(rep.MinEigenvalue, k), math.Ldexp(rep.Change, k)
					got, small := truncate(t, new(eig.Truncator), a, math.Ldexp(mu, k))
					assert.Equal(t, rep, small, where)
					assert.Equal(t, times2(want, k), got, where)
					routes[rep.Route]++
				}
			}
		}
	}
	for _, r := range []eig.Route{eig.RouteClear, eig.RouteKrylov, eig.RouteTridiagonal} {
		assert.Greater(t, routes[r], 10, r)
	}
}

func times2(s *mat.Sym, k int) *mat.Sym {
	return mattest.SymOf(s.N, func(i, j int) float64 { return math.Ldexp(s.At(i, j), k) })
}

// flops counts a Truncate that clips k eigenvalues after so many Lanczos steps. With vectors, those
// of the tridiagonal form take a third longer.
func flops(n, k int, route eig.Route, steps int) float64 {
	size, less, m := float64(n), float64(min(k, n-k)), float64(steps)
	krylov := 2*size*size*m + 2*size*m*m
	if route == eig.RouteKrylov {
		return krylov + 2*less*m*size + less*size*size + size*size*size/3
	}
	form := 4*size*size*size/3 + 3*size*size*less
	if kernel.Vector() {
		form *= 4. / 3
	}
	return krylov + form
}

// One eigenvalue more never makes a truncation half as dear again, nor as dear as clipping half.
func TestTruncateHasNoCliff(t *testing.T) {
	for _, n := range []int{48, 54, 64, 100, 128} {
		var tr eig.Truncator
		half, last := flops(n, n/2, eig.RouteTridiagonal, 2), 0.0
		_, rep := truncate(t, &tr, mattest.Sym(n, uint64(n)), 0.1)
		require.LessOrEqual(t, flops(n, rep.Clipped, rep.Route, tr.Steps()), half*1.01, "half of n=%d", n)
		q := mattest.Orthogonal(n, uint64(n))
		for k := 1; k <= n/2; k++ {
			_, rep := truncate(t, &tr, spike(q, k), 0.1)
			require.Equal(t, k, rep.Clipped)
			count := flops(n, k, rep.Route, tr.Steps())
			if k > 1 {
				assert.LessOrEqual(t, count, 1.5*last, "n=%d, k=%d", n, k)
			}
			assert.LessOrEqual(t, count, 1.1*half, "n=%d, k=%d", n, k)
			if k <= n/5-2 {
				assert.Equal(t, eig.RouteKrylov, rep.Route, "n=%d, k=%d", n, k)
			}
			last = count
		}
	}
}

func spike(q *mat.Dense, k int) *mat.Sym {
	return mattest.Compose(q, mattest.List(q.Rows, func(i int) float64 {
		if i < k {
			return -1 - float64(i)
		}
		return 1 + float64(i)/float64(q.Rows)
	}))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func few(n, k int, mu float64) *mat.Sym {
	a := mattest.Sym(n, uint64(n))
	var e eig.Symmetric
	must(e.FactorValues(a))
	mat.AddIdentity(a, mu-(e.Values()[k-1]+e.Values()[k])/2)
	return a
}

func BenchmarkRoutes(b *testing.B) {
	for _, n := range []int{4, 6, 8, 11, 14, 32, 54, 64, 100, 128, 200, 256, 512} {
		for _, c := range []struct {
			input string
			a     *mat.Sym
			route eig.Route
		}{
			{"clipped", mattest.Sym(n, uint64(n)), eig.RouteTridiagonal},
			{"apart", spiked(n, -3, -2, -1), eig.RouteTridiagonal},
			{"apart", spiked(n, -3, -2, -1), eig.RouteKrylov},
		} {
			b.Run(fmt.Sprintf("%s/n=%d/route=%v", c.input, n, c.route), func(b *testing.B) {
				var t eig.Truncator
				dst := mat.NewSym(n)
				for b.Loop() {
					if _, ok := t.TruncateBy(c.route, dst, c.a, 0.1); !ok {
						b.Skip("declined")
					}
				}
			})
		}
	}
}

// BenchmarkFew shows where one eigenvalue more makes Truncate take another route: -1, -2, … below mu.
func BenchmarkFew(b *testing.B) {
	for _, n := range []int{54, 100, 200} {
		q, dst := mattest.Orthogonal(n, uint64(n)), mat.NewSym(n)
		for k := 2; k <= n/2; k += n / 25 {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				var t eig.Truncator
				a := spike(q, k)
				for b.Loop() {
					_, err := t.Truncate(dst, a, 0.1)
					must(err)
				}
			})
		}
	}
}
