package auto_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/hyperopt"
	"stable/bilevel/method"
)

// A run on two losses is the run on derivatives by hand, up to rounding; a step allocates nothing.
func TestRunsAgree(t *testing.T) {
	const d = 14
	data := rows(d, 0.7)
	hand, err := hyperopt.New(data, data, hyperopt.Options{})
	require.NoError(t, err)
	opt := bilevel.Options{Set: bilevel.UniformBox(d, 0.01, 1), Seed: 5}
	for name, m := range map[string]bilevel.Method{
		"STABLE": bilevel.STABLE{MuG: 0.02},
		"SOBA":   method.SOBA{Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.05)},
		"F2SA":   method.F2SA{Alpha: bilevel.Constant(0.001), Beta: bilevel.Constant(0.005)}, // by g_x
	} {
		t.Run(name, func(t *testing.T) {
			var ends [2]*bilevel.Solver
			for i, p := range []bilevel.Problem{hand, tuning(t, data)} {
				s, err := bilevel.New(p, m, opt)
				require.NoError(t, err)
				for range 300 {
					require.NoError(t, s.Step())
				}
				ends[i] = s
			}
			require.InDeltaSlice(t, ends[0].X(), ends[1].X(), 1e-10)
			require.InDeltaSlice(t, ends[0].Y(), ends[1].Y(), 1e-10)
			assert.NotEqual(t, opt.Set.(bilevel.Box).Lo, ends[1].X(), "x has moved")
			assert.Equal(t, ends[0].Counts(), ends[1].Counts())
			assert.Zero(t, testing.AllocsPerRun(50, func() {
				if err := ends[1].Step(); err != nil {
					t.Fatal(err)
				}
			}))
		})
	}
}

func TestClonesSideBySide(t *testing.T) {
	const d = 9
	data := rows(d, 1)
	p := tuning(t, data)
	x, y, v := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range x {
		x[i], y[i], v[i] = 0.5, float64(i)/d, 1
	}
	batch := []bilevel.Sample{5, 900, 31}
	want := all(t, p, x, y, v, batch)
	var got [4][]float64
	var wg sync.WaitGroup
	for k := range got {
		clone := p.Clone()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				got[k] = all(t, clone, x, y, v, batch)
			}
		}()
	}
	wg.Wait()
	for _, g := range got {
		assert.Equal(t, want, g)
	}
}

// FuzzExpressions holds second derivatives by structure against products, for any expression.
func FuzzExpressions(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed), uint8(2*seed), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, dx, dy, steps uint8) {
		g := randomLoss(1 + int(steps)%24)
		p, err := auto.New(auto.Losses{Dx: 1 + int(dx)%16, Dy: 1 + int(dy)%16, F: g, G: g})
		require.NoError(t, err)
		one(t, p, bilevel.Sample(seed), false)
	})
}
