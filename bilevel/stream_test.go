package bilevel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A seed stands for three generators, PCG(seed, 'x') of ξ, PCG(seed, 'y') of φ and PCG(seed, 'm')
// of what a method draws for itself, and nothing else is drawn from them: what one of them gives
// does not depend on how often the others are asked.
func TestSeed(t *testing.T) {
	const terms = 4
	for _, seed := range []uint64{0, 1, 1 << 63} {
		w := newWavy(0.1)
		s, err := New(w, TTSA{Constant(0.05), Constant(0.1), Neumann{LG: 7, Terms: terms}}, Options{Seed: seed, UpperBatch: 2, LowerBatch: 3})
		require.NoError(t, err)
		xi, phi, coin := rand.New(rand.NewPCG(seed, 'x')), rand.New(rand.NewPCG(seed, 'y')), rand.New(rand.NewPCG(seed, 'm'))
		draw := func(rng *rand.Rand, n int) []Sample {
			batch := make([]Sample, n)
			for i := range batch {
				batch[i] = Sample(rng.Uint64N(w.n))
			}
			return batch
		}
		for range 20 {
			w.log = nil
			require.NoError(t, s.Step())
			products := coin.IntN(terms)
			require.Len(t, w.log, 3+products) // g_y, f_x and f_y, the products with g_yy, g_xy
			assert.Equal(t, draw(phi, 3), w.log[0].batch)
			assert.Equal(t, draw(xi, 2), w.log[1].batch)
			assert.Equal(t, draw(phi, 3), w.log[2+products].batch)
			for j := range products {
				assert.Equal(t, draw(phi, 3), w.log[2+j].batch)
			}
		}
	}
}

// An unbounded stream draws seeds of 64 bits.
func TestStreamUnbounded(t *testing.T) {
	var count uint64
	s, rng := newStream(0, 5, 'x', &count), rand.New(rand.NewPCG(5, 'x'))
	for _, n := range []int{3, 1, 7} { // the memory grows, and is used again
		batch := s.draw(n)
		require.Len(t, batch, n)
		for _, v := range batch {
			assert.Equal(t, Sample(rng.Uint64()), v)
		}
	}
	assert.Equal(t, uint64(11), count)
	assert.Empty(t, s.draw(Full))
	assert.Equal(t, uint64(12), count)
}
