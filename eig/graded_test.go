package eig_test

import (
	"math"
	"math/big"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

// Jacobi gets every eigenvalue of a graded matrix to about n·eps of itself, against 60 digits.
func TestJacobiHighRelativeAccuracy(t *testing.T) {
	const n = 8
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
			exact := bigEigenvalues(a)

			var e eig.Jacobi
			require.NoError(t, e.Factor(a))
			assert.Less(t, relativeError(e.Values(), exact), 4*n*mattest.Eps)
			withVectors := append([]float64(nil), e.Values()...)
			require.NoError(t, e.FactorValues(a))
			assert.Equal(t, withVectors, e.Values())

			var other eig.Symmetric
			require.NoError(t, other.FactorValues(a))
			assert.InDeltaSlice(t, exact, other.Values(), bound*n*mattest.Eps*norm(a))
			assert.Greater(t, relativeError(other.Values(), exact), 0.01, "the test must be able to tell")
		})
	}
}

func relativeError(got, exact []float64) float64 {
	worst := 0.0
	for i, v := range exact {
		worst = max(worst, math.Abs(got[i]-v)/math.Abs(v))
	}
	return worst
}

func bigEigenvalues(a *mat.Sym) []float64 {
	const prec = 600
	n := a.N
	num := func() *big.Float { return new(big.Float).SetPrec(prec) }
	x := make([][]*big.Float, n)
	for i := range x {
		x[i] = make([]*big.Float, n)
		for j := range x[i] {
			x[i][j] = num().SetFloat64(a.At(i, j))
		}
	}
	mul := func(a, b *big.Float) *big.Float { return num().Mul(a, b) }
	one := num().SetInt64(1)
	for range 14 { // quadratic convergence: 600 bits are reached after about nine sweeps
		for p := range n {
			for q := p + 1; q < n; q++ {
				if x[p][q].Sign() == 0 {
					continue
				}
				theta := num().Quo(num().Sub(x[q][q], x[p][p]), num().Add(x[p][q], x[p][q]))
				root := num().Sqrt(num().Add(one, mul(theta, theta)))
				t := num().Quo(one, num().Add(num().Abs(theta), root))
				if theta.Sign() < 0 {
					t.Neg(t)
				}
				c := num().Quo(one, num().Sqrt(num().Add(one, mul(t, t))))
				s := mul(t, c)
				for k := range n {
					g, h := x[k][p], x[k][q]
					x[k][p] = num().Sub(mul(c, g), mul(s, h))
					x[k][q] = num().Add(mul(s, g), mul(c, h))
				}
				for k := range n {
					g, h := x[p][k], x[q][k]
					x[p][k] = num().Sub(mul(c, g), mul(s, h))
					x[q][k] = num().Add(mul(s, g), mul(c, h))
				}
			}
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i], _ = x[i][i].Float64()
	}
	sort.Float64s(values)
	return values
}
