package eig

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Both ways of QL on 2·cos(πk/(n + 1)), where pivots vanish, and against each other elsewhere.
func TestDoubleSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	kinds := map[string]func(i, n int) (d, e float64){
		"sine":   func(int, int) (d, e float64) { return 0, 1 },
		"whole":  func(int, int) (d, e float64) { return float64(rng.IntN(3) - 1), 1 },
		"peaks":  func(i, n int) (d, e float64) { return math.Abs(float64(2*i-n+1)) / 2, 1 },
		"random": func(int, int) (d, e float64) { return rng.Float64() - 0.5, rng.Float64() - 0.5 },
		"weak":   func(int, int) (d, e float64) { return float64(rng.IntN(2)), math.Pow(10, -20*rng.Float64()) },
		"graded": func(i, _ int) (d, e float64) { return math.Pow(10, -float64(i)), math.Pow(10, -float64(i)-0.5) },
		"rising": func(i, n int) (d, e float64) { return math.Pow(10, float64(i-n)), math.Pow(10, float64(i-n)-0.5) },
	}
	for name, kind := range kinds {
		for n := 2; n < 40; n++ {
			for range 20 {
				d, e2, norm := make([]float64, n), make([]float64, n), 0.0
				for i := range n {
					var e float64
					d[i], e = kind(i, n)
					e2[i] = e * e
					norm = max(norm, math.Abs(d[i])+2*math.Abs(e))
				}
				e2[n-1] = 0
				single, double := slices.Clone(d), slices.Clone(d)
				require.True(t, tridiagonalValues(single, slices.Clone(e2), norm, false), "%s, n=%d", name, n)
				require.True(t, tridiagonalValues(double, slices.Clone(e2), norm, true), "%s, n=%d", name, n)
				assert.InDeltaSlice(t, single, double, 4*eps*float64(n)*norm, "%s, n=%d", name, n)
				if name == "sine" {
					for k := range n {
						assert.InDelta(t, -2*math.Cos(math.Pi*float64(k+1)/float64(n+1)), double[k], 4*eps*float64(n))
					}
				}
			}
		}
	}
}
