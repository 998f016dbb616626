package bilevel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tuned returns every method with a Neumann series, ready to run on wavy, with four terms.
func tuned() []Method {
	a, b, n := Constant(0.05), Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	return []Method{
		BSA{Alpha: a, Beta: b, Neumann: n}, TTSA{Alpha: a, Beta: b, Neumann: n}, StocBiO{Alpha: a, Beta: b, Inner: 3, Neumann: n},
		ALSET{Alpha: a, Beta: b, Inner: 2, Neumann: n}, SUSTAIN{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Neumann: n},
		MRBO{Alpha: a, Beta: b, Neumann: n}, VRBO{Alpha: a, Beta: b, Period: 3, Inner: 2, Neumann: n},
		BiAdam{Alpha: a, Beta: b, Neumann: n}, VRBiAdam{Alpha: a, Beta: b, Neumann: n},
	}
}

// series-free methods: those with products, and those with matrices.
func byProducts() []Method {
	a, b := Constant(0.05), Constant(0.1)
	return []Method{SOBA{Alpha: a, Beta: b}, SABA{Alpha: a, Beta: b}}
}

func byMatrices() []Method {
	a, b := Constant(0.05), Constant(0.1)
	return []Method{
		RSVRB{Alpha: a, Beta: b, MuG: 0.1}, STABLE{MuG: 0.1}, STABLE{Alpha: a, Beta: b, MuG: 0.1, Upper: STORM{}}, STABLE{Alpha: a, Beta: b, MuG: 0.1, Upper: Adam{}},
	}
}

// all returns all of them.
func all() []Method { return slices.Concat(tuned(), byProducts(), byMatrices()) }

func TestMethodsAllocate(t *testing.T) {
	for _, m := range all() {
		s, err := New(&quiet{newWavy(0.5)}, m, Options{Set: UniformBox(3, 0, 1), LowerBatch: 2})
		require.NoError(t, err)
		step := func() {
			if err := s.Step(); err != nil {
				panic(err)
			}
		}
		for range 50 {
			step()
		}
		assert.Zero(t, testing.AllocsPerRun(50, step), m.Name())
	}
}

func TestLookup(t *testing.T) {
	tuning := Tuning{Alpha: Constant(0.01), Beta: Constant(0.02), MuG: 0.5, LG: 7}
	require.GreaterOrEqual(t, len(Methods()), 14)
	for _, name := range Methods() {
		m, err := Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, name, m.Name())
		_, err = New(newWavy(0.1), m, Options{})
		assert.ErrorIs(t, err, ErrOption, "%s has a default step size", name)

		m, err = Tune(name, tuning)
		require.NoError(t, err)
		s, err := New(newWavy(0.1), m, Options{})
		require.NoError(t, err, name)
		assert.NoError(t, s.Step(), name)
	}
	m, err := Lookup("stocbio")
	require.NoError(t, err)
	assert.Equal(t, StocBiO{}, m)
	_, err = Lookup("ADAM")
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, `"ADAM"`)
	for _, name := range Methods() {
		assert.ErrorContains(t, err, name)
	}
}
