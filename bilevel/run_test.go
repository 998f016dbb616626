package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPower(t *testing.T) {
	for _, p := range []float64{0, 0.5, 1, 1.0 / 3} {
		for _, k := range []int{0, 1, 10, 1e6} {
			assert.InEpsilon(t, 3/math.Pow(float64(k)+1, p), Power{C: 3, P: p}.At(k), 1e-14)
			assert.InEpsilon(t, 3/math.Pow(float64(k)+20, p), Power{C: 3, K0: 20, P: p}.At(k), 1e-14)
		}
	}
	assert.Equal(t, "0.1/(k+1)^0.5", Power{C: 0.1, P: 0.5}.String())
}
