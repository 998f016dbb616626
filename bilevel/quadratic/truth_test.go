package quadratic

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

func TestSpectraAreTheChosenOnes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 33} {
		o := Options{Dx: n, Dy: n, MuG: 0.5, LG: 50, MuP: 2, LP: 3, CrossNorm: 0.7, Seed: uint64(n)}
		p := make1(t, o)
		for _, s := range []struct {
			a     *mat.Sym
			mu, l float64
		}{{p.a, o.MuG, o.LG}, {p.p, o.MuP, o.LP}} {
			var j eig.Jacobi
			require.NoError(t, j.Factor(s.a))
			for i, v := range j.Values() {
				want := s.mu * math.Pow(s.l/s.mu, float64(i)/max(1, float64(n-1)))
				assert.InDelta(t, want, v, 1e-12*s.l)
			}
		}
		assert.InEpsilon(t, 0.7, mat.NormFrob(p.b), 1e-14)
	}
}

func TestPromise(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want float64
	}{
		{Options{Seed: 1}, 1},
		{Options{Seed: 2, Dx: 3, Dy: 7, MuG: 1e-9, LG: 1e3, SigmaGy: 1, SigmaGxy: 1, Terms: 4}, 1e-9},
		{Options{Seed: 3, Dy: 1, MuG: 4, SigmaGxy: 1, Tail: 2}, 4},
		{Options{Seed: 4, SigmaGyy: 0.1}, math.Inf(-1)},
		{Options{Seed: 5, RankOneG: true}, math.Inf(-1)},
	} {
		p := make1(t, c.o)
		x, y := point(p, 5)
		assert.Equal(t, c.want, p.ConvexityAt(x))
		var j eig.Jacobi
		require.NoError(t, j.Factor(ask(t, p, x, y, 3).gyy))
		v := j.Values()
		if slack := 0x1p-50 * float64(len(v)*len(v)) * v[len(v)-1]; !math.IsInf(c.want, -1) {
			assert.InDelta(t, c.want, v[0], slack, "the promise is kept, and none is higher")
		}
	}
}

func TestOptimum(t *testing.T) {
	for name, o := range Variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, f := p.Optimum()
			grad := make([]float64, len(x))
			at, err := p.Objective(grad, x)
			require.NoError(t, err)
			assert.Equal(t, f, at)
			assert.Less(t, mat.Norm(grad), 1e-12)
			if o.Nonconvex > 0 {
				assert.Zero(t, f)
			}
			// No point nearby or far away is better; Mu says by how much at least.
			for _, r := range []float64{1e-3, 0.1, 1, 10} {
				for s := range uint64(20) {
					z, d := slices.Clone(x), mattest.Vec(len(x), s)
					q := r * r * mat.Dot(d, d)
					mat.Axpy(z, r, d)
					fz, err := p.Objective(nil, z)
					require.NoError(t, err)
					assert.Greater(t, fz, f+0.999*p.Constants(1).Mu/2*q)
				}
			}
			x[0]++
			again, _ := p.Optimum()
			assert.NotEqual(t, x, again, "Optimum must return a copy")
		})
	}
}

func TestNonconvexitySeen(t *testing.T) {
	p := make1(t, Options{Dx: 3, Dy: 2, Nonconvex: 4, CrossNorm: 0.1, Seed: 5})
	x, _ := p.Optimum()
	curve := func() (sum float64) {
		const h = 1e-3
		for d, weight := range map[float64]float64{h: 1, -h: 1, 0: -2} {
			z := slices.Clone(x)
			z[1] += d
			f, err := p.Objective(nil, z)
			require.NoError(t, err)
			sum += weight * f / (h * h)
		}
		return sum
	}
	assert.Greater(t, curve(), 0.0, "convex at the optimum")
	lowest := math.Inf(1)
	for range 40 {
		x[1] += 0.1
		lowest = min(lowest, curve())
	}
	muF := p.Constants(1).MuF
	assert.Equal(t, -2.0, muF)
	assert.Less(t, lowest, 0.95*muF)
	assert.Greater(t, lowest, muF-1e-6)
}
