package eig_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

// bound is for residuals in units of n·eps·norm.
const bound = 16

const anyRoute = eig.Route(-1)

type listed struct {
	name  string
	a     *mat.Sym
	route eig.Route
}

func matrices() (all []listed) {
	add := func(route eig.Route, a *mat.Sym, format string, args ...any) {
		all = append(all, listed{fmt.Sprintf(format, args...), a, route})
	}
	for _, n := range append([]int{0}, mattest.Orders...) {
		add(anyRoute, mattest.Sym(n, uint64(n)), "random %d", n)
	}
	for _, n := range []int{33, 54, 64, 100} {
		add(eig.RouteTridiagonal, few(n, 3, 0.1), "few of %d", n)
		add(eig.RouteTridiagonal, few(n, 2, 0.1), "fewer of %d", n)
		add(eig.RouteClear, mattest.SPD(n, 1), "clear %d", n)
	}
	tri := func(name string, n int, d, e func(i int) float64) { add(anyRoute, tridiagonal(n, d, e), "%s", name) }
	tri("second difference", 100, constant(2), constant(-1))
	// eigenvalues that agree to 14 digits (Wilkinson, The Algebraic Eigenvalue Problem, 5.45)
	wilkinson := func(i int) float64 { return math.Abs(float64(i%21) - 10) }
	tri("Wilkinson", 21, wilkinson, constant(1))
	for _, glue := range []float64{1e-4, 1e-8, 1e-12, 1e-15} { // clusters (Dhillon, Parlett, Vömel, BIT 45 (2005))
		tri(fmt.Sprintf("glued %g", glue), 105, wilkinson, func(i int) float64 {
			if i%21 == 20 {
				return glue
			}
			return 1
		})
	}
	// hollow, eigenvalues −(n−1), −(n−3), …, n−1 (Kac, Sylvester, Clement)
	tri("Clement", 50, constant(0), func(i int) float64 { return math.Sqrt(float64((i + 1) * (49 - i))) })
	tri("graded up", 40, func(i int) float64 { return math.Pow(2, float64(i)) }, func(i int) float64 { return math.Pow(2, float64(i)-1) })
	tri("graded down", 40, func(i int) float64 { return math.Pow(2, -float64(i)) }, func(i int) float64 { return math.Pow(2, -float64(i)-2) })
	tri("nearly split", 64, func(i int) float64 { return float64(i % 4) }, func(i int) float64 { return math.Pow(10, -float64(i%20)) })
	tri("one big entry", 30, constant(1), func(i int) float64 { return map[bool]float64{true: 1e10, false: 1e-3}[i == 13] })
	for _, n := range []int{16, 65, 128} {
		add(anyRoute, dst1(n), "sine transform of %d", n)
		add(anyRoute, dct4(n), "cosine transform of %d", n)
	}
	for _, n := range []int{8, 40, 100} {
		for seed := range uint64(mattest.Count(160, 480, 2000) / n) {
			for _, width := range []float64{1e-15, 1e-14, 3e-14, 1e-13, 4e-13, 1e-12} {
				add(anyRoute, around(n, width, seed), "clusters %d of %d, of width %g", seed, n, width)
			}
		}
	}
	for seed := range uint64(30) {
		add(anyRoute, repeated(10+int(seed)*5/3, seed), "repeated %d", seed)
	}
	for seed := range uint64(12) {
		for _, n := range []int{2, 5, 13, 30, 54} {
			add(anyRoute, onTheEdge(n, seed), "edge %d of %d", seed, n)
		}
	}
	first := spiked(64, 0.05)
	first.Set(0, 0, -5)
	add(eig.RouteKrylov, first, "first row")
	add(eig.RouteKrylov, spiked(100, -1), "one")
	add(eig.RouteKrylov, spiked(100, -30, -20, -10), "three far")
	add(eig.RouteKrylov, spiked(100, -50, -1, 0.05), "three apart")
	add(eig.RouteKrylov, spiked(100, -1, -1+1e-6, -1+2e-6), "near each other")
	add(eig.RouteTridiagonal, spiked(100, 0.1-1e-9, 0.1+1e-9), "one just below")
	add(eig.RouteTridiagonal, spiked(100, -1, -1, -1), "three copies") // a Lanczos process sees one
	add(eig.RouteTridiagonal, spiked(100, mattest.Vec(40, 1)...), "many")
	add(anyRoute, spiked(100, 0.1, 0.1, 0.1), "at mu")
	add(eig.RouteClear, spiked(100), "nothing")
	add(eig.RouteTridiagonal, tridiagonal(64, constant(0.1), constant(1)), "hollow")
	add(anyRoute, spiked(100, 0.1-1e-15, 0.1-1e-14, 0.1+1e-15), "almost there")
	add(eig.RouteTridiagonal, few(256, 3, 0.1), "edge of 256")
	add(anyRoute, dct4(300), "cosine transform of 300") // too much for twisted factorisations
	add(anyRoute, repeated(130, 1), "repeated of 130")
	if testing.Short() {
		all = slices.DeleteFunc(all, func(c listed) bool { return c.a.N > 105 })
	}
	return all
}

func tridiagonal(n int, d, e func(i int) float64) *mat.Sym {
	return mattest.SymOf(n, func(i, j int) float64 {
		switch i - j {
		case 0:
			return d(i)
		case 1:
			return e(j)
		}
		return 0
	})
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

func repeated(n int, seed uint64) *mat.Sym {
	rng := mattest.Rand(seed)
	return mattest.Spectrum(mattest.List(n, func(int) float64 { return float64(rng.IntN(3) - 1) }), seed)
}

func onTheEdge(n int, seed uint64) *mat.Sym {
	rng := mattest.Rand(seed)
	return mattest.Spectrum(mattest.List(n, func(i int) float64 {
		if seed%3 == 0 || i < int(seed)%n {
			return 0.1 + 1e-15*rng.NormFloat64()
		}
		return 0.1 + rng.Float64()
	}), seed)
}

func spiked(n int, negative ...float64) *mat.Sym {
	rest := mattest.List(n-len(negative), func(i int) float64 { return 1 + float64(i)/float64(n) })
	return mattest.Spectrum(slices.Concat(negative, rest), uint64(n))
}

func around(n int, width float64, seed uint64) *mat.Sym {
	rng := mattest.Rand(seed)
	lambda := mattest.List(n, func(int) float64 { return float64(2*rng.IntN(2)-1) + width*rng.NormFloat64() })
	return mattest.Spectrum(lambda, seed)
}

func dst1(n int) *mat.Sym {
	size := float64(n + 1)
	return mattest.SymOf(n, func(i, j int) float64 { return math.Sqrt(2/size) * math.Sin(float64((i+1)*(j+1))*math.Pi/size) })
}

func dct4(n int) *mat.Sym {
	size := float64(n)
	return mattest.SymOf(n, func(i, j int) float64 {
		return math.Sqrt(2/size) * math.Cos((float64(i)+0.5)*(float64(j)+0.5)*math.Pi/size)
	})
}

// scaleOf is the unit of a projection's errors.
func scaleOf(a *mat.Sym, mu float64) float64 {
	n := float64(a.N)
	return n * mattest.Eps * (mat.NormFrobSym(a) + math.Abs(mu)*math.Sqrt(n))
}

func apart(a, b *mat.Sym) float64 {
	d := mat.NewSym(a.N)
	mat.AddScaledSym(d, a, -1, b)
	return mat.NormFrobSym(d)
}

// One of each goes through all: nothing may be left of the matrix before.
func TestMatrices(t *testing.T) { mattest.EachKernel(t, testMatrices) }

func testMatrices(t *testing.T) {
	var used eig.Truncator
	both := solvers()
	for i, c := range matrices() {
		t.Run(c.name, func(t *testing.T) {
			a := mattest.PadSym(c.a, mattest.Strides[i%2])
			for _, e := range both {
				requireSolved(t, e, a)
			}
			var fresh eig.Symmetric
			require.NoError(t, fresh.Factor(a))
			require.Zero(t, mattest.MaxDiff(fresh.VectorsT(), both[1].VectorsT()))
			lambda := both[0].Values()
			assert.InDeltaSlice(t, lambda, both[1].Values(), bound*float64(a.N)*mattest.Eps*mat.NormFrobSym(a))
			for _, mu := range thresholds(a, lambda) {
				rep := requireTruncated(t, &used, a, mu, both[0])
				if c.route != anyRoute && mu == 0.1 {
					assert.Equal(t, c.route, rep.Route)
				}
			}
			mattest.CheckPadSym(t, a)
		})
	}
}

// thresholds are above none, one, some, half and all of the eigenvalues, and 0.1.
func thresholds(a *mat.Sym, lambda []float64) []float64 {
	s := 3 * mat.NormFrobSym(a) / math.Sqrt(float64(max(a.N, 1)))
	mus := []float64{0.1, -s, s, 0}
	for _, k := range []int{a.N / 2, a.N / 16, 1} {
		if 0 < k && k < a.N {
			mus = append(mus, (lambda[k-1]+lambda[k])/2)
		}
	}
	if testing.Short() && a.N > 32 {
		return []float64{0.1, mus[1+a.N%6], mus[4]}
	}
	return mus
}

func requireSolved(t *testing.T, e solver, a *mat.Sym) {
	t.Helper()
	require.NoError(t, e.factorValues(a))
	values := slices.Clone(e.Values())
	require.NoError(t, e.factor(a))
	require.Equal(t, values, slices.Clone(e.Values()), "values depend on whether vectors are wanted")
	require.Len(t, values, a.N)
	assert.IsNonDecreasing(t, append([]float64{math.Inf(-1)}, values...))
	v := e.VectorsT()
	lambda := mattest.DenseOf(a.N, a.N, func(i, j int) float64 { return values[i] * v.At(i, j) })
	assert.Less(t, mattest.Residual(v, mattest.Full(a), lambda, mat.NormFrobSym(a)), float64(bound))
	assert.LessOrEqual(t, mattest.Residual(v, mattest.Trans(v), mattest.One(a.N), 1), constants[e.bounds+"orthogonality"])
}

func requireTruncated(t *testing.T, used *eig.Truncator, a *mat.Sym, mu float64, e decomposition) eig.Report {
	t.Helper()
	raised := mattest.List(a.N, func(i int) float64 { return max(mu, e.Values()[i]) })
	want := mattest.Compose(mattest.Trans(e.VectorsT()), raised)
	p := mattest.PadSym(mat.NewSym(a.N), 2)
	rep, err := used.Truncate(p, a, mu)
	require.NoError(t, err)
	mattest.CheckPadSym(t, p)
	requireProjection(t, a, p, want, mu, rep, e.Values())
	if b := mattest.Dense(a.N, 1, 9); mu > 0 && mu >= 4*scaleOf(p, mu) {
		for range 2 { // the second finds the factor that the first made
			x := slices.Clone(b.Data)
			require.NoError(t, used.SolveVec(x, x))
			assert.Less(t, mattest.SolveResidual(p, mat.DenseOf(a.N, 1, x), b), float64(bound))
		}
	}

	q := mattest.Plus(a, 0)
	same, err := new(eig.Truncator).Truncate(q, q, mu)
	require.NoError(t, err)
	require.Equal(t, rep, same)
	require.Equal(t, mattest.Full(p), mattest.Full(q))
	for _, r := range []eig.Route{eig.RouteKrylov, eig.RouteTridiagonal} {
		if r == rep.Route {
			continue
		}
		rep, ok := new(eig.Truncator).TruncateBy(r, p, a, mu)
		require.True(t, ok || r == eig.RouteKrylov, "declined")
		if ok {
			requireProjection(t, a, p, want, mu, rep, e.Values())
		}
	}
	return rep
}

func requireProjection(t *testing.T, a, p, want *mat.Sym, mu float64, rep eig.Report, lambda []float64) {
	t.Helper()
	slack := bound * scaleOf(a, mu)
	assert.LessOrEqual(t, apart(p, want), slack)
	least, _ := slices.BinarySearch(lambda, mu-slack)
	most, _ := slices.BinarySearch(lambda, math.Nextafter(mu+slack, math.Inf(1)))
	assert.GreaterOrEqual(t, rep.Clipped, least)
	assert.LessOrEqual(t, rep.Clipped, most)
	assert.InDelta(t, apart(p, a), rep.Change, slack)
	if rep.Clipped > 0 {
		assert.InDelta(t, lambda[0], rep.MinEigenvalue, slack)
	} else {
		assert.Equal(t, mu, rep.MinEigenvalue)
		assert.Zero(t, rep.Change)
	}
	if rep.Route == eig.RouteClear {
		assert.Equal(t, mattest.Full(a), mattest.Full(p))
		assert.Zero(t, rep.Clipped)
	}
}
