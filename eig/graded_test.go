package eig_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

// Jacobi gets every eigenvalue of a graded matrix to about n·eps of itself.
func TestJacobiHighRelativeAccuracy(t *testing.T) {
	const n, tol = 8, 4 * 8 * mattest.Eps
	for name, power := range map[string][n]float64{
		"up":           {0, 3, 6, 9, 12, 15, 18, 21},
		"steep":        {0, 5, 10, 15, 20, 25, 30, 35},
		"out of order": {0, 12, 3, 21, 9, 18, 6, 15},
		"whole range":  {0, 91, -290, 290, -100, 200, 10, -200},
		"subnormal":    {0, -309, -200, -100, -300, 3, -308, 10},
	} {
		t.Run(name, func(t *testing.T) {
			a := mattest.SPD(n, 3) // D·C·D with C = SPD/n, well conditioned, and D = diag(10^(power/2))
			for i := range n {
				for j := range i + 1 {
					a.Set(i, j, a.At(i, j)/n*math.Pow(10, (power[i]+power[j])/2))
				}
			}
			var e eig.Jacobi
			require.NoError(t, e.Factor(a))
			for i, v := range e.Values() {
				assert.Equal(t, i, eigenvaluesBelow(a, v, 1-tol), "%g", v)
				assert.Equal(t, i+1, eigenvaluesBelow(a, v, 1+tol), "%g", v)
			}
			exact := slices.Clone(e.Values())
			require.NoError(t, e.FactorValues(a))
			assert.Equal(t, exact, e.Values())

			var other eig.Symmetric
			require.NoError(t, other.FactorValues(a))
			assert.InDeltaSlice(t, exact, other.Values(), bound*n*mattest.Eps*norm(a))
			assert.Greater(t, math.Abs(other.Values()[0]-exact[0]), 0.01*exact[0], "the test must be able to tell")
		})
	}
}

// eigenvaluesBelow counts the eigenvalues of a below v·f, the negative pivots of a − v·f·I, in
// arithmetic of 5000 bits.
func eigenvaluesBelow(a *mat.Sym, v, f float64) (count int) {
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(v) }
	x := make([][]*big.Float, a.N)
	for i := range x {
		for j := range a.N {
			x[i] = append(x[i], num(a.At(i, j)))
		}
		x[i][i].Sub(x[i][i], num(v).Mul(num(v), num(f)))
	}
	for k := range x {
		if x[k][k].Sign() < 0 {
			count++
		}
		for i := k + 1; i < a.N; i++ {
			q := num(0).Quo(x[i][k], x[k][k])
			for j := k + 1; j < a.N; j++ {
				x[i][j].Sub(x[i][j], num(0).Mul(q, x[k][j]))
			}
		}
	}
	return count
}
