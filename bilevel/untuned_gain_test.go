package bilevel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/mat"
)

// linearTerm is t(z; i) = z + noise·(n_i + z∘s_i) with n_i and s_i of zero mean.
func linearTerm(dst, z []float64, i Sample, noise float64) {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for j, v := range z {
		dst[j] = v + noise*(rng.NormFloat64()+v*rng.NormFloat64())
	}
}

// walk is z^k, a path that stands still in the end.
func walk(z []float64, k int) {
	for j := range z {
		z[j] = math.Cos(float64(j)) + 3/float64(1+k)*math.Sin(float64(j+k))
	}
}

// In the linear case e is unbiased, and P is its mean square error.
func TestGainIsUnbiasedAndHonest(t *testing.T) {
	const runs, steps, d, first = 2000, 60, 3, 4
	mean := make([]float64, d)
	var square, said float64
	for run := range uint64(runs) {
		name := run << 20
		g, noise := gain{}, scatter{}
		e, z, zOld := make([]float64, d), make([]float64, d), make([]float64, d)
		now, old, now2, old2 := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
		walk(zOld, 0)
		ss := 0.0
		for n := range first {
			linearTerm(now, zOld, Sample(name), 1)
			name++
			ss += welford(e, now, n+1)
		}
		g.begin(ss, first, 1)
		for k := 1; k <= steps; k++ {
			walk(z, k)
			linearTerm(now, z, Sample(name), 1)
			linearTerm(old, zOld, Sample(name), 1)
			linearTerm(now2, z, Sample(name-1), 1)
			linearTerm(old2, zOld, Sample(name-1), 1)
			name++
			noise.add(contrast(now, old, now2, old2))
			tau, c := g.at(k)
			assert.Zero(t, c)
			m := measure(e, now, old, nil, c)
			sweep(e, now, old, tau)
			g.learn(k, tau, m, noise.omega*m.move)
			copy(zOld, z)
		}
		mat.Axpy(e, -1, z)
		mat.Axpy(mean, 1./runs, e)
		square += mat.Dot(e, e) / runs
		said += g.p / runs
	}
	assert.Less(t, mat.Norm(mean), 4*math.Sqrt(square/runs), "bias")
	assert.InDelta(t, 1, said/square, 0.35, "P is %v, the mean square error %v", said, square)
	variance := 0.0 // of one sample at the end
	z := make([]float64, d)
	for walk(z, steps); len(z) > 0; z = z[1:] {
		variance += 1 + z[0]*z[0]
	}
	assert.Less(t, square, 3*variance/steps, "it averages")
}

// Where a jump leaves P above S, one sample takes the place of the estimate. Its noise is that of a
// sample, and P must not say that there is none.
func TestGainKnowsTheNoiseOfASampleAlone(t *testing.T) {
	const runs, jump, after = 500, 30, 6
	var square float64
	said := math.Inf(1)
	for run := range uint64(runs) {
		name := run << 20
		g, e, now, old := gain{}, make([]float64, 1), make([]float64, 1), make([]float64, 1)
		g.begin(0, 1, 1)
		z, zOld := []float64{0}, []float64{0}
		linearTerm(e, z, Sample(name), 1)
		for k := 1; k <= jump+after; k++ {
			copy(zOld, z)
			if k == jump {
				z[0] = 20
			}
			linearTerm(now, z, Sample(name+uint64(k)), 1)
			linearTerm(old, zOld, Sample(name+uint64(k)), 1)
			tau, c := g.at(k)
			m := measure(e, now, old, nil, c)
			sweep(e, now, old, tau)
			g.learn(k, tau, m, m.move)
			if k > jump {
				said = min(said, g.p)
			}
		}
		square += sq(e[0]-z[0]) / runs
	}
	// S, of before the jump, says 1, and a sample has 401: the least of 500 runs is 5e-4, or 0.
	assert.Greater(t, said, 1e-4*square, "the least P of all runs, and the mean square error")
}

// On a finite sum whose point stands still, the table becomes worth all of itself, and e exact.
func TestGainWithTableBecomesExact(t *testing.T) {
	const terms, d = 20, 3
	rng := rand.New(rand.NewPCG(1, 2))
	z := []float64{1, -2, 0.5}
	exact, now, old := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range Sample(terms) {
		linearTerm(now, z, i, 1)
		mat.Axpy(exact, 1./terms, now)
	}
	r, g, e := newRows(terms, d, 1), gain{}, make([]float64, d)
	linearTerm(e, z, 0, 1)
	r.visit(0, e, nil)
	r.end()
	g.begin(0, 1, 1)
	for k := 1; k <= 100*terms; k++ {
		batch := []Sample{Sample(rng.IntN(terms))}
		r.ask(batch)
		linearTerm(now, z, batch[0], 1)
		r.visit(batch[0], now, nil)
		r.end()
		tau, c := g.at(k)
		m := measure(e, now, now, r.d, c)
		copy(old, now)
		sweepTable(e, now, old, r.d, tau, c, 0)
		g.learn(k, tau, m, 0)
	}
	_, c := g.at(100 * terms)
	assert.Greater(t, c, 0.95)
	mat.Axpy(e, -1, exact)
	assert.Less(t, mat.Norm(e), 0.02)
	mat.Axpy(exact, -1, r.mean)
	assert.Less(t, mat.Norm(exact), 1e-12, "the mean of the rows")
}

// A sample that stands in a batch twice changes its row, and the mean, once.
func TestRowsVisitOnceABatch(t *testing.T) {
	r := newRows(4, 2, 3)
	for range 2 {
		batch := []Sample{1, 3, 1}
		r.ask(batch)
		for _, i := range batch {
			r.visit(i, []float64{float64(i)}, []float64{-float64(i)})
		}
		r.end()
		assert.Equal(t, []float64{2, -2}, r.mean)
	}
	r.ask([]Sample{1, 1, 3, 0})
	assert.Equal(t, []float64{-0.25, 0.25}, r.d, "a term never visited counts as the mean")
}

// With samples of tail index 1.2 the mean has an infinite variance. Clipped, it has not; and no
// sample in a thousand raises the bound by more than a factor of 2.
func TestGainClipsHeavyTails(t *testing.T) {
	const runs, steps, first = 100, 1000, 10
	mean := func(clips bool, law func(rng *rand.Rand) float64) (square, bias float64, late int) {
		for run := range uint64(runs) {
			rng := rand.New(rand.NewPCG(run, 9))
			g, e, old, ss := gain{}, []float64{0}, []float64{0}, 0.0
			for n := range first {
				old[0] = law(rng)
				ss += welford(e, old, n+1)
			}
			g.begin(ss, first, 1)
			for k := 1; k <= steps; k++ {
				old[0] = law(rng)
				tau, c := g.at(k)
				m, keep, before := measure(e, old, old, nil, c), 1.0, g.s
				if clips {
					keep = g.clip(k, m.rr, 1)
				}
				if keep < 1 && k > steps/10 {
					late++
				}
				sweep(e, old, old, keep*tau)
				g.learn(k, tau, m.times(keep*keep), 0)
				if clips && g.s > 5*before {
					t.Fatalf("run %d, step %d: S goes from %v to %v", run, k, before, g.s)
				}
			}
			square += e[0] * e[0] / runs
			bias += e[0] / runs
		}
		return square, bias, late
	}
	heavy := func(rng *rand.Rand) float64 {
		return math.Copysign(math.Pow(1-rng.Float64(), -1/1.2), rng.Float64()-0.5)
	}
	clipped, _, late := mean(true, heavy)
	whole, _, _ := mean(false, heavy)
	assert.Greater(t, whole, 10*clipped, "it helps")
	assert.Positive(t, late)

	// Where the variance is finite, it does not bind after the first steps, and biases nothing.
	normal := func(rng *rand.Rand) float64 { return rng.NormFloat64() }
	square, _, late := mean(true, normal)
	assert.Zero(t, late)
	assert.Less(t, square, 1.3/steps)
	skewed := func(rng *rand.Rand) float64 { return rng.ExpFloat64() - 1 }
	square, bias, _ := mean(true, skewed)
	assert.Less(t, square, 1.3/steps)
	assert.Less(t, math.Abs(bias), 4*math.Sqrt(square/runs)+0.1/math.Sqrt(steps))
}

// The share that counts has the square of the bound over that of the innovation, and is all where
// there is no bound yet.
func TestGainClip(t *testing.T) {
	g := gain{s: 2, first: 6, batch: 2}
	assert.Equal(t, 1.0, g.clip(5, 20, 1), "N = 8")
	assert.Equal(t, 0.5, g.clip(5, 80, 1))
	assert.Equal(t, 1.0, g.clip(5, 80, 5), "of five")
	assert.Less(t, g.clip(5, 400, 5), 0.5, "of five, one of them long")
	g.s = 0
	assert.Equal(t, 1.0, g.clip(5, 80, 1))
}

// Each piece that a gain can be without is the one that its flag names.
func TestGainAblated(t *testing.T) {
	g := gain{p: 1, s: 2, n: 1, d: 4, first: 4, batch: 2}
	for ablate, want := range map[Ablation][2]float64{
		0:                        {0.5, 0.25}, // p/s and n/d
		AblateGain:               {0.2, 0.25}, // 10 samples by step 3, two of them new
		AblateLower:              {1, 0.25},
		AblateLower | AblateGain: {1, 0.25},
		AblateUpper:              {0.5, 0.25}, // the piece of other estimates
		AblateWorth:              {0.5, 1},
	} {
		f := follower{ablate: ablate}
		tau, c := f.at(&g, 3, AblateLower)
		assert.Equal(t, want, [2]float64{tau, c}, "%#x", uint(ablate))
	}
	for ablate, want := range map[Ablation]float64{0: 0.25, AblateScatter: 1, AblateGain: 0.25} {
		f := follower{ablate: ablate}
		f.noise[2].omega = 0.25
		assert.InDelta(t, want, f.omega(2), 0, "%#x", uint(ablate))
	}
}
