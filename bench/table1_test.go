package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/quadratic"
)

// The budgets of the choice are equal: a run of r.within(n) steps draws about n samples, as the
// counts of the run say. Every row has the same number of choices.
func TestRowsBudget(t *testing.T) {
	for _, g := range regimes(1) {
		p, err := quadratic.New(g.options)
		require.NoError(t, err)
		for _, r := range g.rows {
			const n = 8000
			k := r.within(n)
			assert.LessOrEqual(t, r.samples(k), float64(n), r.name)
			assert.Greater(t, r.samples(k+1), float64(n), r.name)
			c := r.choices()[0]
			w := r.walk(g, p, c, k, 1)
			w.marks = []int{k}
			d, err := w.run(context.Background())
			require.NoError(t, err)
			require.Empty(t, d.End)
			u := unpack(d)
			assert.InEpsilon(t, float64(n), u.Xi[0]+u.Phi[0], 0.3, g.key+" "+r.name)
			if r.alpha != nil {
				assert.Len(t, r.choices(), 16, r.name)
				assert.Equal(t, "ab", r.edge(c))
				assert.Empty(t, r.edge([2]float64{r.alpha[1], r.beta[1]}))
			}
		}
	}
}

// The horizons end at the longest run and ascend in equal ratios.
func TestHorizons(t *testing.T) {
	c := complexity{length: 1}
	for _, g := range regimes(1) {
		for _, r := range g.rows {
			list := c.horizons(r)
			assert.Equal(t, r.steps[1], last(list))
			assert.IsIncreasing(t, list)
			assert.GreaterOrEqual(t, list[0], r.steps[0])
			assert.Less(t, list[0], 2*r.steps[0])
		}
	}
}
