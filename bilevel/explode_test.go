package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExplodeWithoutBound(t *testing.T) {
	m := plain
	m.Plain, m.Beta = true, Constant(1e300)
	s, err := New(newWavy(0), m, Options{Explode: math.Inf(1), Y0: []float64{1e10, 1, 1, 1}})
	require.NoError(t, err)
	r, err := s.Run(t.Context(), Run{Steps: 1})
	assert.ErrorIs(t, err, ErrDiverged, "%v", r.Y)
}
