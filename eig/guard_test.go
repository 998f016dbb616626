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

func TestOrthonormal(t *testing.T) {
	const n, k = 30, 7
	var p probe
	p.reserve(n)
	for i := range k {
		for j := range k {
			for _, size := range []float64{0, 1e-15, 1e-11, 1} {
				z := mattest.Orthogonal(n, 1).View(0, 0, k, n)
				mat.Axpy(z.Row(i), size, z.Row(j))
				assert.Equal(t, size < 1e-12, p.orthonormal(&z), "row %d += %g·row %d", i, size, j)
			}
		}
		z := mattest.Orthogonal(n, 1).View(0, 0, k, n)
		copy(z.Row(i), z.Row((i+1)%k))
		assert.False(t, p.orthonormal(&z), "row %d twice", i)
	}
}

// Second differences have eigenvalues 2 − 2·cos(jπ/(n+1)); guesses are rough, doubled or wrong.
func TestImprove(t *testing.T) {
	const n = 20
	exact := func(j int) float64 { return 2 - 2*math.Cos(float64(j)*math.Pi/(n+1)) }
	d, e := make([]float64, n), make([]float64, n-1)
	for i := range n {
		d[i] = 2
	}
	for i := range n - 1 {
		e[i] = -1
	}
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
	s.load(d, e)
	assert.False(t, s.improve(z, []float64{exact(1), exact(2), exact(3)}, exact(3)), "not below mu")
	assert.False(t, s.improve(z, []float64{exact(1), exact(1), exact(3)}, 0.3), "one twice")
}

// The probe looks at a sum, where two errors may not cancel.
func TestProbe(t *testing.T) {
	const n, k = 30, 5
	lambda := mattest.Vec(n, 1)
	slices.Sort(lambda)
	a := mattest.Spectrum(lambda, 2)
	var e Jacobi
	require.NoError(t, e.Factor(a))
	s := krylov{a: a, norm: 1, r: make([]float64, n)}
	unit := eps * n
	for i := range k {
		for off, want := range map[float64]bool{0: true, 2: true, 8: false, 1e10: false} {
			v, values := mat.NewDense(k, n), slices.Clone(e.Values()[:k])
			all := e.VectorsT().View(0, 0, k, n)
			mat.Copy(v, &all)
			values[i] += off * unit
			assert.Equal(t, want, s.invariant(v, values), "eigenvalue %d off by %g", i, off)

			values[i] = e.Values()[i]
			c := off * unit / (e.Values()[n-1] - e.Values()[i])
			mat.Axpy(v.Row(i), c, e.VectorsT().Row(n-1))
			assert.Equal(t, want, s.invariant(v, values), "vector %d off by %g", i, off)
		}
		v := mat.NewDense(k, n)
		all := e.VectorsT().View(0, 0, k, n)
		mat.Copy(v, &all)
		kernel.Scale(v.Row(i), 1+1e-10, v.Row(i))
		assert.False(t, s.invariant(v, e.Values()[:k]), "vector %d not of length 1", i)
	}
}

func TestRitzIsChecked(t *testing.T) {
	const n = 64
	a := mattest.Spectrum(append([]float64{-3, -2, -1}, slices.Repeat([]float64{1, 1.5}, (n-3)/2+1)...)[:n], 1)
	for off, want := range map[float64]bool{0: true, 1e-9: false} {
		var s krylov
		z, lambda := mat.NewDense(3, n), make([]float64, 3)
		k, ok := s.run(a, 0.1, n/2)
		require.True(t, ok)
		require.Equal(t, 3, k)
		s.theta[1] += off
		assert.Equal(t, want, s.vectors(z, lambda), "off by %g", off)
	}
}

// P below mu by no more than rounding is no sign of a missed eigenvalue.
func TestCompleteHasAMargin(t *testing.T) {
	const n, mu = 40, 0.1
	for below, want := range map[float64]bool{0: true, 7: true, 9: false, 1e3: false, 1e10: false} {
		for _, norm := range []float64{1, 8} {
			var tr Truncator
			tr.mu, tr.kry.norm = mu, norm
			tr.p = *mat.NewSym(n)
			mat.AddIdentity(&tr.p, 1)
			tr.p.Set(n/2, n/2, mu-below*eps*n*norm)
			assert.Equal(t, want, tr.complete(), "%g units of %g", below, norm)
		}
	}
}

// A must be below mu by more than Cholesky can be wrong, also where A − mu·I is small beside A.
func TestStillBelowHasAMargin(t *testing.T) {
	const n = 20
	for _, shift := range []float64{0, 1e6} {
		lambda, mu := make([]float64, n), 0.1+shift
		for i := range lambda {
			lambda[i] = 1 + float64(i)/n + shift
		}
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
		unit := eps * n * size
		for below, want := range map[float64]bool{-1: false, 32: false, 56: false, 72: true, 1e6: true} {
			assert.Equal(t, want, tr.stillBelow(a, lambda[0]+below*unit), "%g units above %g", below, lambda[0])
		}
		_, err = tr.Truncate(p, mattest.SPD(n, 1), 0.1)
		require.NoError(t, err)
		assert.False(t, tr.stillBelow(a, mu), "nothing was below mu")
	}
}

func TestQLTakesOverWithoutAllocation(t *testing.T) {
	const n = 64
	a, p := mattest.Sym(n, 1), mat.NewSym(n)
	var tr Truncator
	rep, err := tr.Truncate(p, a, 0)
	require.NoError(t, err)
	require.Equal(t, RouteTridiagonal, rep.Route)
	assert.Zero(t, testing.AllocsPerRun(3, func() {
		tr.tri.factor(a, 1)
		ok := tr.tri.eigenvalues(0)
		lower := tr.sides(n, rep.Clipped)
		tr.tri.norm = 0 // no residual is small enough
		if !ok || !tr.tri.vectors(&tr.z, tr.lambda, 0, lower, tr.p.Data) {
			panic("declined")
		}
	}))
	tr.tri.back(&tr.z)
	tr.multiplyBack(a)
	mat.AddScaledSym(p, p, -1, &tr.p)
	assert.LessOrEqual(t, mat.NormFrobSym(p), 16*eps*n*mat.NormFrobSym(a))
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
