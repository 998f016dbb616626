package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat/kernel"
)

func TestExp(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 1, -1, 5e-324, 699.9, -699.9, 709.7, 710, -740, -750, math.Inf(1), math.Inf(-1), math.NaN()}
	for k := -90000.5; k < 90000; k += 37 { // where the rounding to an integer ties
		x = append(x, k*math.Ln2/128)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		x = append(x, 10*rng.NormFloat64())
	}
	y := make([]float64, len(x))
	kernel.Exp(y, x)
	for i, v := range x {
		want := math.Exp(v)
		if want == 0 || want-want != 0 {
			require.Equal(t, math.Float64bits(want), math.Float64bits(y[i]), "exp(%v)", v)
			continue
		}
		require.InEpsilon(t, want, y[i], 2.2*0x1p-52, "exp(%v)", v)
	}
}
