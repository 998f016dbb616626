package quadratic

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// A sample's g_yy is a aᵀ, all of whose minors of order two vanish, and the mean over many is A.
func TestRankOneSamples(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3, Seed: 4, RankOneG: true})
	x, y := point(p, 5)
	a := ask(t, p, x, y, 7).gyy
	for i := range 3 {
		for j := range i {
			assert.InDelta(t, a.At(i, i)*a.At(j, j), a.At(i, j)*a.At(i, j), 1e-10)
		}
	}
	batch := make([]bilevel.Sample, 40000)
	for i := range batch {
		batch[i] = bilevel.Sample(i)
	}
	mean, exact := ask(t, p, x, y, batch...).gyy, ask(t, p, x, y).gyy
	mat.AddScaledSym(mean, mean, -1, exact)
	assert.Less(t, mat.NormFrobSym(mean), 4*p.Constants(0).SigmaGyy/math.Sqrt(float64(len(batch))))

	// f_yy(ξ) = n nᵀ: the answer of f_y to a step in y lies in one direction.
	p = make1(t, Options{Dx: 2, Dy: 3, Seed: 4, RankOneF: true})
	f1 := ask(t, p, x, y, 7).fy
	var ratio float64
	for i := range y {
		y2 := append([]float64(nil), y...)
		y2[i]++
		f2 := ask(t, p, x, y2, 7).fy
		r := (f2[0] - f1[0]) / (f2[1] - f1[1])
		if i > 0 {
			require.InEpsilon(t, ratio, r, 1e-9)
		}
		ratio = r
	}
}

func TestTailIsHeavy(t *testing.T) {
	const n = 20000
	for _, nu := range []float64{1.1, 1.5, 4} {
		p := make1(t, Options{Tail: nu})
		for _, bound := range []float64{2, 10} {
			beyond := 0.0
			for s := range bilevel.Sample(n) {
				if p.seed(kindFx, s) > bound {
					beyond += 1. / n
				}
			}
			want := math.Pow(bound, -nu)
			assert.InDelta(t, want, beyond, 4*math.Sqrt(want/n))
		}
		if nu < 2 {
			o := Options{Tail: nu, SigmaGy: 1}
			assert.True(t, math.IsInf(make1(t, o).Constants(1).SigmaGy, 1))
		}
	}
}
