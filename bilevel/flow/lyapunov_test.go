package flow

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/theorem"
	"stable/mat"
)

func TestLyapunovFalls(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			const beta = 2
			most, err := MaxAlpha(s.c, beta)
			require.NoError(t, err)
			for seed := range uint64(20) {
				x, y := start(s, seed)
				h := 0.5 / (beta * max(s.c.Lg, 6))
				f := newFlow(t, s.p, Options{Alpha: 0.99 * most, Beta: beta, H: h, X0: x, Y0: y})
				last, err := f.Lyapunov()
				require.NoError(t, err)
				vx, vy := make([]float64, len(x)), make([]float64, len(y))
				for range 400 {
					require.NoError(t, f.Velocity(vx, vy, f.X(), f.Y()))
					if mat.Norm(vx)+mat.Norm(vy) < 1e-5 { // V − V(∞) is of the order of the square, which rounding hides
						break
					}
					require.NoError(t, f.Step())
					v, err := f.Lyapunov()
					require.NoError(t, err)
					require.Less(t, v, last, "seed %d, step %d", seed, f.K())
					last = v
				}
			}
		})
	}
}

// L_f = 1 + 2·3 + 3/2·(6 + 2·8) = 40, B_x = 2 + 2·3 = 8, L = (6 + 2·8)/2 = 11.
func TestMaxAlpha(t *testing.T) {
	c := theorem.Constants{Lfx: 1, Lfy: 3, Lgxy: 6, Lgyy: 8, Cfx: 2, Cfy: 3, Cgxy: 4, MuG: 2}
	got, err := MaxAlpha(c, 5)
	require.NoError(t, err)
	assert.InEpsilon(t, 2*2*5.0/(40*40+2*8*11), got, 1e-15)
	got, err = MaxAlpha(theorem.Constants{MuG: 1}, 1)
	require.NoError(t, err)
	assert.Equal(t, math.Inf(1), got)
	for want, bad := range map[string]struct {
		beta float64
		c    theorem.Constants
	}{
		"beta is 0": {0, c}, "Constants.MuG is 0": {1, theorem.Constants{}},
		"Constants.Lgyy is NaN": {1, theorem.Constants{MuG: 1, Lgyy: math.NaN()}},
	} {
		_, err := MaxAlpha(bad.c, bad.beta)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}
