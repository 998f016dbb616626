package bilevel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// setConstants are the c of the documentation: ‖P(x) − P*(x)‖ ≤ c·d·eps·(‖x‖ + size of the set).
var setConstants = map[string]float64{
	"Ball": 8, "Ball, metric": 64, "Simplex": 8, "Simplex, metric": 64, "HalfSpace": 8, "HalfSpace, metric": 8,
}

// Projections against arithmetic of 320 bits: points from 1e-3 to 1e3 times the size of the set,
// weights over up to 12 decades, at all scales.
func TestSetsAccuracy(t *testing.T) {
	count := 300
	switch {
	case testing.Short():
		count = 60
	case mattest.Long():
		count = 40_000
	}
	l := mattest.NewLedger(setConstants)
	for k := range count {
		rng := rand.New(rand.NewPCG(9, uint64(k)))
		d := 1 + rng.IntN(8)
		scale := []float64{1, 1e-100, 1e100}[k%3]
		x, w, a := make([]float64, d), make([]float64, d), make([]float64, d)
		spread(rng, x, w, 3, 12*rng.Float64())
		spread(rng, a, make([]float64, d), 1, 0)
		far := math.Pow(10, 6*rng.Float64()-3)
		for i := range x {
			x[i] *= far * scale
			a[i] *= scale
		}
		ones := slices.Repeat([]float64{1}, d)
		for _, c := range []struct {
			set   MetricSet
			exact func(x, w []float64) []*big.Float
		}{
			{Ball{a, scale}, func(x, w []float64) []*big.Float { return exactBall(a, scale, x, w) }},
			{Simplex{scale}, func(x, w []float64) []*big.Float { return exactSimplex(scale, x, w) }},
			{HalfSpace{a, -scale * scale}, func(x, w []float64) []*big.Float { return exactHalfSpace(a, -scale*scale, x, w) }},
		} {
			name := fmt.Sprintf("%T", c.set)[len("bilevel."):]
			require.NoError(t, c.set.Validate(d))
			unit := float64(d) * mattest.Eps * (mat.Norm(x) + parameter(c.set))
			where := fmt.Sprintf("set %d, d=%d, scale=%g", k, d, scale)
			p := make([]float64, d)
			c.set.Project(p, x)
			l.See(name, exactDistance(p, c.exact(x, ones)), unit, where)
			c.set.ProjectMetric(p, x, w)
			if h, ok := c.set.(HalfSpace); ok {
				unit *= condition(h.A, w)
			}
			l.See(name+", metric", exactDistance(p, c.exact(x, w)), unit, where)
			if k == 0 {
				assert.Zero(t, testing.AllocsPerRun(9, func() { c.set.Project(p, x); c.set.ProjectMetric(p, x, w) }))
			}
		}
	}
	l.Check(t)
}

// spread draws x and w over the given numbers of decades around 1.
func spread(rng *rand.Rand, x, w []float64, decadesX, decadesW float64) {
	for i := range x {
		x[i] = rng.NormFloat64() * math.Pow(10, decadesX*(rng.Float64()-0.5))
		w[i] = math.Pow(10, decadesW*(rng.Float64()-0.5))
	}
}

// condition is ‖a‖·‖W⁻¹a‖/(aᵀW⁻¹a).
func condition(a, w []float64) float64 {
	v := make([]float64, len(a))
	for i := range a {
		v[i] = a[i] / w[i]
	}
	return mat.Norm(a) * mat.Norm(v) / mat.Dot(a, v)
}

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(v) }
func bigZero() *big.Float        { return bigOf(0) }

func exactDistance(p []float64, exact []*big.Float) float64 {
	s := 0.0
	for i, v := range p {
		d := mattest.Float(bigZero().Sub(bigOf(v), exact[i]))
		s = math.Hypot(s, d)
	}
	return s
}

// exactHalfSpace is x − W⁻¹a·max(aᵀx − b, 0)/(aᵀW⁻¹a).
func exactHalfSpace(a []float64, b float64, x, w []float64) []*big.Float {
	excess, size := bigOf(-b), bigZero()
	for i := range x {
		excess.Add(excess, bigZero().Mul(bigOf(a[i]), bigOf(x[i])))
		size.Add(size, bigZero().Quo(bigZero().Mul(bigOf(a[i]), bigOf(a[i])), bigOf(w[i])))
	}
	z := make([]*big.Float, len(x))
	for i := range x {
		z[i] = bigOf(x[i])
		if excess.Sign() > 0 {
			step := bigZero().Quo(bigZero().Mul(excess, bigOf(a[i])), bigOf(w[i]))
			z[i].Sub(z[i], step.Quo(step, size))
		}
	}
	return z
}

// exactSimplex is max(x_i − θ/w_i, 0). The entries that stay are some of those with the largest
// w_i·x_i, and θ = (Σ x_i − sum)/Σ 1/w_i over them is the largest such quotient.
func exactSimplex(sum float64, x, w []float64) []*big.Float {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	product := func(i int) *big.Float { return bigZero().Mul(bigOf(w[i]), bigOf(x[i])) }
	slices.SortFunc(order, func(i, j int) int { return product(j).Cmp(product(i)) })
	top, bottom, theta := bigOf(-sum), bigZero(), (*big.Float)(nil)
	for _, i := range order {
		top.Add(top, bigOf(x[i]))
		bottom.Add(bottom, bigZero().Quo(bigOf(1), bigOf(w[i])))
		if q := bigZero().Quo(top, bottom); theta == nil || q.Cmp(theta) > 0 {
			theta = q
		}
	}
	z := make([]*big.Float, len(x))
	for i := range x {
		z[i] = bigZero().Sub(bigOf(x[i]), bigZero().Quo(theta, bigOf(w[i])))
		if z[i].Sign() < 0 {
			z[i] = bigZero()
		}
	}
	return z
}

// exactBall is c_i + u_i·w_i/(w_i + λ), with the λ ≥ 0 that brings ‖z − c‖ to the radius, by
// bisection of its logarithm.
func exactBall(c []float64, radius float64, x, w []float64) (z []*big.Float) {
	outside := func(lambda *big.Float) bool {
		z = nil
		norm := bigZero()
		for i := range x {
			u := bigZero().Sub(bigOf(x[i]), bigOf(c[i]))
			u.Quo(u.Mul(u, bigOf(w[i])), bigZero().Add(bigOf(w[i]), lambda))
			norm.Add(norm, bigZero().Mul(u, u))
			z = append(z, u.Add(u, bigOf(c[i])))
		}
		return norm.Sqrt(norm).Cmp(bigOf(radius)) > 0
	}
	if !outside(bigZero()) {
		return z
	}
	low, high := bigOf(0x1p-200), bigOf(0x1p200)
	for range 90 {
		mid := bigZero().Sqrt(bigZero().Mul(low, high))
		if outside(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return z
}
