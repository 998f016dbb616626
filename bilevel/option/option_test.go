package option

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type constant float64

func (c constant) At(k int) float64 { return float64(c) - float64(k) }

// Each check lets its range through, with its edges, and refuses what is just outside by a text
// that names the field and the value.
func TestChecks(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		err  error
		want string // empty: let through
	}{
		{Schedule("A.B", constant(0), 1), ""},
		{Schedule("A.B", constant(1), 1), ""},
		{Schedule("A.B", constant(math.MaxFloat64), inf), ""},
		{Schedule("A.B", nil, 1), "A.B is nil"},
		{Schedule("A.B", constant(1.5), 1), "A.B at step 0 is 1.5, want a value in [0, 1]"},
		{Schedule("A.B", constant(-1), inf), "A.B at step 0 is -1, want a finite value ≥ 0"},
		{Schedule("A.B", constant(inf), inf), "A.B at step 0 is +Inf"},
		{Schedule("A.B", constant(nan), inf), "A.B at step 0 is NaN"},
		{Batch("A.B", 1), ""},
		{Batch("A.B", Full), ""},
		{Batch("A.B", 1<<24), ""},
		{Batch("A.B", 1<<24+1), "A.B is 16777217"},
		{Batch("A.B", 0), "A.B is 0, want 1 … 2²⁴, or Full"},
		{AtLeast("A.B", 3, 3), ""},
		{AtLeast("A.B", 2, 3), "A.B is 2, want ≥ 3"},
		{Positive("A.B", inf), ""},
		{Positive("A.B", 5e-324), ""},
		{Positive("A.B", 0), "A.B is 0, want > 0"},
		{Positive("A.B", nan), "A.B is NaN"},
		{Finite("A.B", math.MaxFloat64), ""},
		{Finite("A.B", 5e-324), ""},
		{Finite("A.B", inf), "A.B is +Inf, want a finite value > 0"},
		{Finite("A.B", 0), "A.B is 0"},
		{Share("A.B", 0.5), ""},
		{Share("A.B", 0), "A.B is 0, want a share in (0, 1)"},
		{Share("A.B", 1), "A.B is 1"},
		{Share("A.B", nan), "A.B is NaN"},
		{Vector("A.B", nil, 2), ""},
		{Vector("A.B", []float64{1, 2}, 2), ""},
		{Vector("A.B", []float64{1}, 2), "A.B has length 1, want 2"},
		{Vector("A.B", []float64{nan, 1}, 2), "A.B is NaN at index 0"},
		{Dims(1, 1), ""},
		{Dims(0, 1), "dx = 0, dy = 1"},
		{Dims(1, 0), "dx = 1, dy = 0"},
	} {
		if c.want == "" {
			assert.NoError(t, c.err)
			continue
		}
		require.ErrorIs(t, c.err, Err, c.want)
		assert.ErrorContains(t, c.err, c.want)
	}
}
