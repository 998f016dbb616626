package compose

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// With exact oracles y lags behind h(x) by O(α) in SCGD, by O(α²) in STABLE, not at all in SCSC.
func TestLag(t *testing.T) {
	p := Adapt(newWaves())
	x0, y0, h := []float64{1.5, -2, 2.5}, make([]float64, 4), make([]float64, 4)
	require.NoError(t, p.Solution(y0, x0))
	lag := func(name string, alpha float64) (worst float64) {
		s := newSolver(t, newMethod(name, bilevel.Constant(alpha), bilevel.Constant(0.5)), newWaves(),
			bilevel.Options{X0: x0, Y0: y0, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
		for range int(1 / alpha) {
			at := slices.Clone(s.X()) // SCGD and SCSC track h of the last iterate, STABLE that of the present one
			require.NoError(t, s.Step())
			if name == "STABLE" {
				at = s.X()
			}
			require.NoError(t, p.Solution(h, at))
			mat.Axpy(h, -1, s.Y())
			worst = max(worst, mat.Norm(h))
		}
		return worst
	}
	order := func(name string) float64 { return math.Log2(lag(name, 1./64) / lag(name, 1./128)) }
	assert.InDelta(t, 1, order("SCGD"), 0.1)
	assert.InDelta(t, 2, order("STABLE"), 0.1)
	assert.Less(t, lag("SCSC", 1./64), 1e-12)
	assert.Greater(t, lag("SCGD", 1./64), 1e-3)
}
