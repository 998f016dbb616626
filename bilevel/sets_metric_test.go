package bilevel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// spread draws x and w over the given numbers of decades around 1.
func spread(rng *rand.Rand, x, w []float64, decadesX, decadesW float64) {
	for i := range x {
		x[i] = rng.NormFloat64() * math.Pow(10, decadesX*(rng.Float64()-0.5))
		w[i] = math.Pow(10, decadesW*(rng.Float64()-0.5))
	}
}

// The optimality conditions of the ball: ‖z − c‖ = R, and w_i(x_i − z_i) = λ(z_i − c_i) with one λ
// ≥ 0. Weights over 200 decades, points over 100.
func TestBallProjectMetricOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{1, 2, 3, 10, 100} {
		for _, decades := range []float64{0, 2, 20, 200} {
			for _, radius := range []float64{1e-40, 1e-3, 1, 30} {
				x, w, z := make([]float64, d), make([]float64, d), make([]float64, d)
				b := Ball{Radius: radius}
				for range 20 {
					spread(rng, x, w, decades/2, decades)
					b.ProjectMetric(z, x, w)
					if mat.Norm(x) <= radius {
						require.Equal(t, x, z)
						continue
					}
					require.InEpsilon(t, radius, b.distance(z), 1e-15)
					lambda := math.NaN()
					for i := range x { // the entry that moved by the largest share knows λ best
						if math.Abs(z[i]) < math.Abs(x[i])/2 {
							lambda = w[i] * (x[i] - z[i]) / z[i]
							break
						}
					}
					for i := range x {
						if math.IsNaN(lambda) || math.Abs(z[i]) < 1e-290 {
							continue
						}
						want := x[i] * (w[i] / (w[i] + lambda))
						require.InDelta(t, want, z[i], 1e-11*math.Abs(x[i]), "d=%d decades=%v", d, decades)
					}
				}
			}
		}
	}
}

// The optimality conditions of the simplex: z ≥ 0, Σz = Sum, w_i(x_i − z_i) = θ where z_i > 0, and
// ≤ θ where z_i = 0.
func TestSimplexProjectMetricOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{1, 2, 3, 10, 100} {
		for _, decades := range []float64{0, 2, 8} {
			for _, sum := range []float64{1e-3, 1, 50} {
				x, w, z := make([]float64, d), make([]float64, d), make([]float64, d)
				for range 20 {
					spread(rng, x, w, 2, decades)
					Simplex{sum}.ProjectMetric(z, x, w)
					total, theta, moved, scale := 0.0, 0.0, -1.0, max(1, sum)
					for i, v := range z {
						require.GreaterOrEqual(t, v, 0.0)
						total += v
						scale = max(scale, math.Abs(x[i]))
						if m := math.Abs(x[i] - v); v > 0 && m > moved { // it knows θ best
							theta, moved = w[i]*(x[i]-v), m
						}
					}
					require.InEpsilon(t, sum, total, 1e-12)
					for i, v := range z {
						want := max(x[i]-theta/w[i], 0)
						require.InDelta(t, want, v, 1e-12*scale, "d=%d decades=%v", d, decades)
					}
				}
			}
		}
	}
}

// The optimality conditions of the half-space: Aᵀz = B, and w_i(x_i − z_i) = λA_i with one λ ≥ 0.
func TestHalfSpaceProjectMetricOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, decades := range []float64{0, 2, 200} {
		x, w, z, a := make([]float64, 5), make([]float64, 5), make([]float64, 5), make([]float64, 5)
		for range 50 {
			spread(rng, x, w, 1, decades)
			spread(rng, a, x, 1, 0)
			h := HalfSpace{a, -3}
			h.ProjectMetric(z, x, w)
			require.LessOrEqual(t, mat.Dot(a, z), -3+1e-13*(1+mat.Norm(a)*mat.Norm(x)))
			var denom float64
			for i := range a {
				denom += a[i] / w[i] * a[i]
			}
			lambda := max(mat.Dot(a, x)+3, 0) / denom
			for i := range a {
				require.InDelta(t, x[i]-lambda*a[i]/w[i], z[i], 1e-12*(1+math.Abs(x[i]-z[i])))
			}
		}
	}
}

// Answers that are known, at scales where plain formulas overflow or cancel.
func TestSetsProjectMetricExtreme(t *testing.T) {
	p := make([]float64, 2)
	Simplex{}.ProjectMetric(p, []float64{1, 1}, []float64{1, 3})
	assert.Equal(t, []float64{0.25, 0.75}, p)
	Simplex{}.ProjectMetric(p, []float64{0.5, 0.1}, []float64{1e150, 1e-150})
	assert.Equal(t, []float64{0.5, 0.5}, p)
	Simplex{}.ProjectMetric(p, []float64{0.5, 0.1}, []float64{1e-150, 1e150})
	assert.InDeltaSlice(t, []float64{0.9, 0.1}, p, 1e-16)
	for _, w := range []float64{1e-300, 7, 1e300} { // a common offset
		Simplex{}.ProjectMetric(p, []float64{1e15 + 0.5, 1e15}, []float64{w, w})
		assert.Equal(t, []float64{0.75, 0.25}, p)
	}

	// The heavy entry keeps what there is, whatever rounding makes of a multiplier of a hundred
	// digits.
	q := make([]float64, 5)
	Simplex{}.ProjectMetric(q, []float64{48, 48, 48, 1 + 0x1p-52, 48}, []float64{0.78, 56, 88, 2e117, 1})
	assert.InDeltaSlice(t, []float64{0, 0, 0, 1, 0}, q, 1e-13)
	Simplex{32}.ProjectMetric(q, []float64{48, 48, 48, 48, 48}, []float64{48, 2e117, 50, 48, 1})
	assert.InDeltaSlice(t, []float64{0, 32, 0, 0, 0}, q, 1e-13)

	// The light entry gives way first: it goes to 0 before the heavy one moves.
	for _, scale := range []float64{1e-100, 1, 1e100} {
		Ball{Radius: scale}.ProjectMetric(p, []float64{0.5 * scale, 2 * scale}, []float64{1e200, 1e-100})
		assert.InDeltaSlice(t, []float64{0.5, math.Sqrt(0.75)}, []float64{p[0] / scale, p[1] / scale}, 1e-14)
	}
	Ball{Radius: 3}.ProjectMetric(p, []float64{1e200, -1e200}, []float64{1e-250, 1e-250})
	assert.InDeltaSlice(t, []float64{3 / math.Sqrt2, -3 / math.Sqrt2}, p, 1e-14)
	Ball{Radius: 1}.ProjectMetric(p, []float64{2, 2}, []float64{1e200, 1e-200})
	assert.Equal(t, []float64{1, 0}, p)
	Ball{Center: []float64{1, 2}}.ProjectMetric(p, []float64{5, 7}, []float64{1, 2})
	assert.Equal(t, []float64{1, 2}, p, "radius 0")
	Ball{Radius: 1e-200}.ProjectMetric(p, []float64{1e200, 0}, []float64{1, 2})
	assert.InDelta(t, 0, p[0], 1e-200)

	HalfSpace{[]float64{1e-100, 1}, 1}.ProjectMetric(p, []float64{0, 3}, []float64{1e250, 1e-200})
	assert.Equal(t, []float64{0, 1}, p)
	HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}.ProjectMetric(p, []float64{0x1p525, 7}, []float64{4, 1}) // Aᵀx is 2¹⁰²⁵
	assert.Equal(t, []float64{0x1p523, 7}, p)
}

// NaN and Inf, in the point and in the weights, end no later than numbers, and show.
func TestSetsProjectMetricNotFinite(t *testing.T) {
	for name, c := range setCases(3) {
		set := c.set.(MetricSet)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p := make([]float64, 3)
			set.ProjectMetric(p, []float64{100, bad, 100}, []float64{1, 2, 3})
			if math.IsNaN(bad) {
				assert.True(t, math.IsNaN(p[1]), "%s hides a NaN", name)
			}
			set.ProjectMetric(p, []float64{100, 90, 100}, []float64{1, bad, 3})
		}
	}
}

func TestSetsProjectMetricInPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x, w, p := make([]float64, 5), make([]float64, 5), make([]float64, 5)
	for name, c := range setCases(5) {
		for range 50 {
			spread(rng, x, w, 3, 3)
			c.set.(MetricSet).ProjectMetric(p, x, w)
			c.set.(MetricSet).ProjectMetric(x, x, w)
			require.Equal(t, p, x, name)
		}
	}
}
