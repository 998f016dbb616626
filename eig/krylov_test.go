package eig_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

func spiked(n int, negative ...float64) *mat.Sym {
	lambda := append([]float64(nil), negative...)
	for i := range n - len(negative) {
		lambda = append(lambda, 1+float64(i)/float64(n))
	}
	return mattest.Spectrum(lambda, uint64(n))
}

func bulk(n int, negative ...float64) *mat.Sym {
	a := spiked(n, negative...)
	mat.AddIdentity(a, -0.899)
	return a
}

func fewBelow() map[string]*mat.Sym {
	cases := map[string]*mat.Sym{
		"one":             spiked(100, -1),
		"three far":       spiked(100, -30, -20, -10),
		"three apart":     spiked(100, -50, -1, 0.05),
		"near each other": spiked(100, -1, -1+1e-6, -1+2e-6),
		"one just below":  spiked(100, 0.1-1e-9, 0.1+1e-9),
		"first row":       spiked(64, 0.05),
	}
	cases["first row"].Set(0, 0, -5)
	orders := []int{100, 200, 256}
	if testing.Short() {
		orders = orders[:2]
	}
	for _, n := range orders {
		cases[fmt.Sprintf("edge of %d", n)] = few(n, 3, 0.1)
	}
	return cases
}

func TestKrylov(t *testing.T) {
	slow := map[string]bool{"one just below": true, "edge of 100": true, "edge of 200": true,
		"edge of 256": true}
	for name, a := range fewBelow() {
		t.Run(name, func(t *testing.T) {
			var e eig.Symmetric
			require.NoError(t, e.FactorValues(a))
			var tr eig.Truncator
			a := mattest.PadSym(a, 3)
			p, want := mattest.PadSym(mat.NewSym(a.N), 5), mat.NewSym(a.N)
			rep, ok := tr.TruncateBy(eig.RouteKrylov, p, a, 0.1)
			require.Equal(t, !slow[name], ok)
			if !ok {
				return
			}
			mattest.CheckPadSym(t, a)
			mattest.CheckPadSym(t, p)
			requireProjection(t, a, p, 0.1)
			requireReport(t, rep, e.Values(), a, p, 0.1)
			_, ok = tr.TruncateBy(eig.RouteTridiagonal, want, a, 0.1)
			require.True(t, ok)
			assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, 0.1))
		})
	}
}

// Of a repeated eigenvalue a Lanczos process sees one copy.
func TestKrylovIsRightOrDeclines(t *testing.T) {
	cases := map[string]*mat.Sym{
		"repeated":     spiked(100, -1, -1, -1),
		"many":         spiked(100, mattest.Vec(40, 1)...),
		"at mu":        spiked(100, 0.1, 0.1, 0.1),
		"nothing":      spiked(100),
		"hollow":       tridiagonal(64, constant(0.1), constant(1)),
		"almost there": spiked(100, 0.1-1e-15, 0.1-1e-14, 0.1+1e-15),
	}
	for _, c := range mattest.Hard() {
		if c.Finite {
			cases[c.Name] = c.A
		}
	}
	for name, a := range cases {
		t.Run(name, func(t *testing.T) {
			lambda := valuesOf(t, a)
			for _, mu := range append(thresholds(a), math.Inf(-1), math.MaxFloat64) {
				var tr eig.Truncator
				p := mat.NewSym(a.N)
				if rep, ok := tr.TruncateBy(eig.RouteKrylov, p, a, mu); ok {
					requireProjection(t, a, p, mu)
					requireReport(t, rep, lambda, a, p, mu)
				}
			}
		})
	}
}

func TestTruncateDoesNotDependOnHistory(t *testing.T) {
	const n, mu = 200, 0.1
	var tr eig.Truncator
	edge, small := mat.NewSym(n), mat.NewSym(54)
	_, err := tr.Truncate(edge, few(n, 3, mu), mu)
	require.NoError(t, err)
	_, err = tr.Truncate(small, few(54, 3, mu), mu)
	require.NoError(t, err)
	const anyRoute = eig.Route(-1)
	for i, c := range []struct {
		a     *mat.Sym
		route eig.Route
	}{
		{mattest.SPD(n, 1), eig.RouteClear},
		{spiked(n, -1, -2), eig.RouteKrylov},
		{spiked(n, -1), eig.RouteKrylov},
		{mattest.SPD(n, 1), eig.RouteClear},
		{spiked(n, -1, -2), eig.RouteKrylov},
		{edge, anyRoute},
		{spiked(n, -1, -2), eig.RouteKrylov},
		{mattest.Sym(n, 1), eig.RouteTridiagonal},
		{spiked(n, -1, -2), eig.RouteKrylov},
		{few(54, 3, mu), eig.RouteTridiagonal},
		{few(54, 2, mu), eig.RouteTridiagonal},
		{mattest.SPD(54, 1), eig.RouteClear},
		{few(54, 2, mu), eig.RouteTridiagonal},
		{small, anyRoute},
		{mattest.Sym(54, 1), eig.RouteTridiagonal},
		{mattest.SPD(54, 1), eig.RouteClear},
	} {
		p, want := mat.NewSym(c.a.N), mat.NewSym(c.a.N)
		rep, err := tr.Truncate(p, c.a, mu)
		require.NoError(t, err)
		if c.route != anyRoute {
			assert.Equal(t, c.route, rep.Route, "call %d", i)
		}
		var fresh eig.Truncator
		wantRep, err := fresh.Truncate(want, c.a, mu)
		require.NoError(t, err)
		assert.Equal(t, wantRep, rep, "call %d", i)
		assert.Zero(t, norm(difference(p, want)), "call %d", i)
		requireSolves(t, &tr, p, mu)
	}
}

// Pairs whose size, distance from mu, or product of both is next to over- or underflow.
func TestTruncateDoesNotDependOnHistoryAtAnyScale(t *testing.T) {
	same := func(first, second *mat.Sym, mu float64, where string) {
		t.Helper()
		var used, fresh eig.Truncator
		p, q := mat.NewSym(first.N), mat.NewSym(first.N)
		_, err := used.Truncate(p, first, mu)
		require.NoError(t, err, where)
		rep, err := used.Truncate(p, second, mu)
		require.NoError(t, err, where)
		want, err := fresh.Truncate(q, second, mu)
		require.NoError(t, err, where)
		require.Equal(t, want, rep, where)
		require.Equal(t, q, p, where)
	}
	a, b := mat.NewSym(2), mat.NewSym(2)
	a.Set(0, 0, -1e-200)
	a.Set(1, 1, 1e-200)
	b.Set(0, 0, 1e-200)
	b.Set(1, 1, 2e-200)
	same(a, b, 5e-201, "1e-200")

	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for _, exp := range []int{-1060, -1000, -700, -664, -600, -400, 0, 400, 508, 513, 700, 1000, 1012} {
		scale := math.Ldexp(1, exp)
		for seed := range seeds {
			rng := mattest.Rand(seed)
			n := 2 + rng.IntN(7)
			lambda := make([]float64, n)
			for i := range lambda {
				lambda[i] = 1 + rng.Float64()
			}
			clear, clipped := mattest.Spectrum(lambda, seed), mattest.Spectrum(lambda, seed)
			lambda[0] = -rng.Float64()
			if seed%2 == 0 {
				clipped = mattest.Spectrum(lambda, seed+1)
			} else { // diagonal plus rank one
				mat.RankOne(clipped, -1-rng.Float64(), mattest.Vec(n, seed))
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
}

func TestTruncateOnTheEdge(t *testing.T) {
	const mu = 0.1
	for _, n := range []int{2, 5, 13, 30, 54} {
		var tr eig.Truncator
		for seed := range uint64(12) {
			rng := mattest.Rand(seed)
			lambda := make([]float64, n)
			for i := range lambda {
				switch {
				case seed%3 == 0 || i < int(seed)%n:
					lambda[i] = mu + 1e-15*rng.NormFloat64()
				default:
					lambda[i] = mu + rng.Float64()
				}
			}
			a := mattest.Spectrum(lambda, seed)
			for range 2 {
				p, want := mat.NewSym(n), mat.NewSym(n)
				rep, err := tr.Truncate(p, a, mu)
				require.NoError(t, err)
				var fresh eig.Truncator
				wantRep, err := fresh.Truncate(want, a, mu)
				require.NoError(t, err)
				require.Equal(t, wantRep, rep)
				require.Zero(t, norm(difference(p, want)))
				requireProjection(t, a, p, mu)
				a = p
			}
		}
	}
}

// flops counts a Truncate that clips k eigenvalues after so many Lanczos steps. With vectors, those
// of the tridiagonal form take a third longer than the others.
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
		p := mat.NewSym(n)
		rep, err := tr.Truncate(p, mattest.Sym(n, uint64(n)), 0.1)
		require.NoError(t, err)
		require.LessOrEqual(t, flops(n, rep.Clipped, rep.Route, tr.Steps()), half*1.01, "half of n=%d", n)
		q := mattest.Orthogonal(n, uint64(n))
		for k := 1; k <= n/2; k++ {
			rep, err := tr.Truncate(p, spike(q, k), 0.1)
			require.NoError(t, err)
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

// spike has the eigenvalues −1, −2, … −k, and others from 1 to 2, with the vectors q.
func spike(q *mat.Dense, k int) *mat.Sym {
	lambda := make([]float64, q.Rows)
	for i := range lambda {
		lambda[i] = 1 + float64(i)/float64(len(lambda))
		if i < k {
			lambda[i] = -1 - float64(i)
		}
	}
	return mattest.Compose(q, lambda)
}
