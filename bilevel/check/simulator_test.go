package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func biased(t testing.TB, terms uint64) *mutant {
	o := noisy
	o.Terms = terms
	return &mutant{full: newQuadratic(t, o), oracle: "GradG", after: func(c call) {
		if len(c.batch) == 0 {
			c.gy[3]++
		}
	}}
}

func TestBiasOfSimulatorIsSeen(t *testing.T) {
	r := run(t, bare{biased(t, 0)}, Options{})
	f := requireOnly(t, r, Unbiased, "GradG")[0]
	assert.Equal(t, 3, f.I)
	assert.Contains(t, f.Message, "draws")
	assert.Less(t, f.Tol, 0.5)

	long := biased(t, 1<<30)
	requireOnly(t, run(t, long, Options{}), Unbiased, "GradG")
	r = run(t, long.full, Options{})
	require.NoError(t, r.Err())
	assert.Contains(t, passedBy(r), "unbiased GradG")
}

func TestSimulatorsAreRarelyAccused(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		o := noisy
		o.Seed = seed
		require.NoError(t, run(t, newQuadratic(t, o), Options{Seed: seed, Points: 1}).Err())
	}
}

// rare is a long sum of which one term in 10⁸ has noise in f_x[0]; the exact value knows it.
type rare struct{ *mutant }

func (rare) Streams() (upper, lower uint64) { return 1 << 40, 0 }

func TestRareEntriesAreLeftOut(t *testing.T) {
	o := noisy
	o.SigmaFx = 0
	r := run(t, rare{&mutant{full: newQuadratic(t, o), oracle: "GradF", after: func(c call) {
		if len(c.batch) == 0 {
			c.fx[0]++
		}
	}}}, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.Len(t, r.Gaps(), 1)
	assert.Contains(t, r.Skipped,
		Skip{Unbiased, "GradF", "1 of 7 entries have too few draws that count, the least 0 of 1000: " +
			"raise Samples, or MaxTerms to 1099511627776", true})
}

// A squared normal number in f_x[0], of which few draws count.
func TestTooFewDraws(t *testing.T) {
	p := &mutant{full: newQuadratic(t, noisy), after: func(c call) {
		noise := 0.0
		for _, name := range c.batch {
			z := rand.New(rand.NewPCG(uint64(name), 1)).NormFloat64()
			noise += (z*z - 1) / float64(len(c.batch))
		}
		if c.fx != nil {
			c.fx[0] += noise
		}
		if c.f != nil {
			*c.f += c.x[0] * noise
		}
	}}
	r := run(t, p, Options{})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	_, after, _ := strings.Cut(r.Gaps()[0].Reason, "raise Samples to ")
	var n int
	_, err := fmt.Sscanf(after, "%d or more", &n)
	require.NoError(t, err, r)
	require.NoError(t, run(t, p, Options{Samples: n}).Err(), n)
}

func TestNoExactOracle(t *testing.T) {
	for _, terms := range []uint64{0, 12} {
		p := &mutant{full: goodOf(3, 3, terms), fails: noExact("GradF", "HessG")}
		r := run(t, bare{p}, Options{Samples: 500})
		require.Empty(t, r.Findings)
		assert.Contains(t, r.Skipped, Skip{Unbiased, "GradF", "it returns ErrNoExact", false})
		assert.Contains(t, r.Skipped, Skip{Unbiased, "HessG", "it returns ErrNoExact", false})
		assert.Contains(t, passedBy(r), "convexity HessG")
		assert.Contains(t, passedBy(r), "unbiased GradG")
		requireOnly(t, run(t, bare{p}, Options{Samples: 500, MuG: 9}), Convexity, "HessG")
	}
}
