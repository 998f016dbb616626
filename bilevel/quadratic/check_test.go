package quadratic_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/check"
	"stable/bilevel/quadratic"
)

// Derivatives, products, batches, draws, means, the promise and the truth are consistent.
func TestVariantsPassTheChecks(t *testing.T) {
	for name, o := range quadratic.Variants() {
		t.Run(name, func(t *testing.T) {
			p, err := quadratic.New(o)
			require.NoError(t, err)
			r, err := check.Problem(p, check.Options{Points: 1, MuG: 1, Samples: 4000})
			require.NoError(t, err)
			require.NoError(t, r.Err(), r)
			oracles := map[string]bool{}
			for _, p := range r.Passed {
				oracles[p.Check+" "+p.Oracle] = true
			}
			for _, want := range []string{"same draw GradXG", "batch mean HessG", "unbiased ValueG", "derivative GradXG",
				"derivative CrossG", "product HessVecG", "product CrossVecG", "truth Objective"} {
				assert.True(t, oracles[want], want)
			}
		})
	}
}
