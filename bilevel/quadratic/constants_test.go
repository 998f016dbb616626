package quadratic

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/mattest"
)

func TestConstantsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const r, n = 1.5, 300
	for name, o := range Variants() {
		if o.Terms > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			c := p.Constants(r)
			xs, _ := p.Optimum()
			ys := make([]float64, o.Dy)
			require.NoError(t, p.Solution(ys, xs))
			rng := mattest.Rand(9)
			inBall := func(c []float64, r float64) []float64 {
				z := make([]float64, len(c))
				gaussian(rng, z)
				s := r * rng.Float64() / mat.Norm(z)
				for i := range z {
					z[i] = c[i] + s*z[i]
				}
				return z
			}
			for range 10 {
				x, x2, y, y2 := inBall(xs, r), inBall(xs, r), inBall(ys, r), inBall(ys, r)
				a, ax, ay := ask(t, p, x, y, 1), ask(t, p, x2, y, 1), ask(t, p, x, y2, 1)
				assert.LessOrEqual(t, distance(a.fx, ax.fx), c.LfxBar*distance(x, x2)*(1+1e-12))
				assert.LessOrEqual(t, distance(a.fy, ay.fy), c.Lfy*distance(y, y2)*(1+1e-12))
				m, my := ask(t, p, x, y), ask(t, p, x, y2)
				assert.LessOrEqual(t, distance(m.gy, my.gy), c.Lg*distance(y, y2)*(1+1e-12))

				sum := map[string]float64{}
				for s := range bilevel.Sample(n) {
					a := ask(t, p, x, y, s)
					fx, fy, gxy := mat.Norm(a.fx), mat.Norm(a.fy), mat.NormFrob(a.gxy)
					sum["fx"] += math.Pow(fx, 4) / n
					sum["fy"] += math.Pow(fy, 4) / n
					sum["gxy"] += gxy * gxy / n
					d := distance(a.gy, m.gy)
					sum["gy"] += d * d / n
				}
				// 1.3 leaves room for the deviation of an average over 300 draws.
				assert.Less(t, sum["fx"], 1.3*math.Pow(c.Cfx, 4))
				assert.Less(t, sum["fy"], 1.3*math.Pow(c.Cfy, 4))
				assert.Less(t, sum["gxy"], 1.3*c.Cgxy*c.Cgxy)
				assert.Less(t, sum["gy"], 1.3*c.SigmaGy*c.SigmaGy)
			}
		})
	}
	assert.Panics(t, func() { make1(t, Options{}).Constants(math.NaN()) })
}

func distance(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return mat.Norm(d)
}
