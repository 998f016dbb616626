package method

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

// Both against their equations, over a box and over a half-space, where the metric couples entries.
func TestBiAdamFollowsThePaper(t *testing.T) {
	const terms, decay, rho = 4, 0.7, 0.05
	alpha, beta, eta := bilevel.Power{C: 0.2, P: 0.1}, bilevel.Power{C: 0.3, K0: 2, P: 0.1}, bilevel.Power{C: 0.9,
		P: 0.2}
	tauX, tauY := bilevel.Power{C: 0.9, P: 0.5}, bilevel.Power{C: 0.8, P: 0.6}
	series := Neumann{LG: 7, MuG: 0.7, Terms: terms}
	m := BiAdam{Alpha: alpha, Beta: beta, Eta: eta, TauX: tauX, TauY: tauY, Decay: decay, Rho: rho, Neumann: series}
	for _, storm := range []bool{false, true} {
		for _, set := range []bilevel.MetricSet{bilevel.UniformBox(3, followLo, followHi),
			bilevel.HalfSpace{A: []float64{1, -2, 0.5}, B: 0.5}} {
			for _, batch := range []int{1, 3} {
				t.Run(fmt.Sprintf("storm=%v,%T,batch=%d", storm, set, batch), func(t *testing.T) {
					w := newWavy(0.5)
					opt := followOptions(batch)
					opt.Set = set
					var method bilevel.Method = m
					if storm {
						method = VRBiAdam(m)
					}
					s, err := bilevel.New(w, method, opt)
					require.NoError(t, err)
					x, y, acted := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
					var xOld, yOld, dx, dy, a, b []float64
					for k := range 40 {
						w.Log = []call{}
						require.NoError(t, s.Step())
						r := &reader{t, newWavy(0.5), w.Log}

						back := storm && k > 0
						var gOld, hOld []float64
						if back {
							phi := r.next("GradG", xOld, yOld)
							gOld = r.gradG(xOld, yOld, phi)
							require.Equal(t, phi, r.log[0].Batch, "another φ at the old point")
						}
						phi := r.next("GradG", x, y)
						require.Len(t, phi, batch)
						g := r.gradG(x, y, phi)
						if back {
							d := r.estimate(xOld, yOld)
							hOld = r.hypergradient(xOld, yOld, d, series.LG, terms, true)
							rest := &reader{t, nil, r.log}
							require.Equal(t, d, rest.estimate(x, y), "another draw at the old point")
						}
						h := r.hypergradient(x, y, r.estimate(x, y), series.LG, terms, true)
						require.Empty(t, r.log)

						// Directions and metrics.
						average := func(d, now, old []float64, tau float64) []float64 {
							out := slices.Clone(now)
							for i := range out {
								switch {
								case k == 0:
								case storm:
									out[i] = now[i] + (1-tau)*(d[i]-old[i])
								default:
									out[i] = tau*now[i] + (1-tau)*d[i]
								}
							}
							return out
						}
						squares := func(a, now []float64) []float64 {
							out := make([]float64, len(now))
							for i, v := range now {
								switch {
								case k == 0:
									out[i] = v * v
								case k < 3: // 1/(1 − 0.7) is 3.33 steps
									out[i] = (float64(k)*a[i] + v*v) / float64(k+1)
								default:
									out[i] = decay*a[i] + (1-decay)*v*v
								}
							}
							return out
						}
						dx, dy = average(dx, h, hOld, tauX.At(k)), average(dy, g, gOld, tauY.At(k))
						a, b = squares(a, h), squares(b, g)

						// The step.
						xOld, yOld = slices.Clone(x), slices.Clone(y)
						tilde, metric := make([]float64, 3), make([]float64, 3)
						for i := range x {
							metric[i] = math.Sqrt(a[i]) + rho
							tilde[i] = x[i] - alpha.At(k)*dx[i]/metric[i]
						}
						free := slices.Clone(tilde)
						set.ProjectMetric(tilde, tilde, metric)
						if !slices.Equal(free, tilde) {
							acted++
						}
						for i := range x {
							x[i] += eta.At(k) * (tilde[i] - x[i])
						}
						for j := range y {
							y[j] -= eta.At(k) * beta.At(k) * dy[j] / (math.Sqrt(b[j]) + rho)
						}
						require.InDeltaSlice(t, x, s.X(), 1e-10, "x at step %d", k)
						require.InDeltaSlice(t, y, s.Y(), 1e-10, "y at step %d", k)
					}
					assert.Greater(t, acted, 5, "the set hardly acted")
				})
			}
		}
	}
}

// Weight 1 is the method without a memory; a constant metric makes VR-BiAdam SUSTAIN.
func TestBiAdamReductions(t *testing.T) {
	const rho = 1e13
	n, one, tau := Neumann{LG: 7, MuG: 0.7, Terms: 4}, bilevel.Constant(1), bilevel.Constant(0.3)
	opt := bilevel.Options{Seed: 5, LowerBatch: 2, Set: bilevel.UniformBox(3, followLo, followHi)}
	m := BiAdam{Alpha: bilevel.Constant(0.05), Beta: bilevel.Constant(0.1), TauX: one, TauY: one, Neumann: n}
	assert.Equal(t, afterSteps(t, m, opt, 40), afterSteps(t, VRBiAdam(m), opt, 40))
	m.TauX, m.TauY = tau, tau
	assert.NotEqual(t, afterSteps(t, m, opt, 40), afterSteps(t, VRBiAdam(m), opt, 40))

	m.Alpha, m.Beta, m.Rho = bilevel.Constant(0.05*rho), bilevel.Constant(0.1*rho), rho
	want := afterSteps(t,
		SUSTAIN{Alpha: bilevel.Constant(0.05), Beta: bilevel.Constant(0.1), TauX: tau, TauY: tau, Neumann: n}, opt, 40)
	assert.InDeltaSlice(t, want, afterSteps(t, VRBiAdam(m), opt, 40), 1e-10)
}
