package eig

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// TestInertia: L·D·Lᵀ is A − mu·I up to rounding of the size that growth tells, growth is what it
// says, and D has a sign for each eigenvalue.
func TestInertia(t *testing.T) {
	var s inertia
	for _, n := range []int{1, 2, 5, 15, 16, 17, 33, 54, 70} {
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = float64(i) - float64(n/3) - 0.3
		}
		a := mattest.Spectrum(lambda, uint64(n))
		k, ok := s.count(a, 0.25, mat.MaxAbsSym(a), n)
		require.True(t, ok)
		require.Equal(t, n/3+1, k)
		growth := 0.0
		for i := range n {
			for j := range i + 1 {
				sum, size := 0.0, 0.0
				for p := range j + 1 {
					v := s.l.At(i, p) * s.d[p] * s.l.At(j, p)
					sum += v
					size += math.Abs(v)
				}
				if i == j {
					growth = max(growth, size)
					sum += 0.25
				}
				require.InDelta(t, a.At(i, j), sum, 4*float64(n)*eps*s.growth, "n=%d", n)
			}
		}
		require.InEpsilon(t, growth, s.growth, 1e-12, "n=%d", n)
	}
}

// TestInertiaGivesUp at a pivot that is next to nothing, or makes the next one huge, and where it
// counts too many.
func TestInertiaGivesUp(t *testing.T) {
	const mu = 0.5
	for _, c := range []struct {
		pivot float64
		most  int
		ok    bool
	}{
		{0, 1, false}, {0x1p-51, 1, false}, {0x1p-25, 1, false}, {0x1p-19, 1, true}, {-0x1p-19, 1, true}, {1, 1, true},
		{0x1p-19, 0, false}, {-0x1p-19, 0, false}, {math.NaN(), 1, false},
	} {
		a := mat.NewSym(2)
		a.Set(0, 0, mu+c.pivot)
		a.Set(1, 0, 1)
		a.Set(1, 1, mu)
		var s inertia
		k, ok := s.count(a, mu, 1, c.most)
		assert.Equal(t, c.ok, ok, "%g, %d", c.pivot, c.most)
		if ok {
			assert.Equal(t, 1, k)
		}
	}
	// The last pivot counts like every other.
	for pivot, want := range map[float64]bool{0: false, 0x1p-51: false, 0x1p-49: true} {
		a := mat.NewSym(1)
		a.Set(0, 0, pivot)
		var s inertia
		_, ok := s.count(a, 0, 1, 1)
		assert.Equal(t, want, ok, "%g", pivot)
	}
}
