package method

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

func start(t *testing.T, p bilevel.Problem, m bilevel.Method, opt bilevel.Options) *bilevel.Solver {
	t.Helper()
	s, err := bilevel.New(p, m, opt)
	require.NoError(t, err)
	return s
}

// failure is the error that ends s before step n.
func failure(s *bilevel.Solver, n int) (err error) {
	for err == nil && s.K() < n {
		err = s.Step()
	}
	return err
}

func steps(t *testing.T, s *bilevel.Solver, n int) {
	t.Helper()
	for range n {
		if err := s.Step(); err != nil {
			require.NoError(t, err)
		}
	}
}

func TestSolversConcurrently(t *testing.T) {
	list := append(Registry(), Registry()...)
	run := func(i int) []float64 {
		e := list[i]
		s, err := bilevel.New(e.problem(0.3), e.New(tuning), bilevel.Options{Seed: uint64(i)})
		if !assert.NoError(t, err) {
			return nil
		}
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 50})
		assert.NoError(t, err)
		return slices.Concat(s.X(), s.Y())
	}
	alone, together := make([][]float64, len(list)), make([][]float64, len(list))
	for i := range list {
		alone[i] = run(i)
	}
	var wg sync.WaitGroup
	for i := range list {
		wg.Add(1)
		go func() {
			defer wg.Done()
			together[i] = run(i)
		}()
	}
	wg.Wait()
	assert.Equal(t, alone, together)
}
