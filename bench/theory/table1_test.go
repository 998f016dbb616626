package theory

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
)

func TestRowsBudget(t *testing.T) {
	var all complexity
	require.NoError(t, all.begin())
	for _, r := range all.all {
		const n = 8000
		k := r.within(n)
		assert.LessOrEqual(t, r.samples(k), float64(n), r.name)
		assert.Greater(t, r.samples(k+1), float64(n), r.name)
		c := r.choices()[0]
		w := r.walk(c, k, 1)
		w.marks = []int{k}
		d, err := w.run(context.Background())
		require.NoError(t, err)
		require.Empty(t, d.End)
		u := d.Reading
		assert.InEpsilon(t, float64(n), u[xi][0]+u[phi][0], 0.3, r.key+" "+r.name)
		if r.alpha != nil {
			assert.Len(t, r.choices(), 16, r.name)
			assert.Equal(t, "ab", r.edge(c))
			assert.Empty(t, r.edge([2]float64{r.alpha[1], r.beta[1]}))
		}
	}
}

func TestHorizons(t *testing.T) {
	c := complexity{options: options{length: 1}}
	require.NoError(t, c.begin())
	for _, r := range c.all {
		list := c.horizons(r)
		assert.Equal(t, r.steps[1], kit.Last(list))
		assert.IsIncreasing(t, list)
		assert.GreaterOrEqual(t, list[0], r.steps[0])
		assert.Less(t, list[0], 2*r.steps[0])
	}
}

func TestComplexityFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	covered := 0
	for range 200 {
		var groups []reading
		for range 8 {
			r := reading{xi: kit.Ratios(10, 1e5, 30)}
			for _, n := range r[xi] {
				r[phi] = append(r[phi], n*n)
				r[upper] = append(r[upper], 5*math.Pow(n, -1/1.5)*math.Exp(0.05*rng.NormFloat64()))
			}
			groups = append(groups, r)
		}
		f, other := fit(groups, upper, xi), fit(groups, upper, phi)
		assert.InDelta(t, 1.5, f.exponent.Mean, 0.1)
		assert.InDelta(t, 2*f.exponent.Mean, other.exponent.Mean, 1e-9)
		assert.InDelta(t, 100, f.from/f.to, 1e-9, "two decades")
		assert.InEpsilon(t, math.Pow(5/f.to, 1.5), kit.Last(f.n), 0.15)
		if math.Abs(f.exponent.Mean-1.5) <= f.exponent.Half {
			covered++
		}
	}
	assert.Greater(t, covered, 170) // of 200; the last crossing leans to the later of two near ones
}
