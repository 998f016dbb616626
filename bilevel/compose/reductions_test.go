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

func TestSTABLEIsLinearisedSCSC(t *testing.T) {
	const alpha, beta, tau, lo, hi = 0.1, 0.3, 0.4, -0.5, 0.6
	c := newWaves()
	x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
	m := newMethod("STABLE", bilevel.Constant(alpha), bilevel.Constant(beta)).(bilevel.STABLE)
	m.Tau, m.InitBatch = bilevel.Constant(tau), 2
	s := newSolver(t, m, c, bilevel.Options{X0: x, Y0: y, Set: bilevel.UniformBox(3, lo, hi), Seed: 2})
	mirror, h, df := newWaves(), make([]float64, 4), make([]float64, 4)
	j, now, old := mat.NewDense(3, 4), mat.NewDense(3, 4), mat.NewDense(3, 4)
	var xOld []float64
	x, y = slices.Clone(x), slices.Clone(y)
	for k := range 60 {
		c.log = nil
		require.NoError(t, s.Step())
		phi, xi := c.log[0].batch, c.log[len(c.log)-1].batch
		require.NoError(t, mirror.Gradients(now, x, phi))
		if k == 0 {
			require.Len(t, phi, 2)
			mat.Copy(j, now)
		} else {
			require.NoError(t, mirror.Gradients(old, xOld, phi))
			for i := range j.Data {
				j.Data[i] = (1-tau)*(j.Data[i]-old.Data[i]) + now.Data[i]
			}
		}
		_, err := mirror.Outer(df, y, xi)
		require.NoError(t, err)
		require.NoError(t, mirror.Inner(h, x, phi))
		next := slices.Clone(x)
		for i := range next {
			next[i] = min(max(x[i]-alpha*mat.Dot(j.Row(i), df), lo), hi)
		}
		for l := range y {
			y[l] -= beta * (y[l] - h[l])
			for i := range x {
				y[l] += j.At(i, l) * (next[i] - x[i])
			}
		}
		xOld, x = x, next
		require.InDeltaSlice(t, x, s.X(), 1e-12, "x at step %d", k)
		require.InDeltaSlice(t, y, s.Y(), 1e-12, "y at step %d", k)
	}
}

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
