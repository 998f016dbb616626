package bilevel_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

// Solvers in goroutines of their own, on instances of one problem, give the bits that they give one
// after the other. Under -race, nothing is shared.
func TestSolversConcurrently(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 4, Dy: 5, Seed: 1, SigmaGy: 1, SigmaGyy: 1, SigmaFy: 1})
	require.NoError(t, err)
	run := func(p bilevel.Problem, name string, seed uint64) []float64 {
		m, err := bilevel.Tune(name, bilevel.Tuning{Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.02), MuG: 1, LG: 20, Terms: 5})
		assert.NoError(t, err)
		s, err := bilevel.New(p, m, bilevel.Options{Seed: seed})
		if !assert.NoError(t, err, name) {
			return nil
		}
		_, err = s.Run(context.Background(), bilevel.Run{Steps: 50})
		assert.NoError(t, err)
		return append(append([]float64(nil), s.X()...), s.Y()...)
	}
	type job struct {
		name string
		seed uint64
	}
	var jobs []job
	for _, name := range bilevel.Methods() {
		if name == "SABA" { // wants finite sums
			continue
		}
		jobs = append(jobs, job{name, 1}, job{name, 2})
	}
	alone, together := make([][]float64, len(jobs)), make([][]float64, len(jobs))
	for i, j := range jobs {
		alone[i] = run(p, j.name, j.seed)
	}
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			together[i] = run(p.Clone(), j.name, j.seed)
		}()
	}
	wg.Wait()
	assert.Equal(t, alone, together)
}
