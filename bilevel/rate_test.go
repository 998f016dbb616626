package bilevel_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// dist2 is ‖a − b‖².
func dist2(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return s
}

// Theorem 3: with noise on every derivative, E‖x^k − x*‖² and E‖y^k − y*(x^k)‖² fall as 1/k. The
// slope of log E against log k is fitted on groups of independent trials; their mean lies within
// its 99.9 % interval of −1, and the interval is narrow enough to tell −1 from the −2/3 of a
// two-timescale method.
func TestSTABLERate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const groups, trials, steps, from = 12, 10, 8000, 400
	opt := quadratic.Options{Dx: 3, Dy: 4, Seed: 5, LG: 3, LP: 2, CrossNorm: 2,
		SigmaFx: 0.5, SigmaFy: 0.5, SigmaGy: 0.5, SigmaGxy: 0.3, SigmaGyy: 0.3}
	p, err := quadratic.New(opt)
	require.NoError(t, err)
	best, _ := p.Optimum()
	var at []int
	for k := float64(from); k <= steps; k *= math.Sqrt2 {
		at = append(at, int(k))
	}
	slopes := map[string][]float64{}
	for g := range groups {
		ex, ey := make([]float64, len(at)), make([]float64, len(at))
		for trial := range trials {
			errorsOfTrial(t, p, best, at, uint64(g*trials+trial), ex, ey)
		}
		slopes["x"] = append(slopes["x"], slope(at, ex))
		slopes["y"] = append(slopes["y"], slope(at, ey))
	}
	for name, s := range slopes {
		const quantile = 4.437 // of Student's t with 11 degrees of freedom, at 99.95 %
		mean, half := meanInterval(s, quantile)
		t.Logf("E‖%s error‖² falls as k^(%.3f ± %.3f)", name, mean, half)
		assert.InDelta(t, -1, mean, half, name)
		assert.Less(t, half, 0.25, name)
	}
}

// errorsOfTrial adds the squared errors of one trial at the given steps.
func errorsOfTrial(t *testing.T, p *quadratic.Problem, best []float64, at []int, seed uint64, ex, ey []float64) {
	s, err := bilevel.New(p, bilevel.STABLE{
		Alpha: bilevel.Power{C: 2, K0: 20, P: 1},
		Beta:  bilevel.Power{C: 4, K0: 20, P: 1},
		Tau:   bilevel.Power{C: 4, K0: 20, P: 1},
		MuG:   0.5,
	}, bilevel.Options{Seed: seed})
	require.NoError(t, err)
	y := make([]float64, len(s.Y()))
	next := 0
	_, err = s.Run(context.Background(), bilevel.Run{Steps: at[len(at)-1], Progress: func(s *bilevel.Solver) bool {
		if s.K() == at[next] {
			assert.NoError(t, p.Solution(y, s.X()))
			ex[next] += dist2(s.X(), best)
			ey[next] += dist2(s.Y(), y)
			next++
		}
		return true
	}})
	require.NoError(t, err)
}

// slope is that of the least-squares line through (log k, log e).
func slope(k []int, e []float64) float64 {
	n := float64(len(k))
	var sx, sy, sxx, sxy float64
	for i := range k {
		x, y := math.Log(float64(k[i])), math.Log(e[i])
		sx += x
		sy += y
		sxx += x * x
		sxy += x * y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// meanInterval returns the mean and the half-width of its confidence interval.
func meanInterval(v []float64, quantile float64) (mean, half float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = x - mean
	}
	return mean, quantile * mat.Norm(d) / math.Sqrt((n-1)*n)
}
