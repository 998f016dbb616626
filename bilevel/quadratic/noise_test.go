package quadratic

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// The mean square over n draws deviates by √(2/(n·d)) at most: 5 of them are allowed.
func TestNoiseHasTheChosenSize(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 4000
	for name, o := range Variants() {
		if o.Terms > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, _ := p.Optimum()
			y := make([]float64, o.Dy)
			require.NoError(t, p.Solution(y, x))
			const r = 2.0                    // the distance at which the growth of the noise of g_y is measured,
			xr, yr := away(x, r), away(y, r) // that of Constants(r) because CrossNorm/MuG is 1
			exact, far := ask(t, p, x, y), ask(t, p, xr, yr)
			sum := map[string]float64{}
			count := func(name string, a, b []float64) {
				for i := range a {
					sum[name] += (a[i] - b[i]) * (a[i] - b[i]) / n
				}
			}
			d := mat.NewSym(o.Dy)
			for s := range bilevel.Sample(n) {
				a := ask(t, p, x, y, s)
				count("fx", a.fx, exact.fx)
				count("fy", a.fy, exact.fy)
				count("gy", a.gy, exact.gy)
				count("gxy", a.gxy.Data, exact.gxy.Data)
				mat.AddScaledSym(d, a.gyy, -1, exact.gyy)
				e := mat.NormFrobSym(d)
				sum["gyy"] += e * e / n
				count("far", ask(t, p, xr, yr, s).gy, far.gy)
			}
			c, grow := p.Constants(r), math.Sqrt(o.tail(2))
			for name, sigma := range map[string]float64{"fx": o.SigmaFx * grow, "fy": o.SigmaFy * grow,
				"gy": o.SigmaGy * grow, "gxy": c.SigmaGxy, "gyy": c.SigmaGyy} {
				assert.InEpsilon(t, sigma*sigma, sum[name], 5*math.Sqrt(2.0/n), name)
			}
			if o.Blind > 0 || o.RankOneG { // where the constant is a bound only
				assert.Less(t, sum["far"], c.SigmaGy*c.SigmaGy)
				return
			}
			assert.InEpsilon(t, c.SigmaGy*c.SigmaGy, sum["far"], 5*math.Sqrt(2.0/n))
		})
	}
}

// away is at distance r from x in a direction with all entries of one size.
func away(x []float64, r float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] + r/math.Sqrt(float64(len(x)))
	}
	return z
}

func TestMomentsAreThoseOfGaussians(t *testing.T) {
	const n, d, mean, sigma = 200000, 3, 1.2, 0.9
	rng := rand.New(rand.NewPCG(1, 2))
	m4, e := 0.0, make([]float64, d)
	for range n {
		gaussian(rng, e)
		mat.Scale(&mat.Dense{Rows: 1, Cols: d, Stride: d, Data: e}, sigma/math.Sqrt(d),
			&mat.Dense{Rows: 1, Cols: d, Stride: d, Data: e})
		e[0] += mean
		q := mat.Dot(e, e)
		m4 += q * q / n
	}
	// The relative deviation of one ‖m + σe‖⁴ is about 1.3.
	assert.InEpsilon(t, m4, math.Pow(moment(mean, sigma, d), 4), 5*1.3/math.Sqrt(n))
}

func TestSameNameIsSameDraw(t *testing.T) {
	for name, o := range Variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 51)
			x2, y2 := point(p, 61)
			first := ask(t, p, x, y, 4)
			second := ask(t, p, x2, y2, 4)
			assert.Equal(t, first.gxy, second.gxy)
			assert.Equal(t, first.gyy, second.gyy)
			assert.Equal(t, first, ask(t, p, x, y, 4))
			assert.Equal(t, first, ask(t, p.Clone(), x, y, 4))
			assert.Equal(t, first, ask(t, make1(t, o), x, y, 4))
			assert.NotEqual(t, first.gyy, ask(t, p, x, y, 5).gyy)
			o.Seed++
			assert.NotEqual(t, first.gyy, ask(t, make1(t, o), x, y, 4).gyy)
		})
	}
}
