package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

type biased struct {
	*quadratic.Problem
	bias float64
}

func (b biased) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := b.Problem.GradG(gy, x, y, phi)
	if len(phi) == 0 {
		gy[3] += b.bias
	}
	return err
}

func TestBiasOfSimulatorIsSeen(t *testing.T) {
	q := newQuadratic(t, noisy)
	r := run(t, bare{biased{q, 1}}, Options{})
	f := requireOnly(t, r, Unbiased, "GradG")[0]
	assert.Equal(t, 3, f.I)
	assert.Contains(t, f.Message, "draws")
	assert.Less(t, f.Tol, 0.5)

	long := noisy
	long.Terms = 1 << 30
	requireOnly(t, run(t, biased{newQuadratic(t, long), 1}, Options{}), Unbiased, "GradG")
	r = run(t, newQuadratic(t, long), Options{})
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
type rare struct{ *quadratic.Problem }

func (r rare) Streams() (upper, lower uint64) { return 1 << 40, 0 }

func (r rare) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := r.Problem.GradF(fx, fy, x, y, xi)
	if len(xi) == 0 {
		fx[0]++
	}
	return err
}

func TestRareEntriesAreLeftOut(t *testing.T) {
	o := noisy
	o.SigmaFx = 0
	r := run(t, rare{newQuadratic(t, o)}, Options{NoTruth: true})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	require.Len(t, r.Gaps(), 1)
	assert.Contains(t, r.Skipped,
		Skip{Unbiased, "GradF", "1 of 7 entries have too few draws that count, the least 0 of 1000: " +
			"raise Samples, or MaxTerms to 1099511627776", true})
}

// square is a stream with a squared normal number in f_x[0], of which few draws count.
type square struct{ *quadratic.Problem }

func (square) noise(xi []bilevel.Sample) (mean float64) {
	for _, name := range xi {
		z := rand.New(rand.NewPCG(uint64(name), 1)).NormFloat64()
		mean += (z*z - 1) / float64(len(xi))
	}
	return mean
}

func (s square) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := s.Problem.GradF(fx, fy, x, y, xi)
	fx[0] += s.noise(xi)
	return err
}

func (s square) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	f, err := s.Problem.ValueF(x, y, xi)
	return f + x[0]*s.noise(xi), err
}

func TestTooFewDraws(t *testing.T) {
	p := square{newQuadratic(t, noisy)}
	r := run(t, p, Options{NoTruth: true})
	require.ErrorIs(t, r.Err(), ErrIncomplete)
	_, after, _ := strings.Cut(r.Gaps()[0].Reason, "raise Samples to ")
	var n int
	_, err := fmt.Sscanf(after, "%d or more", &n)
	require.NoError(t, err, r)
	require.NoError(t, run(t, p, Options{NoTruth: true, Samples: n}).Err(), n)
}

// noExact has samples only.
type noExact struct{ *good }

func (n noExact) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if len(xi) == 0 {
		return bilevel.ErrNoExact
	}
	return n.good.GradF(fx, fy, x, y, xi)
}

func (n noExact) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if len(phi) == 0 {
		return bilevel.ErrNoExact
	}
	return n.good.HessG(gyy, x, y, phi)
}

func TestNoExactOracle(t *testing.T) {
	for _, terms := range []uint64{0, 12} {
		p := noExact{goodOf(3, 3, terms)}
		r := run(t, bare{p}, Options{Samples: 500})
		require.Empty(t, r.Findings)
		assert.Contains(t, r.Skipped, Skip{Unbiased, "GradF", "it returns ErrNoExact", false})
		assert.Contains(t, r.Skipped, Skip{Unbiased, "HessG", "it returns ErrNoExact", false})
		assert.Contains(t, passedBy(r), "convexity HessG")
		assert.Contains(t, passedBy(r), "unbiased GradG")
		requireOnly(t, run(t, bare{p}, Options{Samples: 500, MuG: 9}), Convexity, "HessG")
	}
}
