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

// spiked has these eigenvalues and others from 1 to 2.
func spiked(n int, negative ...float64) *mat.Sym {
	lambda := append([]float64(nil), negative...)
	for i := range n - len(negative) {
		lambda = append(lambda, 1+float64(i)/float64(n))
	}
	return mattest.Spectrum(lambda, uint64(n))
}

func TestKrylov(t *testing.T) {
	cases := map[string]struct {
		a  *mat.Sym
		ok bool
	}{
		"one":             {spiked(100, -1), true},
		"three far":       {spiked(100, -30, -20, -10), true},
		"three apart":     {spiked(100, -50, -1, 0.05), true},
		"near each other": {spiked(100, -1, -1+1e-6, -1+2e-6), true},
		"one just below":  {spiked(100, 0.1-1e-9, 0.1+1e-9), false},
		"first row":       {spiked(64, 0.05), true},
		"edge of 100":     {few(100, 3, 0.1), false},
		"edge of 256":     {few(256, 3, 0.1), false},
	}
	cases["first row"].a.Set(0, 0, -5)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var tr eig.Truncator
			a, p := mattest.PadSym(c.a, 3), mattest.PadSym(mat.NewSym(c.a.N), 5)
			rep, ok := tr.TruncateBy(eig.RouteKrylov, p, a, 0.1)
			require.Equal(t, c.ok, ok)
			if !ok {
				return
			}
			mattest.CheckPadSym(t, a)
			mattest.CheckPadSym(t, p)
			requireProjection(t, a, p, 0.1)
			requireReport(t, rep, valuesOf(t, a), a, p, 0.1)
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
	requireRoute(t, eig.RouteKrylov, cases, math.Inf(-1), math.MaxFloat64)
}

// requireRoute holds what a route does not decline to the definition, on the hard list, too.
func requireRoute(t *testing.T, r eig.Route, cases map[string]*mat.Sym, more ...float64) {
	for _, c := range mattest.Hard() {
		if c.Finite {
			cases[c.Name] = c.A
		}
	}
	for name, a := range cases {
		t.Run(name, func(t *testing.T) {
			lambda := valuesOf(t, a)
			for _, mu := range append(thresholds(a), more...) {
				var tr eig.Truncator
				p := mat.NewSym(a.N)
				rep, ok := tr.TruncateBy(r, p, a, mu)
				require.True(t, ok || r == eig.RouteKrylov, "declined")
				if ok {
					requireProjection(t, a, p, mu)
					requireReport(t, rep, lambda, a, p, mu)
				}
			}
		})
	}
}

// requireSame truncates with used and with a fresh Truncator: the same bits.
func requireSame(t *testing.T, used *eig.Truncator, a *mat.Sym, mu float64, where string) (*mat.Sym, eig.Report) {
	t.Helper()
	p, rep := truncate(t, used, a, mu)
	want, wantRep := truncate(t, new(eig.Truncator), a, mu)
	require.Equal(t, wantRep, rep, where)
	require.Equal(t, want, p, where)
	return p, rep
}

func TestTruncateDoesNotDependOnHistory(t *testing.T) {
	const n, mu = 200, 0.1
	var tr eig.Truncator
	edge, _ := truncate(t, &tr, few(n, 3, mu), mu)
	small, _ := truncate(t, &tr, few(54, 3, mu), mu)
	const anyRoute = eig.Route(-1)
	for i, c := range []struct {
		a     *mat.Sym
		route eig.Route
	}{
		{mattest.SPD(n, 1), eig.RouteClear},
		{spiked(n, -1, -2), eig.RouteKrylov},
		{spiked(n, -1), eig.RouteKrylov},
		{mattest.SPD(n, 1), eig.RouteClear},
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
		p, rep := requireSame(t, &tr, c.a, mu, fmt.Sprint("call ", i))
		if c.route != anyRoute {
			assert.Equal(t, c.route, rep.Route, "call %d", i)
		}
		requireSolves(t, &tr, p, mu)
	}
}

// Pairs whose size, distance from mu, or product of both is next to over- or underflow.
func TestTruncateDoesNotDependOnHistoryAtAnyScale(t *testing.T) {
	same := func(first, second *mat.Sym, mu float64, where string) {
		t.Helper()
		var used eig.Truncator
		truncate(t, &used, first, mu)
		requireSame(t, &used, second, mu, where)
	}
	same(mat.SymOf(2, []float64{-1e-200, 0, 0, 1e-200}), mat.SymOf(2, []float64{1e-200, 0, 0, 2e-200}), 5e-201, "1e-200")
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
				lambda[i] = mu + rng.Float64()
				if seed%3 == 0 || i < int(seed)%n {
					lambda[i] = mu + 1e-15*rng.NormFloat64()
				}
			}
			a := mattest.Spectrum(lambda, seed)
			for range 2 {
				p, _ := requireSame(t, &tr, a, mu, "")
				requireProjection(t, a, p, mu)
				a = p
			}
		}
	}
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
