package method

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

func saved(t *testing.T, s *bilevel.Solver) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return b.Bytes()
}

func steps(t *testing.T, s *bilevel.Solver, n int) {
	t.Helper()
	for range n {
		if err := s.Step(); err != nil {
			require.NoError(t, err)
		}
	}
}

func TestCheckpointsOfOthersAreRefused(t *testing.T) {
	solvers := map[string]*bilevel.Solver{}
	for _, e := range Registry() {
		s, err := bilevel.New(newIdentity(0.3), e.New(tuning), bilevel.Options{})
		require.NoError(t, err)
		solvers[e.Name] = s
	}
	for name, s := range solvers {
		file := saved(t, s)
		for other, s := range solvers {
			if err := s.Load(bytes.NewReader(file)); name == other {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, bilevel.ErrForeign)
			}
		}
	}
}

func TestSolversConcurrently(t *testing.T) {
	type job struct {
		e    Entry
		seed uint64
	}
	var jobs []job
	for _, e := range Registry() {
		jobs = append(jobs, job{e, 1}, job{e, 2})
	}
	run := func(j job) []float64 {
		s, err := bilevel.New(j.e.problem(0.3), j.e.New(tuning), bilevel.Options{Seed: j.seed})
		if !assert.NoError(t, err) {
			return nil
		}
		_, err = s.Run(t.Context(), bilevel.Run{Steps: 50})
		assert.NoError(t, err)
		return append(append([]float64(nil), s.X()...), s.Y()...)
	}
	alone, together := make([][]float64, len(jobs)), make([][]float64, len(jobs))
	for i, j := range jobs {
		alone[i] = run(j)
	}
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			together[i] = run(j)
		}()
	}
	wg.Wait()
	assert.Equal(t, alone, together)
}
