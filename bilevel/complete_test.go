package bilevel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

func TestComplete(t *testing.T) {
	p := newQuadratic(t)
	has, lacks := bilevel.Complete(p), bilevel.Complete(struct{ bilevel.Problem }{p})
	x, y, v := []float64{1, 2, -1}, []float64{0.5, 1, 2, -3}, []float64{1, -1, 3, 2}
	batch := []bilevel.Sample{3, 4}
	for name, call := range map[string]func(c *bilevel.Completed, dst []float64) (float64, error){
		"HessVecG": func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.HessVecG(dst, x, y, v, batch) },
		"CrossVecG": func(c *bilevel.Completed, dst []float64) (float64, error) {
			return 0, c.CrossVecG(dst[:3], x, y, v, batch)
		},
		"GradXG":    func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.GradXG(dst[:3], x, y, batch) },
		"Solution":  func(c *bilevel.Completed, dst []float64) (float64, error) { return 0, c.Solution(dst, x) },
		"Objective": func(c *bilevel.Completed, dst []float64) (float64, error) { return c.Objective(dst[:3], x) },
		"ValueF":    func(c *bilevel.Completed, _ []float64) (float64, error) { return c.ValueF(x, y, batch) },
		"ValueG":    func(c *bilevel.Completed, _ []float64) (float64, error) { return c.ValueG(x, y, batch) },
	} {
		got, made := make([]float64, 4), make([]float64, 4)
		value, err := call(has, got)
		require.NoError(t, err, name)
		assert.NotZero(t, value+got[0], name)
		if _, err = call(lacks, made); name == "HessVecG" || name == "CrossVecG" {
			require.NoError(t, err, name)
			assert.InDeltaSlice(t, got, made, 1e-13, name)
			continue
		}
		require.ErrorIs(t, err, bilevel.ErrMissing, name)
		assert.ErrorContains(t, err, name)
	}
	assert.Equal(t, p.ConvexityAt(x), has.ConvexityAt(x))
	assert.Equal(t, math.Inf(-1), lacks.ConvexityAt(x))
}

func TestEach(t *testing.T) {
	got := func(batch []bilevel.Sample, terms, most int) (s string) {
		for name, w := range bilevel.Each(batch, terms) {
			s += fmt.Sprintf(" %d:%g", name, w)
			if most--; most == 0 {
				break
			}
		}
		return s
	}
	assert.Equal(t, " 0:0.25 1:0.25 2:0.25 3:0.25", got(nil, 4, -1))
	assert.Equal(t, " 0:0.25 1:0.25", got([]bilevel.Sample{}, 4, 2))
	assert.Equal(t, " 3:0.5 3:0.5", got([]bilevel.Sample{3, 3}, 4, -1))
	assert.Equal(t, " 3:0.5", got([]bilevel.Sample{3, 1}, 4, 1))
	assert.Empty(t, got(nil, 0, -1))

	sum := 0.0
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for s, w := range bilevel.Each(nil, 3) {
			sum += w * float64(s)
		}
	}))
}

// The gradient of ½ mean (aᵀy − b)² over rows a: one loop for batches and for the exact mean.
func ExampleEach() {
	rows := mat.DenseOf(3, 2, []float64{1, 0, 0, 1, 1, 1})
	labels := []float64{1, 2, 3}
	gradG := func(gy, y []float64, phi []bilevel.Sample) {
		clear(gy)
		for i, w := range bilevel.Each(phi, rows.Rows) {
			a := rows.Row(int(i))
			mat.Axpy(gy, w*(mat.Dot(a, y)-labels[i]), a)
		}
	}
	gy, y := make([]float64, 2), []float64{0, 0}
	gradG(gy, y, []bilevel.Sample{2, 1})
	fmt.Println(gy)
	gradG(gy, y, nil)
	fmt.Printf("%.2f\n", gy)
	// Output:
	// [-1.5 -2.5]
	// [-1.33 -1.67]
}
