package method

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

// A step of the methods that follow no log draws and evaluates what its paper says.
func TestCountsOfAStep(t *testing.T) {
	const u, l, all, window = 2, 3, 16, 32
	soba := func(u, l, points uint64) bilevel.Counts {
		return bilevel.Counts{Xi: u, Phi: l, GradF: points * u, GradG: points * l, HessVecG: points * l,
			CrossVecG: points * l}
	}
	cg := bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, CrossG: 2 * l, HessVecG: 2 * (1 + 4) * window}
	first := bilevel.Counts{Xi: u, Phi: window, GradF: u, GradG: window, CrossG: window, HessVecG: cg.HessVecG}
	for name, want := range map[string][2][]bilevel.Counts{ // of step 0, and one of these
		"SPABA":     {{soba(all, all, 1)}, {soba(all, all, 1), soba(u, l, 2)}},
		"HOAG":      {{{Xi: all, Phi: all, GradF: all, CrossVecG: all}}, {{Xi: all, Phi: all, GradF: all, CrossVecG: all}}},
		"STABLE-CG": {{first}, {cg}},
	} {
		e, err := Lookup(name)
		require.NoError(t, err)
		s := start(t, e.problem(0.1), e.New(tuning), bilevel.Options{UpperBatch: u, LowerBatch: l, Seed: 6})
		for k := range 40 {
			old := s.Counts()
			steps(t, s, 1)
			used := s.Counts()
			a, b := reflect.ValueOf(old), reflect.ValueOf(&used).Elem()
			for i := range a.NumField() {
				b.Field(i).SetUint(b.Field(i).Uint() - a.Field(i).Uint())
			}
			if name == "HOAG" { // and Newton steps on y
				require.True(t, used.GradG >= all && used.HessG >= all)
				used.GradG, used.HessG = 0, 0
			}
			require.Contains(t, want[min(k, 1)], used, "%s at step %d", name, k)
		}
	}
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
			bilevel.STABLE{MuG: 0.3}: {Xi: c.u, Phi: c.l, GradF: c.u, GradG: c.l, CrossG: c.l, HessG: c.l},
			STFBO{}:                  {Xi: c.u, Phi: c.l, GradF: c.u, GradG: c.l, HessVecG: c.l, CrossVecG: c.l},
		} {
			s := start(t, sized{newProducts(0.1), c.upper, c.lower}, m,
				bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			steps(t, s, 1)
			assert.Equal(t, want, s.Counts(), m.Name())
		}
	}
}

// A problem without products gives the same run, and counts matrices.
func TestMethodsWithoutProducts(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		with := start(t, e.problem(0.3), e.New(tuning), bilevel.Options{Seed: 2})
		without := start(t, withoutProducts(e.problem(0.3)), e.New(tuning), bilevel.Options{Seed: 2})
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
