package kernel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat/kernel"
)

func TestExp(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 5e-324, 699.9, -699.9, 709.7, 710, -740, -750, math.Inf(1), math.Inf(-1), math.NaN()}
	for k := -90000.5; k < 90000; k += 3.5 { // r is largest at every other one
		x = append(x, k*math.Ln2/128)
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
