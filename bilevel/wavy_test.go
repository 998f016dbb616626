package bilevel

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
)

type (
	wavy   = bileveltest.Wavy[Sample]
	call   = bileveltest.Call[Sample]
	faulty = bileveltest.Faulty[Sample]
)

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[Sample](noise) }

func newSolver(t testing.TB, p Problem, m Method, opt Options) *Solver {
	t.Helper()
	s, err := New(p, m, opt)
	require.NoError(t, err)
	return s
}

func steps(t testing.TB, s *Solver, n int) {
	t.Helper()
	for range n {
		require.NoError(t, s.Step())
	}
}

func saved(t testing.TB, s *Solver) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return b.Bytes()
}

func small(t testing.TB, m Method) (*Solver, []byte) {
	s := newSolver(t, newWavy(0.3), m, Options{Seed: 9, Set: UniformBox(3, -1, 1)})
	steps(t, s, 5)
	return s, saved(t, s)
}

var smallMethods = []Method{
	STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, MuG: 0.5},
	STABLE{MuG: 0.5},
}
