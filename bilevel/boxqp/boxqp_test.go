package boxqp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/mat"
	"stable/mat/mattest"
)

func random(rng *rand.Rand, n int, spread float64) *QP {
	var q QP
	q.Resize(n)
	mat.AddIdentity(&q.A, 1e-3)
	v := make([]float64, n)
	for i := range n {
		for j := range v {
			v[j] = rng.NormFloat64() * math.Pow(10, -spread*float64(j)/float64(n))
		}
		mat.RankOne(&q.A, 1, v)
		q.G[i] = rng.NormFloat64()
		q.Lo[i], q.Hi[i] = -rng.Float64(), rng.Float64()
		switch rng.IntN(4) {
		case 0:
			q.Lo[i] = 0
		case 1:
			q.Hi[i] = 1e-13
		}
	}
	return &q
}

func TestBoxQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 1, 2, 5, 20, 40} {
		for _, spread := range []float64{0, 4, 8} {
			q := random(rng, n, spread)
			value := q.Solve()
			assert.InDelta(t, q.At(q.S), value, 1e-15)
			assert.LessOrEqual(t, value, 0.0)
			check(t, q)
		}
	}
	for k := range 300 { // condition 1e7, and half of the bounds far away
		q := random(rng, 2+k%19, 0)
		for i := range q.Lo {
			q.S[i] = math.Pow(1e-7, rng.Float64())
			q.Hi[i] = math.Inf(1)
			if i%2 == 0 {
				q.Lo[i] = math.Inf(-1)
			}
		}
		mat.CopySym(&q.A, mattest.Spectrum(q.S, uint64(k)))
		q.Solve()
		check(t, q)
	}
	// The Newton direction from 0, bent at the first bound, goes uphill however short it is.
	var q QP
	q.Resize(2)
	q.A.Set(0, 0, 1)
	q.A.Set(1, 1, 1)
	q.A.Set(1, 0, 0.9)
	copy(q.G, []float64{-1, -0.5})
	copy(q.Lo, []float64{-1, -1})
	copy(q.Hi, []float64{1e-14, 1})
	q.Solve()
	check(t, &q)
	assert.InDeltaSlice(t, []float64{1e-14, 0.5}, q.S, 1e-13)
	// A model without curvature proposes nothing.
	q.Resize(2)
	q.A.Zero()
	assert.Zero(t, q.Solve())
	assert.Equal(t, []float64{0, 0}, q.S)
}

func check(t *testing.T, q *QP) {
	t.Helper()
	q.gradient()
	for i, si := range q.S {
		assert.True(t, q.Lo[i] <= si && si <= q.Hi[i])
		if si > q.Lo[i] {
			assert.LessOrEqual(t, q.R[i], 1e-7)
		}
		if si < q.Hi[i] {
			assert.GreaterOrEqual(t, q.R[i], -1e-7)
		}
	}
}

func TestBoxQPSweep(t *testing.T) {
	const n = 7
	q := random(rand.New(rand.NewPCG(9, 10)), n, 0)
	want := make([]float64, n)
	for range 2 {
		for i := range want {
			copy(q.S, want)
			q.gradient()
			want[i] = min(max(want[i]-q.R[i]/q.A.At(i, i), q.Lo[i]), q.Hi[i])
		}
	}
	clear(q.S)
	q.sweep()
	q.sweep()
	assert.InDeltaSlice(t, want, q.S, 1e-14)
}
