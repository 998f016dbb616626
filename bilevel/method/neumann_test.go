package method

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// p is uniform on {0, …, N−1}: Pearson's statistic is below its 99.9 % quantile.
func TestNeumannTruncationIsUniform(t *testing.T) {
	const n, draws = 5, 10000
	it := iteration(t, newWavy(0), bilevel.Options{Seed: 4})
	mem := newMemory(it)
	h := hypergradient{series: Neumann{LG: 1, Terms: n}, random: true}
	h.start(mem)
	var seen [n]float64
	for range draws {
		h.draw(mem.begin(it), 1, 1)
		require.Len(t, h.phi.ends, 1+h.prods)
		seen[h.prods]++
	}
	var chi float64
	for _, c := range seen {
		chi += sq(c-draws/n) / (draws / n)
	}
	assert.Less(t, chi, 18.467)
}

// With exact products both are the N-term sum, and its error attains the bound at an eigenvector.
func TestNeumannBias(t *testing.T) {
	w := newWavy(0)
	w.Kappa = 0 // g_yy = diag(1, 2, 3, 4)
	const mu, lg = 1.0, 4.0
	it := iteration(t, w, bilevel.Options{})
	x := []float64{0.3, -0.8, 0.5}
	gxy := mat.NewDense(3, 4)
	require.NoError(t, w.CrossG(gxy, x, make([]float64, 4), nil))
	for name, y := range map[string][]float64{"any": {0.4, -1, 0.2, 0.7}, "smallest": {2, 1, 1, 1}} { // f_y = y − 1
		for _, random := range []bool{true, false} {
			for _, n := range []int{1, 2, 5, 20, 60} {
				mem := newMemory(it)
				s, dst := mem.begin(it), mem.x("")
				h := hypergradient{series: Neumann{LG: lg, Terms: n}, random: random}
				h.start(mem)
				h.draw(s, bilevel.Full, bilevel.Full)
				h.at(s, dst, x, y)
				require.NoError(t, s.err)
				exact, missing := make([]float64, 4), make([]float64, 4)
				for j := range y {
					exact[j] = (y[j] - 1) / float64(1+j)
					missing[j] = exact[j] - h.v[j]
				}
				bound := mat.Norm(h.fy) / mu * math.Pow(1-mu/lg, float64(n))
				assert.LessOrEqual(t, mat.Norm(missing), bound*(1+1e-12)+1e-14, name)
				if name == "smallest" {
					assert.InDelta(t, bound, mat.Norm(missing), 1e-14)
				}
				truth := make([]float64, 3)
				mat.MulVec(truth, gxy, exact)
				for i := range truth {
					truth[i] = h.fx[i] - truth[i] - dst[i]
				}
				assert.LessOrEqual(t, mat.Norm(truth), mat.NormFrob(gxy)*bound*(1+1e-12)+1e-14)
			}
		}
	}
}

// The default N keeps (1 − μ/L)^N below 1/(k+1), with at most a term or two too many.
func TestNeumannTerms(t *testing.T) {
	for _, n := range []Neumann{{LG: 1, MuG: 1}, {LG: 3, MuG: 1}, {LG: 50, MuG: 0.5}} {
		q := 1 - n.MuG/n.LG
		for _, k := range []int{0, 1, 2, 10, 1000, 1 << 30} {
			assert.LessOrEqual(t, math.Pow(q, float64(n.terms(k))), 1/float64(k+1))
			assert.LessOrEqual(t, float64(n.terms(k)), 2+n.LG/n.MuG*math.Log(float64(k)+1))
		}
	}
	assert.Equal(t, 7, Neumann{LG: 3, MuG: 1, Terms: 7}.terms(1000))
}
