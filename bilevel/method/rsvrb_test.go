package method

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat"
)

// RSVRB against its equations, on a run in which box, truncation and Frobenius projection act.
func TestRSVRBFollowsThePaper(t *testing.T) {
	const mu, c = 0.9, 2.2
	alpha, beta, tau := bilevel.Power{C: 0.2, P: 1.0 / 3}, bilevel.Power{C: 0.2, K0: 2,
		P: 1.0 / 3}, bilevel.Power{C: 0.9, P: 0.5}
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprintf("batch=%d", batch), func(t *testing.T) {
			w, mirror := newWavy(0.5), newWavy(0.5)
			opt := followOptions(batch)
			s, err := bilevel.New(w, RSVRB{Alpha: alpha, Beta: beta, Tau: tau, MuG: mu, CGxy: c, InitBatch: 5}, opt)
			require.NoError(t, err)
			est, err := bilevel.NewEstimator(mirror, mu, c)
			require.NoError(t, err)
			clipped, shrunk := 0, 0
			x, y, boxed := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
			var xOld, yOld, u, v, d []float64
			gradF := func(x, y []float64, xi []bilevel.Sample) (fx, fy []float64) {
				fx, fy = make([]float64, 3), make([]float64, 4)
				require.NoError(t, mirror.GradF(fx, fy, x, y, xi))
				return fx, fy
			}
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r := &reader{t, mirror, w.Log}
				var xiOld, phiOld []bilevel.Sample
				if k > 0 {
					xiOld, phiOld = r.next("GradF", xOld, yOld), r.next("GradG", xOld, yOld)
					require.Equal(t, phiOld, r.next("CrossG", xOld, yOld), "another φ")
				}
				phi := r.next("CrossG", x, y)
				if k > 0 {
					require.Equal(t, phiOld, r.next("HessG", xOld, yOld), "another φ")
				}
				require.Equal(t, phi, r.next("HessG", x, y), "another φ")
				xi := r.next("GradF", x, y)
				require.Equal(t, phi, r.next("GradG", x, y), "another φ")
				require.Empty(t, r.log)
				require.Len(t, xi, batch)

				fx, fy := gradF(x, y, xi)
				gy := r.gradG(x, y, phi)
				if k == 0 {
					require.Len(t, phi, 5)
					u, v, d = fx, fy, gy
				} else {
					require.Len(t, phi, batch)
					require.Equal(t, phi, phiOld, "another φ at the old point")
					require.Equal(t, xi, xiOld, "another ξ at the old point")
					fxOld, fyOld := gradF(xOld, yOld, xi)
					storm := func(d, now, old []float64) {
						for i := range d {
							d[i] = now[i] + (1-tau.At(k))*(d[i]-old[i])
						}
					}
					storm(u, fx, fxOld)
					storm(v, fy, fyOld)
					storm(d, gy, r.gradG(xOld, yOld, phi))
				}
				if k == 0 {
					require.NoError(t, est.Init(x, y, phi))
				} else {
					require.NoError(t, est.Update(tau.At(k), x, y, phi))
				}
				if est.Report().Truncate.Clipped > 0 {
					clipped++
				}
				if est.Report().CrossNorm > c {
					shrunk++
				}

				xOld, yOld = slices.Clone(x), slices.Clone(y)
				h := slices.Clone(u)
				inverse := bileveltest.Invert(bileveltest.Full(est.Hyy(), 4, 4))
				mat.Axpy(h, -1, bileveltest.Apply(bileveltest.Full(est.Hxy(), 3, 4), bileveltest.Apply(inverse, v)))
				mat.Axpy(x, -alpha.At(k), h)
				mat.Axpy(y, -beta.At(k), d)
				boxed += clamp(x)
				require.InDeltaSlice(t, x, s.X(), 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, y, s.Y(), 1e-10, "y at step %d", k)
			}
			assert.Greater(t, clipped, 5, "the eigenvalue truncation hardly acted")
			assert.Greater(t, shrunk, 5, "the Frobenius projection hardly acted")
			assert.Greater(t, boxed, 5, "the box hardly acted")
			assert.Equal(t, bilevel.Activity{Truncated: clipped, Shrunk: shrunk}, s.Activity())
		})
	}
}
