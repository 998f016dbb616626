package eig

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

// The guards that no matrix is known to need look at doctored values here.

// Second differences have eigenvalues 2 − 2·cos(jπ/(n+1)); guesses are rough, doubled or wrong.
func TestImprove(t *testing.T) {
	const n = 20
	exact := func(j int) float64 { return 2 - 2*math.Cos(float64(j)*math.Pi/(n+1)) }
	d, e := slices.Repeat([]float64{2}, n), slices.Repeat([]float64{-1}, n-1)
	z := mat.NewDense(3, n)
	var s spectral
	for _, off := range []float64{0, 1e-12, 1e-6} {
		s.load(d, e)
		lambda := []float64{exact(1) - off, exact(2) + off, exact(3) + off}
		require.True(t, s.improve(z, lambda, 0.3), "off by %g", off)
		for i, v := range lambda {
			assert.InDelta(t, exact(i+1), v, 16*eps, "off by %g", off)
			assert.LessOrEqual(t, residual(z.Row(i), d, append(e, 0), v), 64*eps, "off by %g", off)
		}
	}
	for mu, want := range map[float64]bool{exact(1) + 1e-7: true, exact(1) - 1e-7: false} {
		s.load(d, e)
		b := block{s.d, s.e, make([]float64, 1), z.View(0, 0, 1, n)}
		assert.Equal(t, want, s.byTwisted(&b, []float64{(exact(1) - 1e-6) * s.scale}, mu, true), "an eigenvalue beyond mu")
	}
	s.load(d, e)
	assert.False(t, s.improve(z, []float64{exact(1), exact(2), exact(3)}, exact(3)), "not below mu")
	assert.False(t, s.improve(z, []float64{exact(1), exact(1), exact(3)}, 0.3), "one twice")
}

func TestProbe(t *testing.T) {
	const n, k = 30, 5
	lambda := mattest.Vec(n, 1)
	slices.Sort(lambda)
	a := mattest.Spectrum(lambda, 2)
	var e Jacobi
	require.NoError(t, e.Factor(a))
	s := krylov{a: a, norm: 1, r: make([]float64, n)}
	s.probe.reserve(n)
	check := func(want bool, change func(v *mat.Dense, values []float64), i int, off float64) {
		v, values := mat.NewDense(n, n), slices.Clone(e.Values()[:k])
		mat.Copy(v, e.VectorsT())
		change(v, values)
		few := v.View(0, 0, k, n)
		assert.Equal(t, want, s.invariant(&few, values), "pair %d off by %g", i, off)
	}
	for i := range k {
		for off, want := range map[float64]bool{0: true, 2: true, 8: false, 1e10: false} {
			unit := off * eps * n
			check(want, func(_ *mat.Dense, values []float64) { values[i] += unit }, i, off)
			check(want, func(v *mat.Dense, values []float64) {
				mat.Axpy(v.Row(i), unit/(e.Values()[n-1]-values[i]), v.Row(n-1))
			}, i, off)
		}
		check(false, func(v *mat.Dense, _ []float64) { kernel.Scale(v.Row(i), 1+1e-12, v.Row(i)) }, i, 1e-12)
	}
}

func TestRitzIsChecked(t *testing.T) {
	const n = 64
	a := mattest.Spectrum(append([]float64{-30, -20, -10}, slices.Repeat([]float64{1, 1.5}, (n-3)/2+1)...)[:n], 1)
	for off, want := range map[float64]bool{0: true, 1e-8: false} {
		var s krylov
		k, ok := s.run(a, 0.1, n/2)
		require.True(t, ok)
		require.Equal(t, 3, k)
		s.theta[0] = s.theta[2] // one twice, which improve does not see across another
		require.True(t, s.ritz(s.steps, 3, 0.1))
		assert.InDeltaSlice(t, []float64{-30, -20, -10}, s.theta, 1e-12)
		s.theta[1] += off
		assert.Equal(t, want, s.vectors(mat.NewDense(3, n), make([]float64, 3)), "off by %g", off)
	}
}

// P below mu by no more than rounding is no sign of a missed eigenvalue.
func TestCompleteHasAMargin(t *testing.T) {
	const n, mu = 40, 0.1
	for below, want := range map[float64]bool{0: true, 2: true, 3: false, 1e3: false, 1e10: false} {
		for _, norm := range []float64{1, 8} {
			tr := Truncator{mu: mu, kry: krylov{norm: norm}, p: *mat.NewSym(n)}
			mat.AddIdentity(&tr.p, 1)
			tr.p.Set(n/2, n/2, mu-below*eps*n*norm)
			assert.Equal(t, want, tr.complete(), "%g units of %g", below, norm)
		}
	}
}

// Many eigenvalues just below mu are as far off, together, as one may be.
func TestManyJustBelow(t *testing.T) {
	for _, n := range []int{48, 100, 400} {
		lambda := mattest.List(n, func(int) float64 { return -3.9 * float64(n) * eps })
		lambda[0] = -1
		p, a := mat.NewSym(n), mat.NewSym(n)
		mat.AddDiag(a, lambda)
		var tr Truncator
		_, err := tr.Truncate(p, a, 0)
		require.NoError(t, err)
		assert.LessOrEqual(t, mat.NormFrobSym(p), 16*float64(n)*eps*mat.NormFrobSym(a), "n = %d", n)
	}
}

// A must be below mu by more than Cholesky can be wrong, also where A − mu·I is small beside A.
func TestStillBelowHasAMargin(t *testing.T) {
	const n = 20
	for _, shift := range []float64{0, 1e6} {
		lambda, mu := mattest.List(n, func(i int) float64 { return 1 + float64(i)/n + shift }), 0.1+shift
		lambda[0] = 0.05 + shift
		a := mattest.Spectrum(lambda, 1)
		var tr Truncator
		p := mat.NewSym(n)
		assert.False(t, tr.stillBelow(a, mu))
		_, err := tr.Truncate(p, a, mu)
		require.NoError(t, err)
		size := mu
		for i := range n {
			size += math.Abs(a.At(i, i) - mu)
		}
		for below, want := range map[float64]bool{-1: false, 32: false, 56: false, 72: true, 1e6: true} {
			assert.Equal(t, want, tr.stillBelow(a, lambda[0]+below*eps*n*size), "%g units above %g", below, lambda[0])
		}
		_, err = tr.Truncate(p, mattest.SPD(n, 1), 0.1)
		require.NoError(t, err)
		assert.False(t, tr.stillBelow(a, mu), "nothing was below mu")
	}
}

func TestSymmetricReportsNoConvergence(t *testing.T) {
	const n = 9
	var e Symmetric
	check := func(err error) {
		var failure *NoConvergenceError
		require.ErrorIs(t, err, ErrNoConvergence)
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, qlCap, failure.Sweeps)
		assert.Empty(t, e.Values())
		assert.PanicsWithValue(t, "eig: Symmetric.VectorsT: no vectors", func() { e.VectorsT() })
	}
	e.tri.factor(mattest.Sym(n, 1), 1)
	e.tri.e2[n/2], e.tri.d[n/2] = math.NaN(), math.NaN()
	check(e.findValues(n))
	require.NoError(t, e.FactorValues(mattest.Sym(n, 1)))
	e.tri.e[n/2] = math.NaN()
	check(e.findVectors(n))
}

func TestLanczosEndsInAnInvariantSpace(t *testing.T) {
	const n = 20
	a := mat.NewSym(n)
	mat.AddIdentity(a, 2)
	for bound, below := range map[float64]int{3: 1, 1: 0} {
		var l krylov
		k, ok := l.run(a, bound, n)
		assert.Equal(t, below, k)
		assert.Equal(t, below == 1, ok)
		assert.Equal(t, 1, l.steps)
		assert.Zero(t, l.beta[0])
		if ok {
			assert.InDelta(t, 2, l.theta[0], 8*eps)
		}
	}
}

// TruncateBy is Truncate by one route, uncertified; ok is false where that declines.
func (t *Truncator) TruncateBy(r Route, dst, a *mat.Sym, mu float64) (rep Report, ok bool) {
	t.mu = mu
	if r == RouteKrylov {
		ok = t.byLanczos(a, a.N*4/5)
	} else {
		ok = t.byTridiagonal(a) == nil
	}
	if ok {
		mat.CopySym(dst, &t.p)
		rep = t.report(r)
	}
	return rep, ok
}

// Steps returns the steps of the last Lanczos process.
func (t *Truncator) Steps() int { return t.kry.steps }
