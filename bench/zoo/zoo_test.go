package zoo

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
)

// drawn is how many problems the tests draw.
const drawn = 60

// Every oracle of every drawn problem is the derivative that it says it is, and the reference solves
// the lower level.
func TestDerivatives(t *testing.T) {
	for i := range drawn {
		p, err := Draw(1, i)
		require.NoError(t, err)
		of := p.of.fresh()
		dx, dy := of.Dims()
		if testing.Short() && max(dx, dy) > 12 {
			continue
		}
		report, err := check.Problem(of, check.Options{Set: p.set, Points: 1, Center: p.Star.X, ScaleX: 0.1, Seed: uint64(i)})
		require.NoError(t, err, "%d: %s", i, p.About)
		if err := report.Err(); !errors.Is(err, check.ErrIncomplete) {
			assert.NoError(t, err, "%d: %s", i, p.About)
		}
	}
}

// A seed and an index are a problem: the same bits at any time.
func TestSameSeedSameProblem(t *testing.T) {
	for i := range 12 {
		p, err := Draw(5, i)
		require.NoError(t, err)
		q, err := Draw(5, i)
		require.NoError(t, err)
		assert.Equal(t, p.About, q.About)
		assert.Equal(t, p.X0, q.X0)
		assert.Equal(t, p.Star, q.Star)
		assert.Equal(t, gradient(t, p), gradient(t, q))
		other, err := Draw(6, i)
		require.NoError(t, err)
		assert.NotEqual(t, p.About, other.About)
	}
}

// gradient is that of a few samples of f, at the start.
func gradient(t *testing.T, p *Problem) []float64 {
	q := p.Fresh()
	dx, dy := q.Dims()
	fx, fy := make([]float64, dx), make([]float64, dy)
	require.NoError(t, q.GradF(fx, fy, p.X0, p.Y0, []bilevel.Sample{3, 1, 4}))
	return append(fx, fy...)
}
