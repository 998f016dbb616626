package bilevel

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
)

// bowls is Wavy with g_yy(x, y; φ) = s(x)·I + c·aaᵀ, s(x) = 1 + x_0², a drawn by φ, c = curve·(1 +
// cos(aᵀy))/2. A negative curve breaks the promise.
type bowls struct {
	*wavy
	curve float64
	a     []float64
}

func newBowls(dx, dy int) *bowls {
	p := &bowls{newWavy(0.1), 2, make([]float64, dy)}
	p.Dx, p.Dy = dx, dy
	return p
}

func (p *bowls) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	gyy.Zero()
	for _, s := range phi {
		rng := rand.New(rand.NewPCG(uint64(s), 7))
		for i := range p.a {
			p.a[i] = rng.NormFloat64() / math.Sqrt(float64(p.Dy))
		}
		mat.RankOne(gyy, p.curve*(1+math.Cos(mat.Dot(p.a, y)))/2/float64(len(phi)), p.a)
	}
	mat.AddIdentity(gyy, p.ConvexityAt(x))
	return nil
}

func (p *bowls) ConvexityAt(x []float64) float64 { return 1 + x[0]*x[0] }

// silent is a problem without its promise.
type silent struct{ Problem }

func minEigenvalue(t *testing.T, a *mat.Sym) float64 {
	var j eig.Jacobi
	require.NoError(t, j.Factor(a))
	return j.Values()[0]
}

// The bound is one, whatever μ_g, steps and points are, and changes no bit.
func TestPromise(t *testing.T) {
	proved, raised, clipped := 0, 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(12)
		p, jump := newBowls(2, n), math.Pow(10, -4+5*rng.Float64())
		mu := []float64{0.5, 1, 1.0001, 1.3, 2}[seed%5]
		with, err := NewEstimator(p, mu, math.Inf(1))
		require.NoError(t, err)
		without, err := NewEstimator(silent{p}, mu, math.Inf(1))
		require.NoError(t, err)
		x, y := []float64{0.3, 0}, make([]float64, n)
		for k := range 60 {
			phi := []Sample{Sample(rng.Uint64()), Sample(rng.Uint64())}[:1+k%2]
			tau := []float64{0, 0.05, 0.3, 1}[rng.IntN(4)]
			for _, e := range []*Estimator{with, without} {
				if k == 0 {
					require.NoError(t, e.Init(x, y, phi))
				} else {
					require.NoError(t, e.Update(tau, x, y, phi))
				}
			}
			require.Equal(t, without.Hyy(), with.Hyy())
			require.Equal(t, without.Report(), with.Report())
			a, b := make([]float64, n), make([]float64, n)
			require.NoError(t, without.Drift(a, []float64{1, 2}))
			require.NoError(t, with.Drift(b, []float64{1, 2}))
			require.Equal(t, a, b)

			is := minEigenvalue(t, with.Hyy())
			require.LessOrEqual(t, with.bound.least, is+1e-14*float64(n)*trace(with.Hyy()), "seed %d, step %d", seed, k)
			if with.bound.least > mu {
				proved++
			}
			if with.bound.reach > firstReach {
				raised++
			}
			clipped += with.Report().Truncate.Clipped
			x[0] = max(0.01, x[0]+jump*0.1*rng.NormFloat64())
			for i := range y {
				y[i] += jump * rng.NormFloat64()
			}
		}
	}
	assert.Greater(t, proved, 600)
	assert.Greater(t, raised, 20)
	assert.Greater(t, clipped, 100)
}

// What a negative eigenvalue takes is taken in full: Δ = −δvvᵀ with v where H is least.
func TestPromiseWorstMove(t *testing.T) {
	for _, tau := range []float64{0, 0.25} {
		var m eigenBound
		h, old, now := mat.NewSym(2), mat.NewSym(2), mat.NewSym(2)
		for _, a := range []*mat.Sym{h, old, now} {
			mat.AddIdentity(a, 1)
		}
		mat.RankOne(now, -0.25, []float64{math.Sqrt(0.5), math.Sqrt(0.5)})
		m.reset(h, 1, 0.1)
		m.update(tau, 0.75, 0.1, trace(h), mat.NormFrobSym(now), now, old)
		mat.RecurSym(h, tau, h, old, now)
		assert.LessOrEqual(t, m.least, minEigenvalue(t, h))
		assert.InDelta(t, minEigenvalue(t, h), m.least, 1e-13)
	}
}

func TestBrokenPromise(t *testing.T) {
	p := newBowls(1, 2)
	p.curve = -0.2
	e, err := NewEstimator(p, 0.5, math.Inf(1))
	require.NoError(t, err)
	err = e.Init([]float64{0}, make([]float64, 2), []Sample{1})
	require.ErrorIs(t, err, ErrBrokenPromise)
	assert.ErrorContains(t, err, "step 0: ConvexityAt is 1, and entry (0, 0) of g_yy")

	e, err = NewEstimator(hollow{newBowls(1, 2)}, 0.5, math.Inf(1))
	require.NoError(t, err)
	err = e.Init([]float64{0}, make([]float64, 2), []Sample{1})
	require.ErrorIs(t, err, ErrBrokenPromise)
	assert.ErrorContains(t, err, "not positive definite")
}

// hollow has a diagonal as promised, and a negative eigenvalue.
type hollow struct{ *bowls }

func (hollow) HessG(gyy *mat.Sym, _, _ []float64, _ []Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	gyy.Set(1, 0, 2)
	return nil
}

// Init forgets all that was before it.
func TestEstimatorInitAgain(t *testing.T) {
	used, err := NewEstimator(newWavy(0.5), 0.9, 1.5)
	require.NoError(t, err)
	require.NoError(t, used.Init([]float64{1, 2, 3}, []float64{4, 3, 2, 1}, []Sample{1, 2}))
	for k := range 3 {
		require.NoError(t, used.Update(0.2, []float64{1, -1, float64(k)}, make([]float64, 4), []Sample{Sample(k)}))
	}
	fresh, err := NewEstimator(newWavy(0.5), 0.9, 1.5)
	require.NoError(t, err)
	for _, e := range []*Estimator{used, fresh} {
		require.NoError(t, e.Init([]float64{0.3, 0, -0.2}, []float64{0, 1, 0, -1}, []Sample{7}))
		require.NoError(t, e.Update(0.4, []float64{0, 1, 0}, make([]float64, 4), []Sample{8, 9}))
	}
	var state [2]bytes.Buffer
	for i, e := range []*Estimator{used, fresh} {
		e.State(&State{w: &state[i]})
	}
	assert.Equal(t, state[1].Bytes(), state[0].Bytes())
}

func TestNewEstimatorRefuses(t *testing.T) {
	_, err := NewEstimator(shaped{nil, 0, 4}, 1, math.Inf(1))
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, "dx = 0, dy = 4")
}
