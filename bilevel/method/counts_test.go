package method

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

func fields(c bilevel.Counts) []uint64 {
	v := reflect.ValueOf(c)
	f := make([]uint64, v.NumField())
	for i := range f {
		f[i] = v.Field(i).Uint()
	}
	return f
}

// A step draws and evaluates what the entry says: within its bounds, and both are met.
func TestMethodsUseWhatTheySay(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		for _, batch := range []int{1, 3, 7} {
			for _, terms := range []int{4, 0} {
				tuned := tuning
				tuned.Terms, tuned.MuG = terms, 3
				s, err := bilevel.New(e.problem(0.1), e.New(tuned),
					bilevel.Options{UpperBatch: batch, LowerBatch: batch + 1, Seed: 6})
				require.NoError(t, err)
				met := [2]bool{}
				for k := range 60 {
					old := fields(s.Counts())
					require.NoError(t, s.Step())
					least, most := e.Uses(Case{Tuning: tuned, K: k, Upper: batch, Lower: batch + 1, Dy: 4,
						UpperStream: 16, LowerStream: 16})
					low, high, equal := fields(least), fields(most), [2]bool{true, true}
					for i, now := range fields(s.Counts()) {
						used := now - old[i]
						require.True(t, low[i] <= used && used <= high[i],
							"%s: %d, want %d to %d at step %d with batch %d",
							reflect.TypeOf(least).Field(i).Name, used, low[i], high[i], k, batch)
						equal[0] = equal[0] && (used == low[i] || high[i] == math.MaxUint64)
						equal[1] = equal[1] && (used == high[i] || high[i] == math.MaxUint64)
					}
					met[0], met[1] = met[0] || equal[0], met[1] || equal[1]
				}
				assert.Equal(t, [2]bool{true, true}, met, "the bounds are too wide, batch %d, %d terms", batch, terms)
			}
		}
	})
}

// Products have one draw at every point: their number divides by that of the points.
func TestProductsAtEveryPoint(t *testing.T) {
	const terms = 4
	a, b, n := bilevel.Constant(0.05), bilevel.Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: terms}
	for points, methods := range map[uint64][]bilevel.Method{
		1: {BSA{Alpha: a, Beta: b, Neumann: n}, TTSA{Alpha: a, Beta: b, Neumann: n},
			ALSET{Alpha: a, Beta: b, Inner: 2, Neumann: n}, BiAdam{Alpha: a, Beta: b, Neumann: n}},
		2: {SUSTAIN{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Neumann: n},
			VRBiAdam{Alpha: a, Beta: b, Neumann: n}},
	} {
		for _, m := range methods {
			t.Run(m.Name(), func(t *testing.T) {
				const batch = 3
				s, err := bilevel.New(newProducts(0.1), m,
					bilevel.Options{UpperBatch: batch, LowerBatch: batch, Seed: 6})
				require.NoError(t, err)
				require.NoError(t, s.Step())
				seen := map[uint64]bool{}
				for range 40 {
					old := s.Counts()
					require.NoError(t, s.Step())
					products := (s.Counts().HessVecG - old.HessVecG) / (points * batch)
					assert.Equal(t, products*points*batch, s.Counts().HessVecG-old.HessVecG)
					assert.Equal(t, batch*(1+products),
						s.Counts().Phi-old.Phi-(s.Counts().GradG-old.GradG)/gradPoints(m))
					seen[products] = true
				}
				assert.Equal(t, map[uint64]bool{0: true, 1: true, 2: true, 3: true}, seen)
			})
		}
	}
}

// gradPoints is the number of points at which g_y is asked with one batch.
func gradPoints(m bilevel.Method) uint64 {
	switch m.(type) {
	case SUSTAIN, VRBiAdam:
		return 2
	}
	return 1
}

type sized struct {
	withProducts
	upper, lower uint64
}

func (s sized) Streams() (uint64, uint64) { return s.upper, s.lower }

// An exact value counts as the whole finite sum, or as one sample of an unbounded stream.
func TestCountsFull(t *testing.T) {
	for _, c := range []struct{ upper, lower, u, l uint64 }{{16, 5, 16, 5}, {0, 7, 1, 7}, {3, 0, 3, 1}, {1, 1, 1, 1}} {
		for m, want := range map[bilevel.Method]bilevel.Counts{
			bilevel.STABLE{MuG: 0.3}: {Xi: 2 * c.u, Phi: 2 * c.l, GradF: 2 * c.u, GradG: 2 * c.l, CrossG: 3 * c.l,
				HessG: 3 * c.l},
			SOBA{Alpha: bilevel.Constant(0.05), Beta: bilevel.Constant(0.1)}: {Xi: 2 * c.u, Phi: 2 * c.l,
				GradF: 2 * c.u, GradG: 2 * c.l, HessVecG: 2 * c.l, CrossVecG: 2 * c.l},
		} {
			s, err := bilevel.New(sized{newProducts(0.1), c.upper, c.lower}, m,
				bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			require.NoError(t, s.Step())
			require.NoError(t, s.Step())
			assert.Equal(t, want, s.Counts(), m.Name())
		}
	}
}

// A problem without products gives the same run, and counts matrices.
func TestMethodsWithoutProducts(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		with, err := bilevel.New(e.problem(0.3), e.New(tuning), bilevel.Options{Seed: 2})
		require.NoError(t, err)
		without, err := bilevel.New(withoutProducts(e.problem(0.3)), e.New(tuning), bilevel.Options{Seed: 2})
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, with.Step())
			require.NoError(t, without.Step())
		}
		assert.Equal(t, with.X(), without.X())
		a, b := with.Counts(), without.Counts()
		a.HessG, a.CrossG, a.HessVecG, a.CrossVecG = a.HessG+a.HessVecG, a.CrossG+a.CrossVecG, 0, 0
		assert.Equal(t, a, b)
	})
}
