package eig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// The guards that no matrix is known to need: here what they look at is doctored.

// TestOrthonormal doctors one or two rows of an orthonormal basis.
func TestOrthonormal(t *testing.T) {
	const n, k = 30, 7
	var s spectral
	for i := range k {
		for j := range k {
			for _, size := range []float64{0, 1e-15, 1e-11, 1} {
				z := mattest.Orthogonal(n, 1).View(0, 0, k, n)
				mat.Axpy(z.Row(i), size, z.Row(j))
				assert.Equal(t, size < 1e-12, s.orthonormal(&z), "row %d += %g·row %d", i, size, j)
			}
		}
		z := mattest.Orthogonal(n, 1).View(0, 0, k, n)
		copy(z.Row(i), z.Row((i+1)%k))
		assert.False(t, s.orthonormal(&z), "row %d twice", i)
	}
}

// TestRayleighRefusesAVectorTwice: both copies have a residual of 0.
func TestRayleighRefusesAVectorTwice(t *testing.T) {
	a, v := mat.NewSym(5), mat.NewDense(2, 5)
	for i := range 4 {
		a.Set(i+1, i+1, 1)
	}
	var s krylov
	v.Set(0, 0, 1)
	v.Set(1, 1, 1)
	lambda := make([]float64, 2)
	require.True(t, s.rayleigh(v, lambda, a, 1.5))
	require.Equal(t, []float64{0, 1}, lambda)
	v.Zero()
	v.Set(0, 0, 1)
	v.Set(1, 0, 1)
	require.False(t, s.rayleigh(v, lambda, a, 1.5))
}

// TestStillBelowHasAMargin: along the eigenvector of the last matrix, A must be below mu by more than Cholesky can be wrong.
func TestStillBelowHasAMargin(t *testing.T) {
	const n, mu = 20, 0.1
	lambda := make([]float64, n)
	for i := range lambda {
		lambda[i] = 1 + float64(i)/n
	}
	lambda[0] = 0.05
	a := mattest.Spectrum(lambda, 1)
	var tr Truncator
	p := mat.NewSym(n)
	assert.False(t, tr.stillBelow(a, mu))
	_, err := tr.Truncate(p, a, mu)
	require.NoError(t, err)
	unit := eps * n * mat.NormFrobSym(a)
	for below, want := range map[float64]bool{-1: false, 32: false, 56: false, 72: true, 1e6: true} {
		assert.Equal(t, want, tr.stillBelow(a, lambda[0]+below*unit), "%g", below)
	}
	_, err = tr.Truncate(p, mattest.SPD(n, 1), mu)
	require.NoError(t, err)
	assert.False(t, tr.stillBelow(a, mu), "nothing was below mu")
}

// TestCountIsTrustedUpToAGrowth: beyond, that no eigenvalue below mu is missing takes a proof of its own, and that fails where one is.
func TestCountIsTrustedUpToAGrowth(t *testing.T) {
	const n, mu = 54, 0.1
	lambda := make([]float64, n)
	for i := range lambda {
		lambda[i] = 1 + float64(i)/n
	}
	lambda[0], lambda[1] = -2, 0.09
	a := mattest.Spectrum(lambda, 1)
	for found, want := range map[int]bool{1: false, 2: true} {
		var tr Truncator
		tr.mu = mu
		require.True(t, tr.byInverse(a, mat.MaxAbsSym(a), 2, n))
		require.Len(t, tr.lambda, 2)
		tr.z.Rows, tr.lambda = found, tr.lambda[:found]
		require.True(t, tr.kry.rayleigh(&tr.z, tr.lambda, a, mu))
		tr.kry.growth = trusted * tr.kry.norm
		assert.True(t, tr.counted(a))
		tr.kry.growth *= 1.01
		assert.Equal(t, want, tr.counted(a))
	}
}
