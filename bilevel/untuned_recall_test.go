package bilevel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// The past samples of a stream are those that it has given, in their order, and over again.
func TestRecallNames(t *testing.T) {
	for _, size := range []uint64{0, 5} {
		var count uint64
		s := newStream(size, 3, 'x', &count)
		r := newRecall(s, 1, 4)
		given := append([]Sample(nil), s.draw(nil, 6, 6)...)
		assert.Equal(t, given[:4], r.batch(4, 6))
		given = append(given, s.draw(nil, 3, 3)...)
		assert.Equal(t, given[4:6], r.batch(4, 9), "up to the end of the pass")
		assert.Equal(t, given[:3], r.batch(3, 9))
		assert.Equal(t, given[3:7], r.batch(4, 9))
		assert.Equal(t, given[7:], r.batch(4, 9))
		assert.Equal(t, uint64(9), count, "which takes no sample")
	}
}

// On a path that does not stand still, e is near the mean of all samples at the present point, and
// P counts its mean square error, or more, since passes have less noise than draws; moved by the
// newest sample alone, it is off by more than the mean is.
func TestRecallFollowsTheMean(t *testing.T) {
	const runs, steps, d, first, most = 200, 300, 3, 4, 8
	mean := func(dst, z []float64, batch []Sample) {
		clear(dst)
		one := make([]float64, len(z))
		for _, i := range batch {
			linearTerm(one, z, i, 1)
			mat.Axpy(dst, 1/float64(len(batch)), one)
		}
	}
	var said, square, toMean, alone, sampling float64
	for run := range uint64(runs) {
		var all, pass []Sample
		next := func() Sample {
			all = append(all, Sample(run<<20+uint64(len(all))))
			return all[len(all)-1]
		}
		v := func() []float64 { return make([]float64, d) }
		z, zOld, now, old, pastNow, pastOld, exact := v(), v(), v(), v(), v(), v(), v()
		e, single, g, h := v(), v(), gain{}, gain{}
		path := func(z []float64, k int) {
			for j := range z {
				z[j] = math.Sin(float64(k)/20 + float64(j))
			}
		}
		path(zOld, 0)
		squares := 0.0
		for n := range first {
			mean(now, zOld, []Sample{next()})
			squares += welford(e, now, n+1)
		}
		copy(single, e)
		g.begin(squares, first, 1)
		h.begin(squares, first, 1)
		f := &follower{}
		f.noise[0].omega = 0.5 // of n + z∘s and a mean of z with the same spread
		for k := 1; k <= steps; k++ {
			if len(pass) == 0 {
				pass = append(pass, all...)
			}
			past := pass[:min(most, len(pass))]
			pass = pass[len(past):]
			path(z, k)
			mean(pastNow, z, past)
			mean(pastOld, zOld, past)
			i := next()
			linearTerm(now, z, i, 1)
			linearTerm(old, zOld, i, 1)
			f.carry(&h, k, 0, single, now, old, nil)
			f.follow(&g, k, 0, e, now, old, pastNow, pastOld, len(past))
			copy(zOld, z)
		}
		mean(exact, z, all)
		toMean += distance(e, exact) / runs
		alone += distance(single, exact) / runs
		sampling += distance(exact, z) / runs
		square += distance(e, z) / runs
		said += g.p / runs
	}
	assert.Less(t, toMean, sampling/2)
	assert.Greater(t, alone, 2*sampling)
	assert.InDelta(t, 1.5, said/square, 0.5, "P is %v, the mean square error %v", said, square)
}

// With all samples of a stream at both points, e is their mean, whatever it was.
func TestRecallOfAllIsExact(t *testing.T) {
	z, v := []float64{0.3, -1}, func() []float64 { return make([]float64, 2) }
	now, past, want := v(), v(), v()
	for i := range Sample(5) {
		linearTerm(now, z, i, 1)
		mat.Axpy(want, 1./5, now)
		if i < 4 {
			mat.Axpy(past, 1./4, now)
		}
	}
	g, e, f := gain{p: 3, s: 1, first: 4, batch: 1}, []float64{0.5, 0.5}, &follower{ablate: AblateClip}
	f.follow(&g, 1, 0, e, now, now, past, past, 4)
	assert.InDeltaSlice(t, want, e, 1e-14)
}

// A sum without tables asks for past terms. A step that does allocates nothing, and a run resumes
// to the bit.
func TestUntunedRecalls(t *testing.T) {
	run := func(p Problem, m Untuned, from, steps int) (f, g uint64, allocations float64) {
		s, err := New(p, m, Options{Seed: 2})
		require.NoError(t, err)
		for range from {
			require.NoError(t, s.Step())
		}
		before := s.Counts()
		allocations = testing.AllocsPerRun(steps-1, func() { require.NoError(t, s.Step()) })
		return s.Counts().GradF - before.GradF, s.Counts().GradG - before.GradG, allocations
	}
	m := Untuned{TableBytes: -1}
	fAll, gAll, all := run(newWavy(0.4), m, 30, 80)
	m.Ablate = AblateRecall
	fNone, gNone, none := run(newWavy(0.4), m, 30, 80)
	assert.Greater(t, fAll, fNone)
	assert.Greater(t, gAll, gNone)
	assert.Equal(t, none, all, "allocations a step: of the oracles alone, built by Go 1.24")
	for _, n := range []int{0, 1, 11, 40} {
		requireResumes(t, func() Problem { return newWavy(0.4) }, Untuned{TableBytes: -1}, Options{Seed: 3}, n)
	}
}

// One past sample that is longer than all others together does not throw e.
func TestRecallClips(t *testing.T) {
	g, e, f := gain{p: 1, s: 1, first: 100, batch: 1}, []float64{0}, &follower{}
	f.follow(&g, 1, 0, e, []float64{0}, []float64{0}, []float64{1e6}, []float64{1e6}, 4)
	assert.Less(t, e[0], math.Sqrt(100/4+8*5+1)/5)
	assert.Positive(t, e[0])
}
