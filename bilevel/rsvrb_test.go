package bilevel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// RSVRB against its equations, on a run in which the box, the eigenvalue truncation and the
// Frobenius projection act. H_xy and H_yy are those of the model of STABLE; one φ and one ξ serve
// both points.
func TestRSVRBFollowsThePaper(t *testing.T) {
	const mu, c = 0.9, 2.2
	alpha, beta, tau := Power{C: 0.2, P: 1.0 / 3}, Power{C: 0.2, K0: 2, P: 1.0 / 3}, Power{C: 0.9, P: 0.5}
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprintf("batch=%d", batch), func(t *testing.T) {
			w, mirror := newWavy(0.5), newWavy(0.5)
			opt := followOptions(batch)
			s, err := New(w, RSVRB{alpha, beta, tau, mu, c, 5}, opt)
			require.NoError(t, err)
			p := &paper{}
			x, y, boxed := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
			var xOld, yOld, u, v, d []float64
			gradF := func(x, y []float64, xi []Sample) (fx, fy []float64) {
				fx, fy = make([]float64, 3), make([]float64, 4)
				require.NoError(t, mirror.GradF(fx, fy, x, y, xi))
				return fx, fy
			}
			for k := range 60 {
				w.log = nil
				require.NoError(t, s.Step())
				r := &reader{t, mirror, w.log}
				var xiOld, phiOld []Sample
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
				// paper moves by equations of its own; only its estimates are used.
				p.x, p.y, p.xOld, p.yOld = x, y, xOld, yOld
				p.step(t, mirror, k, 0, 0, tau.At(k), mu, c, math.Inf(-1), math.Inf(1), phi, xi)

				xOld, yOld = slices.Clone(x), slices.Clone(y)
				h := slices.Clone(u)
				mat.Axpy(h, -1, apply(p.hxy, apply(invert(t, p.hyy), v)))
				mat.Axpy(x, -alpha.At(k), h)
				mat.Axpy(y, -beta.At(k), d)
				boxed += clamp(x)
				require.InDeltaSlice(t, x, s.X(), 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, y, s.Y(), 1e-10, "y at step %d", k)
			}
			assert.Greater(t, p.clipped, 5, "the eigenvalue truncation hardly acted")
			assert.Greater(t, p.shrunk, 5, "the Frobenius projection hardly acted")
			assert.Greater(t, boxed, 5, "the box hardly acted")
			assert.Equal(t, Activity{Truncated: p.clipped, Shrunk: p.shrunk}, s.Activity())
		})
	}
}

// Exact oracles keep every estimate exact, for every τ.
func TestRSVRBExact(t *testing.T) {
	for _, tau := range []float64{0, 0.3, 1} {
		w := newWavy(0.1)
		opt := Options{Set: UniformBox(3, -0.2, 0.4), UpperBatch: Full, LowerBatch: Full}
		s, err := New(w, RSVRB{Alpha: Constant(0.05), Beta: Constant(0.1), Tau: Constant(tau), MuG: 0.01}, opt)
		require.NoError(t, err)
		gy := make([]float64, 4)
		for range 30 {
			want := exactHypergradient(t, w, s.X(), s.Y())
			require.NoError(t, w.GradG(gy, s.X(), s.Y(), nil))
			require.NoError(t, s.Step())
			m := s.it.stepper.(*rsvrb)
			require.InDeltaSlice(t, want, m.h, 1e-11)
			require.InDeltaSlice(t, gy, m.d.est, 1e-12)
		}
	}
}
