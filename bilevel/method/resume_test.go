package method

import (
	"bytes"
	"fmt"
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

// n steps, a checkpoint, and n more in another Solver are 2n steps: the iterates, the counts, and
// all that a second checkpoint holds, bit for bit. With the variants of the entry, and with a
// series that grows. With -short each tuning meets each of the options for one n.
func TestResumeGivesTheSameBits(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		growing := func(t *Tuning) { t.Terms = 0 }
		for i, change := range []func(*Tuning){func(*Tuning) {}, growing, e.Variants[0].Set, e.Variants[1].Set} {
			tuned := tuning
			change(&tuned)
			for j, opt := range []bilevel.Options{
				{Seed: 3},
				{Seed: 4, UpperBatch: 2, LowerBatch: 3, Set: bilevel.UniformBox(3, -0.2, 0.3)},
				{Seed: 5, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full, Set: bilevel.Ball{Radius: 0.4},
					X0: []float64{0.3, -0.2, 0.1}},
				{Seed: 6, Set: euclid{bilevel.Simplex{}}},
			} {
				if _, ok := opt.Set.(euclid); ok && e.Needs.MetricSet {
					continue
				}
				for l, n := range []int{0, 1, 5} {
					if testing.Short() && (i+j+l)%3 != 0 {
						continue
					}
					t.Run(fmt.Sprintf("tuning=%d,seed=%d,n=%d", i, opt.Seed, n), func(t *testing.T) {
						requireResumes(t, e, e.New(tuned), opt, n)
					})
				}
			}
		}
	})
}

func requireResumes(t *testing.T, e Entry, m bilevel.Method, opt bilevel.Options, n int) {
	start := func() *bilevel.Solver {
		s, err := bilevel.New(e.problem(0.4), m, opt)
		require.NoError(t, err)
		return s
	}
	whole := start()
	steps(t, whole, n)
	file := saved(t, whole)
	steps(t, whole, n)

	idle, busy := start(), start()
	steps(t, busy, 3) // which are forgotten
	for _, s := range []*bilevel.Solver{idle, busy} {
		require.NoError(t, s.Load(bytes.NewReader(file)))
		require.Equal(t, n, s.K())
		require.Equal(t, file, saved(t, s), "what has been read is what is written")
		steps(t, s, n)
		assert.Equal(t, whole.X(), s.X())
		assert.Equal(t, whole.Y(), s.Y())
		assert.Equal(t, whole.Mean(), s.Mean())
		assert.Equal(t, whole.Counts(), s.Counts())
		assert.Equal(t, whole.Activity(), s.Activity())
		assert.Equal(t, saved(t, whole), saved(t, s))
	}
}

// A checkpoint of one method is none of another.
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

// Solvers in goroutines of their own, on instances of one problem, give the bits that they give one
// after the other. Under -race, nothing is shared.
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
