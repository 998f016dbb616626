package method

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
)

func TestMethodsKeepTheRules(t *testing.T) {
	same, growing := func(*Tuning) {}, func(t *Tuning) { t.Terms = 0 }
	forEach(t, func(t *testing.T, e Entry) {
		if !e.Needs.Composition {
			require.NoError(t, check.Method(e.New(tuning), check.MethodOptions{Steps: 12}))
		}
		for i, c := range []struct {
			change func(*Tuning)
			steps  int
			opt    bilevel.Options
		}{
			{same, 12, bilevel.Options{Set: bilevel.Ball{Radius: 0.4}, X0: []float64{0.3, -0.2, 0.1}}},
			{growing, 6, bilevel.Options{Set: bilevel.UniformBox(3, -0.2, 0.3)}},
			{e.Variants[0].Set, 6, bilevel.Options{Seed: 3}},
			{e.Variants[1].Set, 6, bilevel.Options{Set: euclid{bilevel.Simplex{}}}},
		} {
			if _, ok := c.opt.Set.(euclid); ok && e.Needs.MetricSet || testing.Short() && i > 0 {
				continue
			}
			if _, ok := c.opt.Set.(bilevel.BoundedSet); !ok && c.opt.Set != nil && e.Needs.Bounds {
				c.opt = bilevel.Options{Set: bilevel.UniformBox(3, 0, 1)}
			}
			tuned := tuning
			c.change(&tuned)
			require.NoError(t, check.Method(e.New(tuned), check.MethodOptions{
				Problem: e.problem(0.4), As: e.as, Options: c.opt, Steps: c.steps,
			}), "case %d", i)
		}
	})
}

func (e Entry) as(p bilevel.Problem) bilevel.Problem {
	if e.Needs.Composition {
		return struct {
			bilevel.Problem
			composed
		}{Problem: p}
	}
	return p
}
