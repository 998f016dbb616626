package bilevel_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/bilevel"
	"stable/mat"
)

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
