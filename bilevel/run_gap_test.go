package bilevel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
)

// closing is STABLE that says after k steps that 1/k is left, but for a relapse.
type closing struct {
	bilevel.STABLE
	relapse int
}

func (c closing) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	s, err := c.STABLE.Start(it)
	return &closingRun{Stepper: s, relapse: c.relapse}, err
}

type closingRun struct {
	bilevel.Stepper
	k, relapse int
}

func (c *closingRun) Step(it *bilevel.Iteration) error {
	c.k = it.K() + 1
	return c.Stepper.Step(it)
}

func (c *closingRun) Health() bilevel.Health {
	if c.k == c.relapse {
		return bilevel.Health{Gap: 1}
	}
	return bilevel.Health{Gap: 1 / float64(c.k)}
}

// The window is one of steps, and starts anew where a look says that more is left.
func TestGapWindow(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{})
	require.NoError(t, err)
	steps := func(window, relapse int) int {
		s, err := bilevel.New(p, closing{bilevel.STABLE{MuG: 1}, relapse}, bilevel.Options{})
		require.NoError(t, err)
		r, err := s.Run(t.Context(), bilevel.Run{Gap: 1e-2, Window: window, Steps: 5000})
		require.NoError(t, err)
		require.Equal(t, bilevel.GapReached, r.Reason)
		assert.Equal(t, "gap reached", r.Reason.String())
		assert.Equal(t, s.Activity(), r.Activity)
		return r.Steps
	}
	assert.Equal(t, 100, steps(1, 0))
	assert.GreaterOrEqual(t, steps(200, 0), 299)
	assert.Less(t, steps(200, 0), 310)
	assert.GreaterOrEqual(t, steps(200, 256), 258+199, "it began anew after 256")
}

// A method that does not tell how much is left refuses the rule.
func TestGapIsRefused(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{})
	require.NoError(t, err)
	for _, m := range []bilevel.Method{bilevel.STABLE{MuG: 1}, method.STFBO{}} {
		s, err := bilevel.New(p, m, bilevel.Options{})
		require.NoError(t, err)
		_, err = s.Run(t.Context(), bilevel.Run{Gap: 1e-3, Steps: 10})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, "Run.Gap is 0.001, but "+m.Name()+" does not tell")
		assert.Zero(t, s.K())
	}
}
