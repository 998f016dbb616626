package bilevel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// That g is not convex is said only where H_yy has an eigenvalue below 0 where the run ends, too.
func TestNotConvexAtTheEnd(t *testing.T) {
	s, err := New(newWavy(0.4), Untuned{}, Options{})
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, s.Step())
	}
	m := s.it.stepper.(*untuned)
	m.inf.below = 1
	require.Positive(t, m.Health().Least)
	assert.False(t, m.Health().NotConvex)
	mat.AddIdentity(m.yy, -2*m.Health().Least)
	assert.True(t, m.Health().NotConvex)
}
