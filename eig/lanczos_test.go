package eig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

func TestLanczosEndsInAnInvariantSpace(t *testing.T) {
	const n = 20
	a := mat.NewSym(n)
	mat.AddIdentity(a, 2)
	for _, c := range []struct {
		bound float64
		k     int
		ok    bool
	}{{3, 1, true}, {1, 0, false}} {
		var l krylov
		k, ok := l.run(a, c.bound, n)
		assert.Equal(t, c.k, k)
		assert.Equal(t, c.ok, ok)
		assert.Equal(t, 1, l.steps)
		assert.Zero(t, l.beta[0])
		if ok {
			assert.InDelta(t, 2, l.theta[0], 8*eps)
		}
	}
}

func TestLanczosIsATridiagonalForm(t *testing.T) {
	const n, steps = 54, 40
	lambda := mattest.Vec(n, 1)
	lambda[0] = -1e6
	a := mattest.Spectrum(lambda, 2)
	var l krylov
	l.begin(a, steps)
	for m := 1; m <= steps; m++ {
		l.step(m)
	}
	unit := n * eps * mat.NormFrobSym(a)
	x := make([]float64, n)
	for i := range steps {
		mat.MulVecSym(x, a, l.q.Row(i))
		for j := range steps {
			want, one := 0.0, 0.0
			switch j {
			case i:
				want, one = l.alpha[i], 1
			case i + 1:
				want = l.beta[i]
			case i - 1:
				want = l.beta[j]
			}
			require.InDelta(t, one, mat.Dot(l.q.Row(i), l.q.Row(j)), 4*n*eps, "%d, %d", i, j)
			require.InDelta(t, want, mat.Dot(l.q.Row(j), x), unit, "%d, %d", i, j)
		}
	}
}

func TestFullIsProduct(t *testing.T) {
	for _, n := range []int{1, 7, 16, 17, 54, 64, 65, 100} {
		a, x := mattest.PadSym(mattest.Sym(n, 1), 3), mattest.Vec(n, 2)
		var l krylov
		y, z := make([]float64, n), make([]float64, n)
		l.begin(a, 1)
		l.apply(y, x)
		mat.MulVecSym(z, a, x)
		assert.LessOrEqual(t, mattest.MaxDiffVec(y, z), eps*float64(n)*mat.NormFrobSym(a))
	}
}

// At most two products more than the fewest after which three eigenvalues have converged.
func TestLanczosSteps(t *testing.T) {
	for _, n := range []int{54, 64, 100, 256} {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = 1 + float64(i)/float64(n)
		}
		lambda[0], lambda[1], lambda[2] = -3, -2, -1
		a := mattest.Spectrum(lambda, uint64(n))
		var l krylov
		k, ok := l.run(a, 0.1, n/2)
		require.True(t, ok)
		require.Equal(t, 3, k)
		took, fewest := l.steps, 0
		for m := 4; fewest == 0; m++ {
			if more, _ := l.outlook(m, 3, m, 0.1); more == 0 {
				fewest = m
			}
		}
		assert.LessOrEqual(t, fewest, 20)
		assert.LessOrEqual(t, took, fewest+2, "n=%d", n)
	}
}
